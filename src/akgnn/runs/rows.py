"""What a run keeps of its training rows, so that new rows need none of the training tables."""

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from akgnn.codec import integer
from akgnn.csr import CSR
from akgnn.data.node_data import NodeData

if TYPE_CHECKING:
    from akgnn.data.tables.nearest import TrainingRows

Tensors = dict[str, Tensor]
_TABLE, _LABELS, _IDS = "table", "labels", "ids"


def row_tensors(data: NodeData) -> Tensors:
    """The tensors that a run on tables keeps of its training rows.

    Where rows are linked to their nearest rows, these are the features of all rows. Where labels
    are inputs, they are the labels of the training nodes, with their ids if there are edges.
    """
    if data.tables is None:
        return {}
    train, has_edges = data.split.train, not data.tables.has_no_edges
    tensors = {} if has_edges else feature_tensors(_TABLE, data.with_label_inputs(False).x)
    if not data.has_label_inputs:
        return tensors
    if has_edges:
        ids: Any = data.ids
        return id_tensors(ids.take(train.cpu().numpy())) | {_LABELS: data.y[train]}
    labels = torch.full_like(data.y, -1)
    labels[train] = data.y[train]
    return tensors | {_LABELS: labels}


def kept_rows(tensors: Mapping[str, Tensor], num_features: int, num_classes: int) -> "TrainingRows":
    """The rows that `row_tensors` kept; a ValueError or KeyError if they do not fit."""
    from akgnn.data.tables.nearest import TrainingRows

    x, labels = parse_features(_TABLE, tensors), tensors.get(_LABELS)
    value = x.value if isinstance(x, CSR) else x
    if len(x.shape) != 2 or x.shape[1] != num_features:
        raise ValueError("the training rows do not fit the features")
    if value is not None and not (value.dtype == torch.float32 and bool(value.isfinite().all())):
        raise ValueError("the training rows are not finite numbers of 32 bits")
    if labels is not None:
        _check_labels(labels, x.shape[0], -1, num_classes)
    return TrainingRows(x, y=labels)


def kept_labels(tensors: Mapping[str, Tensor], num_classes: int) -> tuple[Any, Tensor]:
    """The ids and labels of the training nodes that `row_tensors` kept, in their order.

    A ValueError or KeyError if they do not fit.
    """
    ids, labels = parse_ids(tensors), tensors[_LABELS]
    _check_labels(labels, len(ids), 0, num_classes)
    return ids, labels


def _check_labels(labels: Tensor, number: int, lowest: int, num_classes: int) -> None:
    is_right = labels.dtype == torch.int64 and labels.shape == (number,)
    if not is_right or not bool(((labels >= lowest) & (labels < num_classes)).all()):
        raise ValueError("the labels of the training rows do not fit")


def id_tensors(ids: Any) -> Tensors:
    """Ids, integers or texts in a pyarrow array, as tensors."""
    from akgnn.data.tables.fingerprint import bytes_of
    from akgnn.data.tables.table import pa, pc

    if pa.types.is_signed_integer(ids.type):
        return {_IDS: torch.tensor(ids.cast(pa.int64()).to_numpy())}
    texts = ids.cast(pa.large_string()).combine_chunks()
    ends = torch.tensor(pc.binary_length(texts).to_numpy()).cumsum(0)
    return {f"{_IDS}/text": torch.tensor(bytes_of(texts)), f"{_IDS}/ends": ends}


def parse_ids(tensors: Mapping[str, Tensor]) -> Any:
    """The ids that `id_tensors` gave; a ValueError or KeyError if they do not fit."""
    from akgnn.data.tables.table import pa

    if _IDS in tensors:
        return pa.chunked_array([pa.array(tensors[_IDS].numpy(), pa.int64())])
    text, ends = tensors[f"{_IDS}/text"], tensors[f"{_IDS}/ends"]
    if text.dtype != torch.uint8 or ends.dtype != torch.int64 or text.dim() != 1 != ends.dim():
        raise ValueError("the ids of the training nodes do not fit")
    starts = [0, *ends.tolist()]
    if starts[-1] != len(text) or starts != sorted(starts):
        raise ValueError("the ids of the training nodes do not fit")
    content = text.numpy().tobytes()
    texts = [content[first:last].decode() for first, last in pairwise(starts)]
    return pa.chunked_array([pa.array(texts, pa.large_string())])


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
