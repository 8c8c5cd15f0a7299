"""What runs are compared by: the validation score that their training stops on."""

import math
from dataclasses import dataclass

from akgnn.training.fit import FitResult
from akgnn.training.history import History
from akgnn.training.metrics import METRICS, Metric

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

    def text(self, value: float) -> str:
        """A value for readers."""
        return self.metric.text(value)
