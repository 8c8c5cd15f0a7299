"""Presets: settings of a model and its training under one name, kept as TOML files."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from akgnn.errors import UnknownNameError
from akgnn.models.registry import find_model
from akgnn.settings import Settings
from akgnn.training.settings import TrainSettings


@dataclass(frozen=True)
class Preset:
    """Settings of a model and of its training."""

    model: Settings
    training: TrainSettings

    def updated(self, values: Mapping[str, Any]) -> "Preset":
        """A copy with other values; each name is looked up in both kinds of settings."""
        known = [*self.model.names(), *self.training.names()]
        for name in values:
            if name not in known:
                raise UnknownNameError("setting", name, known)
        return Preset(
            self.model.updated({k: v for k, v in values.items() if k in self.model.names()}),
            self.training.updated({k: v for k, v in values.items() if k in self.training.names()}),
        )


def list_presets(model: str) -> dict[str, str]:
    """The names of a model's presets, each with a line about it."""
    return {name: table["about"] for name, table in _tables(model).items()}


def load_preset(model: str, name: str, dataset: str) -> Preset:
    """The settings under a preset's name, with what it says of this data set."""
    tables = _tables(model)
    if name not in tables:
        raise UnknownNameError("preset", name, tables)
    table = tables[name]
    preset = Preset(find_model(model).settings(), TrainSettings())
    for part in (table, table.get("datasets", {}).get(dataset, {})):
        preset = Preset(
            preset.model.updated(part.get("model", {})),
            preset.training.updated(part.get("training", {})),
        )
    return preset


def _tables(model: str) -> dict[str, Any]:
    find_model(model)
    text = (files("akgnn.training") / "preset_files" / f"{model}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
