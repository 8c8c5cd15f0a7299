"""What is asked of a tracker, and what it is given: plain names and values."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from akgnn.models.scalars import Position
from akgnn.runs.plan import RunPlan
from akgnn.training.history import History
from akgnn.training.result import FitResult


class Tracker(ABC):
    """Takes down what runs come to; several may train side by side.

    A run is told by its name. One that goes on after a stop has the name it had before, and all
    its epochs are told again from the first on: a kill may have cut off the last that were taken
    down, or they may be those of a state that was lost.
    """

    @abstractmethod
    def open(self) -> None:
        """Get ready before training begins, whose time is measured; refuse a folder that cannot be.

        Nothing is written before.
        """

    @abstractmethod
    def begin(self, run: str, *, is_resumed: bool) -> None:
        """Get ready for the epochs of a run, a new one or one that is resumed."""

    @abstractmethod
    def epoch(self, run: str, number: int, row: Mapping[str, float]) -> None:
        """Take down an epoch, counted from 1: a number for each name."""

    @abstractmethod
    def end(self, run: str, plan: RunPlan, result: FitResult) -> None:
        """Take down the settings of a run that has finished, and what it came to."""

    @abstractmethod
    def close(self) -> None:
        """Write what is left; runs without an end were stopped or have failed."""


_PARTS = {"train": "train", "val": "validation"}


def epoch_row(history: History, number: int, positions: Sequence[Position]) -> dict[str, float]:
    """Epoch 1, 2, …: `loss/train`, `accuracy/validation`, `lambda_max/layer 1` and so on."""
    layers = [position.text.replace(",", "") for position in positions]
    row: dict[str, float] = {}
    for name, value in history.row(number - 1).items():
        if isinstance(value, list):
            pairs = zip(layers, value, strict=True) if value else ()
            row |= {f"{name}/{layer}": number for layer, number in pairs}
            continue
        part, _, metric = name.partition("_")
        row[f"{metric}/{_PARTS[part]}" if part in _PARTS else name] = value
    return {name: value for name, value in row.items() if math.isfinite(value)}


def settings_row(plan: RunPlan) -> dict[str, str | float | bool]:
    """All settings of a run: `run.seed`, `model.num_layers` and so on."""
    return {
        f"{kind}.{name}": value if isinstance(value, str | int | float) else str(value).lower()
        for kind, settings in plan.to_dict().items()
        for name, value in settings.items()
    }


def result_row(result: FitResult) -> dict[str, float]:
    """What a run came to: `test_accuracy` and so on."""
    return {name: float(value) for name, value in result.metrics.items() if math.isfinite(value)}
