"""Search spaces: which settings a search may change, and between which values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from akgnn.errors import SettingsError, SpecError
from akgnn.runs.presets import Preset, search_table

if TYPE_CHECKING:
    import optuna

Value = float | int | str | bool


@dataclass(frozen=True)
class Dimension:
    """One setting and the values it may take: from `low` to `high`, or one of the `choices`.

    Between integers, integers are searched; `log` draws values evenly by their logarithm.
    """

    name: str
    low: float = 0
    high: float = 0
    log: bool = False
    choices: tuple[Value, ...] = ()

    @classmethod
    def read(cls, name: str, table: Mapping[str, Any]) -> "Dimension":
        """Read `{ low = 1, high = 8, log = true }` or `{ choices = [16, 32] }`."""
        if set(table) == {"choices"} and isinstance(table["choices"], list) and table["choices"]:
            return cls(name, choices=tuple(table["choices"]))
        low: Any = table.get("low")
        high: Any = table.get("high")
        log = table.get("log", False)
        alike = type(low) is type(high) and type(low) in (int, float)
        if not (alike and set(table) <= {"low", "high", "log"} and type(log) is bool):
            raise SpecError(
                f"The search space of {name} must have low and high, both whole or both not, and "
                f"log if values are drawn by powers; or choices alone. It has {dict(table)}."
            )
        if not low < high or (log and low <= 0):
            raise SpecError(f"The search space of {name} has no values: it is {dict(table)}.")
        return cls(name, low, high, log)

    @property
    def is_whole(self) -> bool:
        """Whether it is a range of integers."""
        return not self.choices and isinstance(self.low, int)

    def suggest(self, trial: "optuna.Trial") -> Value:
        """The value that a trial is to take."""
        if self.choices:
            return cast(Value, trial.suggest_categorical(self.name, self.choices))
        if self.is_whole:
            return trial.suggest_int(self.name, int(self.low), int(self.high), log=self.log)
        return rounded(trial.suggest_float(self.name, self.low, self.high, log=self.log))

    def holds(self, value: object) -> bool:
        """Whether a value is one of those."""
        if self.choices:
            return any(type(value) is type(choice) and value == choice for choice in self.choices)
        kind = int if self.is_whole else float
        return type(value) is kind and self.low <= value <= self.high

    def to_dict(self) -> dict[str, Any]:
        """As it is written in TOML."""
        if self.choices:
            return {"choices": list(self.choices)}
        return {"low": self.low, "high": self.high, "log": self.log}


def rounded(value: Value) -> Value:
    """Three digits of what was drawn say all, and can be read and repeated."""
    return float(f"{value:.3g}") if isinstance(value, float) else value


def load_space(model: str) -> tuple[Dimension, ...]:
    """The search space that a model declares beside its presets."""
    return tuple(Dimension.read(name, table) for name, table in search_table(model).items())


def space_of(model: str, preset: Preset, fixed: Mapping[str, Any]) -> tuple[Dimension, ...]:
    """A model's space without what is fixed, and without what has no effect with the preset."""
    known = {name for kind in preset.in_effect().values() for name in kind}
    space = tuple(
        dimension
        for dimension in load_space(model)
        if dimension.name in known and dimension.name not in fixed
    )
    if not space:
        raise SettingsError(
            f"Nothing is left to search: every setting in the search space of {model} is fixed."
        )
    return space


def tried_preset(preset: Preset, values: Mapping[str, Any]) -> Preset:
    """The preset with the values of a trial; a start of the kernel belongs to that kernel alone."""
    before = preset.to_dict()["model"]
    if before.get("kernel_start") is not None and values.get("kernel") != before["kernel"]:
        values = {"kernel_start": None, **values}
    return preset.updated(values)


def settings_of(preset: Preset) -> dict[str, Any]:
    """All settings by name, whatever their kind."""
    return {name: value for kind in preset.to_dict().values() for name, value in kind.items()}
