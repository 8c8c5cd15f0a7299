"""A fitted estimator as plain JSON and tensors, and back, every part checked."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from akgnn.csr import CSR
from akgnn.errors import CheckpointError, SettingsError
from akgnn.estimator.arguments import plain, plain_arguments
from akgnn.estimator.fitted import Fitted
from akgnn.estimator.inputs import is_sparse
from akgnn.estimator.neighbours import Neighbours
from akgnn.estimator.scaling import Scaling
from akgnn.graph import Graph
from akgnn.models.akgnn import AKGNN
from akgnn.plain_json import without_nan
from akgnn.training.presets import Preset, default_settings
from akgnn.training.record import check_fit, numbers, parse_history, text, whole

if TYPE_CHECKING:
    from akgnn.estimator.classifier import AKGNNClassifier

Tensors = dict[str, Tensor]

# What classes may be, beside text.
_NUMBERS = frozenset(
    ["bool", "float32", "float64"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)


def describe(estimator: "AKGNNClassifier") -> tuple[dict[str, Any], Tensors]:
    """What the JSON says of an estimator, and its tensors by name."""
    fitted, names = estimator.fitted_, getattr(estimator, "feature_names_in_", None)
    content = {
        "arguments": _arguments(estimator),
        "settings": fitted.preset.to_dict(),
        "classes": {"kind": _kind(estimator.classes_), "labels": estimator.classes_.tolist()},
        "num_features": estimator.n_features_in_,
        "feature_names": None if names is None else names.tolist(),
        "lambda_max": estimator.lambda_max_.tolist(),
        "neighbour_share": estimator.neighbour_share_.tolist(),
        "best_epoch": estimator.best_epoch_,
        "history": without_nan(estimator.history_),
        "metric": None if fitted.neighbours is None else fitted.neighbours.metric,
        "rows": fitted.rows,
    }
    tensors = {f"model/{name}": tensor for name, tensor in fitted.model.state_dict().items()}
    if fitted.scaling is not None:
        arrays = {"mean": fitted.scaling.mean, "scale": fitted.scaling.scale}
        tensors |= {f"scaling/{name}": torch.tensor(array) for name, array in arrays.items()}
    if fitted.neighbours is not None:
        tensors["nearest"] = torch.tensor(fitted.neighbours.nearest)
        tensors |= _table_tensors(fitted.neighbours.rows)
    if fitted.graph is not None:
        tensors |= _matrix_tensors("graph", fitted.graph.adjacency)
    return content, {name: tensor.contiguous() for name, tensor in tensors.items()}


def restore(
    content: dict[str, Any], tensors: Tensors, kind: type["AKGNNClassifier"]
) -> "AKGNNClassifier":
    """The estimator; whatever does not fit is an error that `reading` makes readable."""
    arguments = content["arguments"]
    if not isinstance(arguments, dict) or set(arguments) != set(kind().get_params()):
        raise ValueError("its arguments are not those of AKGNNClassifier")
    estimator = kind(**arguments)
    estimator.classes_ = _parse_classes(content["classes"])
    estimator.n_features_in_ = whole(content["num_features"])
    if content["feature_names"] is not None:
        names = [_plain_text(name) for name in content["feature_names"]]
        if len(names) != estimator.n_features_in_:
            raise ValueError(f"{len(names)} names for {estimator.n_features_in_} features")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator.lambda_max_ = np.array(numbers(content["lambda_max"]), dtype=np.float64)
    estimator.neighbour_share_ = np.array(numbers(content["neighbour_share"]), dtype=np.float64)
    estimator.best_epoch_ = whole(content["best_epoch"])
    history = parse_history(content["history"]).to_dict()
    estimator.history_ = {name: rows for name, rows in history.items() if rows}
    preset = default_settings("akgnn").updated_by_kind(content["settings"])
    sizes = estimator.n_features_in_, len(estimator.classes_)
    estimator.fitted_ = _parse_fitted(content, tensors, preset, sizes)
    return estimator


def _parse_fitted(
    content: dict[str, Any], tensors: Tensors, preset: Preset, sizes: tuple[int, int]
) -> Fitted:
    weights = {
        name.removeprefix("model/"): tensor
        for name, tensor in tensors.items()
        if name.startswith("model/")
    }
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise ValueError(f"the tensor {name!r} holds numbers that are not finite")
    model = _parse_model(weights, preset, sizes)
    scaling, neighbours, graph = None, None, None
    if "scaling/mean" in tensors:
        mean, scale = (
            _array(tensors[f"scaling/{name}"], torch.float64) for name in ("mean", "scale")
        )
        if mean.shape != (sizes[0],) or scale.shape != (sizes[0],) or not (scale > 0).all():
            raise ValueError("the scaling does not fit the features")
        scaling = Scaling(mean, scale)
    if content["metric"] is not None:
        rows = _parse_table(tensors)
        nearest = _array(tensors["nearest"], torch.int64)
        if rows.ndim != 2 or rows.shape[1] != sizes[0]:
            raise ValueError("the training table does not fit the features")
        if nearest.ndim != 2 or not nearest.shape[1] < len(nearest) == rows.shape[0]:
            raise ValueError("the neighbours do not fit the training table")
        neighbours = Neighbours(rows, nearest, text(content["metric"]))
        # Checks that the neighbours are rows of the table.
        neighbours.graph()
    if "graph/rowptr" in tensors:
        graph = Graph(_parse_matrix("graph", tensors))
    rows_seen = None if content["rows"] is None else text(content["rows"])
    return Fitted(preset, model, scaling, neighbours, graph, rows_seen)


def _parse_model(weights: Tensors, preset: Preset, sizes: tuple[int, int]) -> AKGNN:
    options = preset.model.to_dict()
    hidden = options.pop("hidden_channels")
    # Sizes are compared before there are any numbers: a record may claim more than memory holds.
    with torch.device("meta"):
        outline = AKGNN(sizes[0], hidden, sizes[1], **options)
    expected = outline.state_dict()
    check_fit("weights", weights, expected)
    for name, tensor in weights.items():
        if tensor.dtype != expected[name].dtype:
            raise CheckpointError(f"The weights {name!r} are {tensor.dtype}, not as the model's.")
    model = AKGNN(sizes[0], hidden, sizes[1], **options)
    model.load_state_dict(weights)
    return model.eval()


def _arguments(estimator: "AKGNNClassifier") -> dict[str, Any]:
    """The constructor's arguments; a generator for random_state becomes None."""
    arguments = plain_arguments(estimator, estimator.get_params(deep=False))
    if isinstance(arguments["random_state"], np.random.RandomState):
        arguments["random_state"] = None
    if arguments["settings"] is not None:
        arguments["settings"] = {
            name: plain(value) for name, value in arguments["settings"].items()
        }
    return arguments


