"""The rows of training in the folder of a run, where new rows are linked to the nearest of them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from akgnn.codec import integer
from akgnn.csr import CSR
from akgnn.data.node_data import NodeData

if TYPE_CHECKING:
    from akgnn.data.tables.nearest import TrainingRows

Tensors = dict[str, Tensor]
_TABLE, _LABELS = "table", "labels"


def row_tensors(data: NodeData) -> Tensors:
    """What a folder keeps of the rows of training, if new rows will be linked to them.

    Labels are among it where they are inputs of the model.
    """
    if data.tables is None or not data.tables.has_no_edges:
        return {}
    tensors = feature_tensors(_TABLE, data.with_label_inputs(False).x)
    if data.has_label_inputs:
        labels = torch.full_like(data.y, -1)
        labels[data.split.train] = data.y[data.split.train]
        tensors[_LABELS] = labels
    return tensors


def kept_rows(
    tensors: Mapping[str, Tensor], num_features: int, num_classes: int
) -> "TrainingRows | None":
    """What `row_tensors` gave; None where there is none, and a ValueError if it does not fit."""
    if not any(name.partition("/")[0] == _TABLE for name in tensors):
        return None
    from akgnn.data.tables.nearest import TrainingRows

    x, labels = parse_features(_TABLE, tensors), tensors.get(_LABELS)
    value = x.value if isinstance(x, CSR) else x
    if len(x.shape) != 2 or x.shape[1] != num_features:
        raise ValueError("the rows of training do not fit the features")
    if value is not None and not (value.dtype == torch.float32 and bool(value.isfinite().all())):
        raise ValueError("the rows of training are not finite numbers of 32 bits")
    if labels is not None:
        is_right = labels.dtype == torch.int64 and labels.shape == x.shape[:1]
        if not is_right or not bool(((labels >= -1) & (labels < num_classes)).all()):
            raise ValueError("the labels of the rows of training do not fit")
    return TrainingRows(x, y=labels)


def feature_tensors(name: str, x: Tensor | CSR) -> Tensors:
    """Features under a name, sparse ones in several parts."""
    if isinstance(x, Tensor):
        return {name: x}
    parts = {"rowptr": x.pattern.rowptr, "col": x.pattern.col, "shape": torch.tensor(x.shape)}
    if x.value is not None:
        parts["value"] = x.value
    return {f"{name}/{part}": tensor for part, tensor in parts.items()}


def parse_features(name: str, tensors: Mapping[str, Tensor]) -> Tensor | CSR:
    """What `feature_tensors` gave."""
    return tensors[name] if name in tensors else parse_matrix(name, tensors)


def parse_matrix(name: str, tensors: Mapping[str, Tensor]) -> CSR:
    """The sparse matrix of that name, checked."""
    rows, columns = (integer(size) for size in tensors[f"{name}/shape"].tolist())
    rowptr, col = tensors[f"{name}/rowptr"], tensors[f"{name}/col"]
    return CSR.from_arrays(rowptr, col, tensors.get(f"{name}/value"), (rows, columns))
