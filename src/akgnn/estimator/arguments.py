"""The constructor's arguments as settings, all checked when training begins."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from akgnn.errors import SettingsError
from akgnn.settings import Settings, count, rate
from akgnn.training.presets import Preset, load_preset

# Arguments that are settings of the model or its training by the same name.
_SETTINGS = (
    "kernel",
    "hidden_channels",
    "num_layers",
    "learning_rate",
    "weight_decay",
    "epochs",
    "patience",
)
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
    """A NumPy number, such as grids are made of, as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def decide_settings(estimator: Any, *, has_graph: bool) -> Preset:
    """The preset, with what the arguments say."""
    name = estimator.preset
    if name == "auto":
        name = "any-graph" if has_graph else "nearest-neighbours"
    preset = load_preset("akgnn", name, "")
    model = preset.to_dict()["model"]
    given = plain_arguments(estimator, _SETTINGS)
    changes = {name: value for name, value in given.items() if value is not None}
    if estimator.kernel not in (None, model["kernel"]):
        # A start belongs to its kernel.
        changes["kernel_start"] = None
    if estimator.dropout is not None:
        changes |= {name: plain(estimator.dropout) for name in _DROPOUTS if model[name] > 0}
    if not has_graph:
        changes["normalisation"] = "row"
    changes |= _other_settings(estimator.settings)
    if not has_graph and changes["normalisation"] != "row":
        raise SettingsError(
            "Without a graph, rows are linked one way to their nearest neighbours, which needs "
            f"normalisation='row', got {changes['normalisation']!r}."
        )
    return preset.updated(changes)


def _other_settings(settings: Any) -> dict[str, Any]:
    if settings is None:
        return {}
    if not isinstance(settings, Mapping):
        raise SettingsError(f"settings must be a dictionary of settings by name, got {settings!r}.")
    return {name: plain(value) for name, value in settings.items()}
