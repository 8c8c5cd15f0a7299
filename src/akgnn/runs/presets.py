"""Presets: settings of a model and its training under one name, kept as TOML files.

Beside its presets a file has one more table, `search`: what `akgnn tune` looks through.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from akgnn.errors import NoEffectError, UnknownNameError
from akgnn.models.adaptive_network import AdaptiveNetwork
from akgnn.models.registry import MODELS, find_model
from akgnn.settings import Settings
from akgnn.training.settings import TrainSettings
from akgnn.training.strategies.registry import StrategyChoice

ANY_GRAPH = "any-graph"
"""The preset for a graph of which nothing is known."""
_SEARCH = "search"


@dataclass(frozen=True)
class Preset:
    """Settings of a model, of its training, and of the strategy that trains it."""

    model: Settings
    training: TrainSettings
    strategy: StrategyChoice

    def updated(
        self, values: Mapping[str, Any], by_kind: Mapping[str, Mapping[str, Any]] | None = None
    ) -> "Preset":
        """A copy with the values `by_kind`, and others looked up by name in all kinds of settings.

        All are put in together, as one may need another.
        """
        by_kind = by_kind or {}
        # Another strategy brings other names.
        chosen = {**by_kind.get("strategy", {}), **values}
        chosen = {name: value for name, value in chosen.items() if name == "strategy"}
        known = self.updated_by_kind({"strategy": chosen}).to_dict()
        every = [name for kind in known.values() for name in kind]
        for name in values:
            if name not in every:
                raise UnknownNameError("setting", name, every)
        return self.updated_by_kind(
            {
                kind: {
                    **by_kind.get(kind, {}),
                    **{name: value for name, value in values.items() if name in names},
                }
                for kind, names in known.items()
            }
        )

    def updated_by_kind(self, values: Mapping[str, Any]) -> "Preset":
        """A copy with other values, given under `model`, `training` and `strategy`.

        Under `strategy` the name `strategy` chooses another than the model's own.
        """
        return Preset(
            self.model.updated(values.get("model", {})),
            self.training.updated(values.get("training", {})),
            self.strategy.updated(values.get("strategy", {})),
        )

    def restored(self, values: Mapping[str, Any]) -> "Preset":
        """A copy with the values of a record by kind, which has those without effect as well."""
        strategy = dict(values.get("strategy", {}))
        chosen = self.strategy.updated({"strategy": strategy.pop("strategy", self.strategy.name)})
        return Preset(
            self.model.restored(values.get("model", {})),
            self.training.restored(values.get("training", {})),
            StrategyChoice(chosen.name, chosen.settings.restored(strategy)),
        )

    def in_effect(self) -> dict[str, dict[str, Any]]:
        """The settings by kind and name, without settings that have no effect."""
        strategy = {"strategy": self.strategy.name, **self.strategy.settings.in_effect()}
        return {
            "model": self.model.in_effect(),
            "training": self.training.in_effect(),
            "strategy": strategy,
        }

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """The settings by kind and name."""
        return {
            "model": self.model.to_dict(),
            "training": self.training.to_dict(),
            "strategy": self.strategy.to_dict(),
        }


def default_settings(model: str) -> Preset:
    """The settings of a model before any preset."""
    entry = find_model(model)
    return Preset(entry.settings(), TrainSettings(), StrategyChoice.of(entry.strategy))


def without_effect(model: str, preset: Preset, *, is_study: bool = False) -> dict[str, str]:
    """Settings of training and strategy that have no effect on a model, and why.

    In a study rows of a fixed kernel may have settings of how others learn theirs.
    """
    entry, settings = find_model(model), preset.model.to_dict()
    training = TrainSettings.names()
    phi = [name for name in (*training, *preset.strategy.settings.names()) if name[:4] == "phi_"]
    starts = ["several_starts", "same_starts"]
    has_starts = isinstance(entry.model, type) and issubclass(entry.model, AdaptiveNetwork)
    found: dict[str, str] = {}
    if not preset.training.several_starts:
        found["same_starts"] = "several_starts=False"
    if not is_study:
        # One start is what several_starts=False asks for, and what there is.
        starts = starts if preset.training.several_starts else ["same_starts"]
        if settings.get("kernel_start") is not None:
            found |= dict.fromkeys(starts, f"kernel_start={settings['kernel_start']:g}")
        if not settings.get("learn_lambda", True):
            found |= dict.fromkeys(phi + starts, "learn_lambda=False")
    if not has_starts:
        starts = ["several_starts", "same_starts"]
        found |= dict.fromkeys(starts, f"model {model!r}, which trains from one start")
    if not entry.has_phi:
        found |= dict.fromkeys(phi, f"model {model!r}, which has no kernel")
    if entry.model is None:
        others = [name for name in training if name not in ("stop_on", "class_weight")]
        found |= dict.fromkeys(others, f"model {model!r}, which is no network")
    return found


def check_effect(
    model: str, preset: Preset, named: Iterable[str], *, is_study: bool = False
) -> None:
    """Refuse named settings of training and strategy that have no effect on a model.

    Raises:
        SettingsError: One has none.
    """
    unused = without_effect(model, preset, is_study=is_study)
    for name in sorted(named):
        if name in unused:
            raise NoEffectError(f"{name} has no effect with {unused[name]}; leave it out.")


def list_presets(model: str) -> dict[str, str]:
    """The names of a model's presets, each with a line about it."""
    return {name: table["about"] for name, table in _tables(model).items()}


def load_preset(model: str, name: str, dataset: str) -> Preset:
    """The settings under a preset's name, with what it says of this data set."""
    tables = _tables(model)
    if name not in tables:
        others = [other for other in MODELS if name in _tables(other)]
        elsewhere = f"With model {' or '.join(others)} there is one." if others else ""
        raise UnknownNameError("preset", name, tables, elsewhere)
    table = tables[name]
    preset = default_settings(model).updated_by_kind(table)
    return preset.updated_by_kind(table.get("datasets", {}).get(dataset, {}))


def preset_for_own_tables(model: str) -> str:
    """The preset for a graph of which nothing is known, where the model has one."""
    presets = list_presets(model)
    return ANY_GRAPH if ANY_GRAPH in presets else next(iter(presets))


def search_table(model: str) -> dict[str, Any]:
    """What a search looks through, by the names of settings; `akgnn.tuning.space` reads it."""
    space: dict[str, Any] = _content(model).get(_SEARCH, {})
    return space


def _tables(model: str) -> dict[str, Any]:
    return {name: table for name, table in _content(model).items() if name != _SEARCH}


def _content(model: str) -> dict[str, Any]:
    entry = find_model(model)
    file = entry.presets or files("akgnn.runs") / "preset_files" / f"{model}.toml"
    if not file.is_file():
        # A model of one's own without presets has its defaults.
        return {"paper": {"about": "The defaults of its settings"}}
    return tomllib.loads(file.read_text(encoding="utf-8"))
