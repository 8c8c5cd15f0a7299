"""What runs are compared by: the validation score that their training stops on."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from akgnn.training.history import History
from akgnn.training.metrics import METRICS, Metric
from akgnn.training.result import FitResult

T = TypeVar("T")
# Other than the log loss of results, a search's loss is shown with four digits.
_LOSS = Metric(lambda logits, y: math.nan, "loss", 4, lower_is_better=True, is_percent=False)


@dataclass(frozen=True)
class Score:
    """A validation score.

    Attributes:
        column: Its name in results and histories.
        metric: How it is shown and compared.
    """

    column: str
    metric: Metric

    @classmethod
    def of(cls, stop_on: str) -> "Score":
        """The score of runs that stop on it."""
        if stop_on in METRICS:
            return cls(f"val_{stop_on}", METRICS[stop_on])
        return cls("val_loss", _LOSS)

    @classmethod
    def for_choice(cls, stops: Iterable[str]) -> "Score":
        """What runs are chosen by that stop on these.

        It is the metric that all stop on, if that is more than accuracy or loss. Else it is the
        loss at the temperature that suits each run best, so that a network is not passed over for
        being too sure of itself: it tells more than accuracy where there are few nodes.
        """
        stop_on, *others = set(stops)
        if others or stop_on == "accuracy" or stop_on not in METRICS:
            return cls("val_log_loss", _LOSS)
        return cls.of(stop_on)

    @property
    def name(self) -> str:
        """Its name for readers."""
        return f"validation {self.metric.label}"

    def value(self, fit: FitResult) -> float:
        """The score of a finished run."""
        return float(getattr(fit, self.column))

    def best(self, history: History) -> float:
        """The best so far of a run on its way."""
        column = history.column(self.column)
        return float(min(column) if self.metric.lower_is_better else max(column))

    def best_of(self, each: Iterable[T], value: Callable[[T], float]) -> T:
        """The one of the best value; of equal ones the first."""
        return (min if self.metric.lower_is_better else max)(each, key=value)

    def text(self, value: float) -> str:
        """A value for readers."""
        return self.metric.text(value)
