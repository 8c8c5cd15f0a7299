"""The constructor's arguments as settings, all checked when training begins."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from akgnn.errors import SettingsError
from akgnn.runs.plan import Preset, load_preset
from akgnn.settings import Settings, count, rate

# Arguments that are settings by the same name.
_MODEL_SETTINGS = ("kernel", "hidden_channels", "num_layers")
_TRAIN_SETTINGS = ("learning_rate", "weight_decay", "epochs", "patience")
_DROPOUTS = ("input_dropout", "transform_dropout", "layer_dropout", "classifier_dropout")


@dataclass(frozen=True, kw_only=True)
class RowSettings(Settings):
    """How the rows of a table become data to train on; as the arguments of `AKGNNClassifier`."""

    n_neighbors: int = count(10)
    metric: str = "euclidean"
    standardize: bool | None = None
    validation_fraction: float = rate(0.1)


def plain_arguments(estimator: Any, names: Iterable[str]) -> dict[str, Any]:
    """Some of the arguments by name."""
    return {name: plain(getattr(estimator, name)) for name in names}


def plain(value: Any) -> Any:
    """A NumPy number, such as grids are made of, as Python's; also inside of a mapping."""
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return value.item() if isinstance(value, np.generic) else value


def decide_settings(estimator: Any, *, has_graph: bool) -> Preset:
    """The preset, with what the arguments say."""
    name = estimator.preset
    if name == "auto":
        name = "any-graph" if has_graph else "nearest-neighbours"
    preset = load_preset("akgnn", name, "")
    model = preset.to_dict()["model"]
    given = plain_arguments(estimator, (*_MODEL_SETTINGS, *_TRAIN_SETTINGS))
    changes = {name: value for name, value in given.items() if value is not None}
    if estimator.kernel not in (None, model["kernel"]):
        # A start belongs to its kernel.
        changes["kernel_start"] = None
    if estimator.dropout is not None:
        changes |= {name: plain(estimator.dropout) for name in _DROPOUTS if model[name] > 0}
    if not has_graph:
        changes["normalisation"] = "row"
    other = {} if estimator.settings is None else plain(estimator.settings)
    if not isinstance(other, dict):
        raise SettingsError(f"settings must be a dictionary of settings by name, got {other!r}.")
    changes |= other
    if not has_graph and changes["normalisation"] != "row":
        raise SettingsError(
            "Without a graph, rows are linked one way to their nearest neighbours, which needs "
            f"normalisation='row', got {changes['normalisation']!r}."
        )
    return preset.updated(changes)
