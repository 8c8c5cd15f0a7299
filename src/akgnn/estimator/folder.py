"""Fitted estimators in run folders.

An estimator is a run with what it needs to be shown other rows: its arguments, classes and scaling,
and the training table or graph. Nothing in the folder can run, and everything is checked when read,
as if a stranger had written it.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from akgnn.codec import from_json, integer, printable_text, reading
from akgnn.data.neighbours import Neighbours
from akgnn.errors import CheckpointError, RunFolderError, SettingsError
from akgnn.estimator.arguments import plain_arguments
from akgnn.estimator.fitted import Fitted
from akgnn.estimator.frames import column_names
from akgnn.estimator.inputs import Scaling, as_features
from akgnn.estimator.labels import printable_name
from akgnn.estimator.neighbours import ByMetric
from akgnn.files import read_json
from akgnn.graph import Graph
from akgnn.machine.provenance import versions
from akgnn.models.adaptive_network import AdaptiveNetwork
from akgnn.runs.folder import FINAL_WEIGHTS, RUN_FILE, RunFolder, read_tensors
from akgnn.runs.load import read_run
from akgnn.runs.presets import default_settings
from akgnn.runs.rows import feature_tensors, parse_matrix
from akgnn.runs.run import EXTRA_TENSORS, Run

if TYPE_CHECKING:
    from akgnn.estimator.classifier import AKGNNClassifier

Tensors = dict[str, Tensor]

# The file and the format of estimators from before they were kept as runs are.
_OLD_FILE, _OLD_FORMAT = "estimator.json", "akgnn-estimator-1"
# Arguments that estimators from before do not have.
_LATER_ARGUMENTS = ("class_weight", "prepare")
# What classes may be, beside text.
_NUMBERS = frozenset(
    ["bool", "float32", "float64"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)


@dataclass(frozen=True)
class _Content:
    """What `run.json` says of an estimator beside its run.

    Attributes:
        arguments: The constructor's arguments.
        classes: Their type under `kind`, and the `labels`.
        feature_names: Names of the columns, if they had any.
        metric: Which rows are near, where there was no graph.
        rows: Fingerprint of the training table that came with a graph.
        num_columns: Number of columns, where features were made of them.
    """

    arguments: dict[str, Any]
    classes: dict[str, Any]
    feature_names: Any
    metric: str | None
    rows: str | None
    num_columns: int | None = None


def write_estimator(path: Path, estimator: "AKGNNClassifier") -> None:
    """Put a fitted estimator into a folder, in place of the one it may hold."""
    run, folder = estimator.fitted_.run, RunFolder(path)
    content = {
        "settings": run.plan.to_dict(),
        "data": run.facts.to_dict(),
        "versions": versions(),
        "status": "finished",
        "result": run.result.to_dict(),
        "history": run.result.history.to_dict(),
        "estimator": _described(estimator),
    }
    try:
        json.dumps(content["estimator"], allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SettingsError(
            f"The estimator has an argument or label that JSON cannot hold: {error}."
        ) from error
    _check_replaceable(folder)
    tensors = dict(run.model.state_dict()) | {
        f"{EXTRA_TENSORS}{name}": tensor for name, tensor in _tensors(estimator.fitted_).items()
    }
    digest = hashlib.sha256(b"".join(t.contiguous().numpy().tobytes() for t in tensors.values()))
    # Another name than that of the estimator that is replaced.
    folder.write(content, tensors, f"{digest.hexdigest()[:16]}-{FINAL_WEIGHTS}")
    (path / _OLD_FILE).unlink(missing_ok=True)


def _check_replaceable(folder: RunFolder) -> None:
    """Refuse a folder that holds something else than an estimator; make it if it is new.

    Raises:
        RunFolderError: It does, or nobody can tell because it is damaged.
    """
    if not folder.holds_run():
        if not (folder.path / _OLD_FILE).is_file():
            folder.prepare()
        return
    advice = "choose another folder, or delete this one if nobody needs it."
    try:
        content = folder.read()
    except CheckpointError as error:
        raise RunFolderError(
            f"{folder.path} holds a run or an estimator that cannot be read, which is not "
            f"replaced; {advice} {error}"
        ) from error
    if "estimator" not in content:
        raise RunFolderError(f"{folder.path} holds a run and no estimator; {advice}")


def read_estimator(path: Path, kind: type["AKGNNClassifier"]) -> "AKGNNClassifier":
    """The estimator that a folder holds, written by this version or an earlier one."""
    folder = RunFolder(path)
    if folder.holds_run():
        content = folder.read()
        if "estimator" not in content:
            raise CheckpointError(f"{path} holds a run and no estimator; akgnn.load_run reads it.")
        tensors = folder.read_weights(content)
    elif (path / _OLD_FILE).is_file():
        content, tensors = _read_old(path)
    else:
        raise CheckpointError(f"{path} holds no estimator: there is no {RUN_FILE} in it.")
    with reading(path):
        for name, tensor in tensors.items():
            if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
                raise ValueError(f"the tensor {name!r} holds numbers that are not finite")
        run = read_run(folder, content).with_weights(tensors)
        return _restored(from_json(_Content, content["estimator"]), run, tensors, kind)


def _described(estimator: "AKGNNClassifier") -> dict[str, Any]:
    fitted, names = estimator.fitted_, getattr(estimator, "feature_names_in_", None)
    arguments = plain_arguments(estimator, estimator.get_params(deep=False))
    if isinstance(arguments["random_state"], np.random.RandomState):
        # A generator is not kept.
        arguments["random_state"] = None
    if isinstance(arguments["class_weight"], dict):
        # JSON would make text of its keys.
        arguments["class_weight"] = [list(pair) for pair in arguments["class_weight"].items()]
    return {
        "arguments": arguments,
        "classes": {"kind": _kind(estimator.classes_), "labels": estimator.classes_.tolist()},
        "feature_names": None if names is None else names.tolist(),
        "metric": _metric(fitted),
        "rows": fitted.rows,
        "num_columns": estimator.n_features_in_ if fitted.is_prepared else None,
    }


def _metric(fitted: Fitted) -> str | None:
    search = None if fitted.neighbours is None else fitted.neighbours.search
    return search.metric if isinstance(search, ByMetric) else None


def _tensors(fitted: Fitted) -> Tensors:
    tensors: Tensors = {}
    if fitted.scaling is not None:
        tensors["scaling/mean"] = torch.tensor(fitted.scaling.mean)
        tensors["scaling/scale"] = torch.tensor(fitted.scaling.scale)
    if fitted.neighbours is not None:
        tensors["nearest"] = torch.tensor(fitted.neighbours.nearest)
        table = as_features(fitted.neighbours.rows, torch.float64)
        tensors |= feature_tensors("table", table)
    if fitted.graph is not None:
        tensors |= feature_tensors("graph", fitted.graph.adjacency)
    return tensors


def _restored(
    content: _Content, run: Run, tensors: Mapping[str, Tensor], kind: type["AKGNNClassifier"]
) -> "AKGNNClassifier":
    """The estimator; whatever does not fit is an error that `reading` makes readable."""
    arguments: dict[str, Any] = {**dict.fromkeys(_LATER_ARGUMENTS), **content.arguments}
    if set(arguments) != set(kind().get_params()):
        raise ValueError("its arguments are not those of AKGNNClassifier")
    if isinstance(arguments["class_weight"], list):
        arguments["class_weight"] = _parse_weights(arguments["class_weight"])
    own = {
        name.removeprefix(EXTRA_TENSORS): tensor
        for name, tensor in tensors.items()
        if name.startswith(EXTRA_TENSORS)
    }
    estimator = kind(**arguments)
    estimator.classes_ = _parse_classes(content.classes)
    if len(estimator.classes_) != len(run.facts.class_names):
        raise ValueError("the classes are not as many as the model's")
    estimator.n_features_in_ = run.facts.num_features
    if content.num_columns is not None:
        estimator.n_features_in_ = content.num_columns
    if content.feature_names is not None:
        names = [_plain_text(name) for name in content.feature_names]
        if len(names) != estimator.n_features_in_:
            raise ValueError(f"{len(names)} names for {estimator.n_features_in_} features")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    if content.num_columns is not None:
        _check_recipe(run, column_names(content.num_columns, content.feature_names))
    estimator.set_fitted(_parse_fitted(content, own, run))
    return estimator


def _check_recipe(run: Run, names: list[str]) -> None:
    """Refuse a recipe that does not lead from these columns to the features of the model."""
    recipe = run.facts.recipe
    if recipe is None or not recipe.columns or not set(recipe.column_names) <= set(names):
        raise ValueError("the recipe does not fit the columns")
    if len(recipe.feature_names) != run.facts.num_features:
        raise ValueError("the recipe does not fit the features")


def _parse_fitted(content: _Content, tensors: Tensors, run: Run) -> Fitted:
    number = run.facts.num_features
    # Checks the weights too, which nothing else has looked at yet.
    if not isinstance(run.model, AdaptiveNetwork):
        raise ValueError(f"its model is {run.plan.run.model}, not akgnn")
    scaling, neighbours, graph = None, None, None
    if "scaling/mean" in tensors:
        mean, scale = (_array(tensors[f"scaling/{n}"], torch.float64) for n in ("mean", "scale"))
        if mean.shape != (number,) or scale.shape != (number,) or not (scale > 0).all():
            raise ValueError("the scaling does not fit the features")
        scaling = Scaling(mean, scale)
    if content.metric is not None:
        rows = _parse_table(tensors)
        nearest = _array(tensors["nearest"], torch.int64)
        if rows.ndim != 2 or rows.shape[1] != number:
            raise ValueError("the training table does not fit the features")
        if nearest.ndim != 2 or not nearest.shape[1] < len(nearest) == rows.shape[0]:
            raise ValueError("the neighbours do not fit the training table")
        neighbours = Neighbours(rows, nearest, ByMetric(content.metric))
        # Checks that the neighbours are rows of the table.
        neighbours.graph()
    if "graph/rowptr" in tensors:
        graph = Graph(parse_matrix("graph", tensors))
    return Fitted(run, scaling, neighbours, graph, content.rows, content.num_columns is not None)


def _read_old(path: Path) -> tuple[dict[str, Any], Tensors]:
    """An estimator from before they were kept as runs are, as if it had been."""
    file = path / _OLD_FILE
    record = read_json(file)
    with reading(path):
        form, sha256 = (printable_text(record[name], name) for name in ("format", "sha256"))
        if form != _OLD_FORMAT:
            raise CheckpointError(f"{file} was not written by AKGNNClassifier.save: {form!r}.")
        old = record["content"]
        written = json.dumps(old, sort_keys=True, separators=(",", ":"), allow_nan=False)
        if hashlib.sha256(written.encode()).hexdigest() != sha256:
            raise CheckpointError(f"{file} is damaged: its content is not what its SHA-256 says.")
        name = printable_text(old["tensors"]["file"], "file")
        # Nothing else is looked for, so that no path leads out of the folder.
        if not re.fullmatch(r"tensors-[0-9a-f]{16}\.safetensors", name):
            raise CheckpointError(f"{file} names {name!r}, which is no tensors' file.")
        tensors = read_tensors(path / name, printable_text(old["tensors"]["sha256"], "sha256"))
        # Today the model's tensors have their own names, and others say what they belong to.
        own = f"{EXTRA_TENSORS}model/"
        renamed = {f"{EXTRA_TENSORS}{n}".removeprefix(own): t for n, t in tensors.items()}
        return _as_run(old), renamed


def _as_run(old: Mapping[str, Any]) -> dict[str, Any]:
    """What `run.json` would say of an old estimator; what it did not keep is NaN or 0."""
    names, best = ("val_accuracy", "val_loss", "train_accuracy"), integer(old["best_epoch"]) - 1
    history = dict(old["history"])
    history.setdefault("lambda_max", [[] for _ in history["val_loss"]])
    run = {"dataset": "table", "model": "akgnn", "preset": "any-graph"}
    preset = default_settings("akgnn").restored(old["settings"])
    return {
        "settings": {"run": run, **preset.to_dict()},
        "data": {
            "name": "table",
            "num_nodes": 0,
            "num_edges": 0,
            "num_features": old["num_features"],
            "class_names": [printable_name(label) for label in old["classes"]["labels"]],
            "split": "unknown",
            "source": {},
        },
        "result": {
            "test_accuracy": math.nan,
            **{name: history[name][best] for name in names},
            "best_epoch": old["best_epoch"],
            "epochs": len(history["val_loss"]),
            "seconds": 0.0,
            "lambda_max": old["lambda_max"],
            "neighbour_share": old["neighbour_share"],
        },
        "history": history,
        "estimator": {
            name: old[name] for name in ("arguments", "classes", "feature_names", "metric", "rows")
        },
    }


def _kind(classes: NDArray[Any]) -> str:
    kind = "text" if classes.dtype.kind in "UT" else classes.dtype.name
    if kind not in _NUMBERS | {"text"}:
        raise SettingsError(f"Classes of {classes.dtype} cannot be kept in a folder.")
    return kind


def _parse_classes(content: Mapping[str, Any]) -> NDArray[Any]:
    kind, labels = printable_text(content["kind"], "kind"), content["labels"]
    if not isinstance(labels, list) or not labels or kind not in _NUMBERS | {"text"}:
        raise ValueError("the classes are no list of text or numbers")
    if kind == "text":
        classes = np.array([_plain_text(label) for label in labels])
    else:
        classes = np.array(labels, dtype=kind)
    if classes.ndim != 1 or classes.tolist() != labels or len(set(labels)) != len(labels):
        raise ValueError(f"the classes are not {kind}, or are listed twice")
    return classes


def _parse_weights(pairs: list[Any]) -> dict[Any, Any]:
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or isinstance(pair[0], list | dict):
            raise ValueError("class_weight is no list of classes with their weights")
    return dict(pairs)


def _plain_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not text")
    return value


def _parse_table(tensors: Tensors) -> Any:
    if "table" in tensors:
        return _array(tensors["table"], torch.float64)
    matrix = parse_matrix("table", tensors)
    pattern = matrix.pattern
    if matrix.value is None or matrix.value.dtype != torch.float64:
        raise ValueError("the training table must hold float64")
    parts = matrix.value.numpy(), pattern.col.numpy(), pattern.rowptr.numpy()
    return sparse.csr_array(parts, shape=matrix.shape)


def _array(tensor: Tensor, dtype: torch.dtype) -> NDArray[Any]:
    if tensor.dtype != dtype:
        raise ValueError(f"a tensor holds {tensor.dtype} where {dtype} is expected")
    array: NDArray[Any] = tensor.numpy()
    return array