def _kind(classes: NDArray[Any]) -> str:
    kind = "text" if classes.dtype.kind in "UT" else classes.dtype.name
    if kind not in _NUMBERS | {"text"}:
        raise SettingsError(f"Classes of {classes.dtype} cannot be kept in a folder.")
    return kind


def _parse_classes(content: Any) -> NDArray[Any]:
    kind, labels = text(content["kind"]), content["labels"]
    if not isinstance(labels, list) or not labels or kind not in _NUMBERS | {"text"}:
        raise ValueError("the classes are no list of text or numbers")
    if kind == "text":
        classes = np.array([_plain_text(label) for label in labels])
    else:
        classes = np.array(labels, dtype=kind)
    if classes.ndim != 1 or classes.tolist() != labels or len(set(labels)) != len(labels):
        raise ValueError(f"the classes are not {kind}, or are listed twice")
    return classes


def _plain_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not text")
    return value


def _table_tensors(rows: Any) -> Tensors:
    if not is_sparse(rows):
        return {"table": torch.tensor(rows)}
    arrays = {"rowptr": rows.indptr.astype(np.int64), "col": rows.indices.astype(np.int64)}
    shape = torch.tensor(rows.shape)
    parts = {name: torch.tensor(array) for name, array in arrays.items()}
    parts |= {"value": torch.tensor(rows.data), "shape": shape}
    return {f"table/{name}": tensor for name, tensor in parts.items()}


def _parse_table(tensors: Tensors) -> Any:
    if "table" in tensors:
        return _array(tensors["table"], torch.float64)
    matrix = _parse_matrix("table", tensors)
    assert matrix.value is not None, "the table's values were asked for"
    pattern = matrix.pattern
    parts = matrix.value.numpy(), pattern.col.numpy(), pattern.rowptr.numpy()
    return sparse.csr_array(parts, shape=matrix.shape)


def _matrix_tensors(name: str, matrix: CSR) -> Tensors:
    pattern = matrix.pattern
    parts = {"rowptr": pattern.rowptr, "col": pattern.col, "shape": torch.tensor(matrix.shape)}
    if matrix.value is not None:
        parts["value"] = matrix.value
    return {f"{name}/{part}": tensor for part, tensor in parts.items()}


def _parse_matrix(name: str, tensors: Tensors) -> CSR:
    shape = tensors[f"{name}/shape"].tolist()
    value = tensors.get(f"{name}/value")
    if name == "table" and (value is None or value.dtype != torch.float64):
        raise ValueError("the training table must hold float64")
    rows, columns = (whole(size) for size in shape)
    return CSR.from_arrays(
        tensors[f"{name}/rowptr"], tensors[f"{name}/col"], value, (rows, columns)
    )


def _array(tensor: Tensor, dtype: torch.dtype) -> NDArray[Any]:
    if tensor.dtype != dtype:
        raise ValueError(f"a tensor holds {tensor.dtype} where {dtype} is expected")
    array: NDArray[Any] = tensor.numpy()
    return array
