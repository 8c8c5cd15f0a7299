"""The constructor's arguments as settings, all checked when training begins."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from akgnn.errors import LeftOutWarning, NoEffectError, SettingsError
from akgnn.runs.plan import FOR_ANY_GRAPH
from akgnn.runs.presets import Preset, check_effect, load_preset
from akgnn.settings import Settings, count, rate

# Arguments that are settings by the same name.
_MODEL_SETTINGS = ("kernel", "hidden_channels", "num_layers")
_TRAIN_SETTINGS = ("learning_rate", "weight_decay", "epochs", "patience", "class_weight")
_LARGEST_WEIGHT = 1e9
_DROPOUTS = ("input_dropout", "transform_dropout", "layer_dropout", "classifier_dropout")


@dataclass(frozen=True, kw_only=True)
class RowSettings(Settings):
    """How the rows of a table become data to train on; as the arguments of `AKGNNClassifier`."""

    n_neighbors: int = count(10)
    metric: str = "euclidean"
    standardize: bool | None = None
    prepare: bool | None = None
    validation_fraction: float = rate(0.1)


def plain_arguments(estimator: Any, names: Iterable[str]) -> dict[str, Any]:
    """Some of the arguments by name."""
    return {name: plain(getattr(estimator, name)) for name in names}


def plain(value: Any) -> Any:
    """A NumPy number, such as grids are made of, as Python's; also inside of a mapping."""
    if isinstance(value, Mapping):
        return {plain(name): plain(item) for name, item in value.items()}
    return value.item() if isinstance(value, np.generic) else value


def class_weights(estimator: Any, classes: Sequence[Any]) -> Tensor | None:
    """The weights that `class_weight` gives to single classes, 1 to those it leaves out.

    None where it is no dictionary.
    """
    given = plain(estimator.class_weight)
    if not isinstance(given, dict):
        return None
    for label, weight in given.items():
        if label not in classes:
            known = ", ".join(map(repr, classes[:10]))
            raise SettingsError(
                f"class_weight has a weight for {label!r}, which is no class; y holds {known}."
            )
        if not isinstance(weight, int | float) or not 0 <= weight <= _LARGEST_WEIGHT:
            raise SettingsError(
                f"class_weight: the weight of {label!r} must be a number from 0 to "
                f"{_LARGEST_WEIGHT:g}, got {weight!r}."
            )
    weights = torch.tensor([float(given.get(label, 1.0)) for label in classes])
    if not bool(weights.any()):
        raise SettingsError("class_weight is 0 for every class, so there is nothing to learn.")
    return weights


def decide_settings(estimator: Any, *, has_graph: bool) -> dict[str, Preset]:
    """The presets to choose from by name, with what the arguments say; often a single one."""
    if estimator.preset != "auto":
        names: tuple[str, ...] = (estimator.preset,)
    else:
        names = FOR_ANY_GRAPH if has_graph else ("nearest-neighbours",)
    presets: dict[str, Preset] = {}
    left_out = []
    for name in names:
        try:
            presets[name] = _decide(estimator, name, has_graph)
        except SettingsError as error:
            if not presets:
                raise
            # A number of channels, say, may suit one preset alone; that hides nothing.
            left_out += [name] * isinstance(error, NoEffectError)
    if left_out:
        # As seen from the caller of `fit`.
        warnings.warn(LeftOutWarning(left_out), stacklevel=4)
    return presets


def _decide(estimator: Any, name: str, has_graph: bool) -> Preset:
    preset = load_preset("akgnn", name, "")
    model = preset.in_effect()["model"]
    given = plain_arguments(estimator, (*_MODEL_SETTINGS, *_TRAIN_SETTINGS))
    changes = {name: value for name, value in given.items() if value is not None}
    if isinstance(changes.get("class_weight"), dict):
        # The data hold weights of single classes.
        del changes["class_weight"]
    if estimator.kernel not in (None, model["kernel"]):
        # A start belongs to its kernel.
        changes["kernel_start"] = None
    if estimator.dropout is not None:
        changes |= {name: plain(estimator.dropout) for name in _DROPOUTS if model.get(name, 0) > 0}
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
    decided = preset.updated(changes)
    check_effect("akgnn", decided, other)
    if decided.strategy.takes_labels:
        raise SettingsError(
            "AKGNNClassifier takes no labels as inputs, which the preset or the strategy asks for; "
            "akgnn.train does, with tables of nodes and edges."
        )
    return decided
