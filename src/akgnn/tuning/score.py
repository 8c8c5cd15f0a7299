"""What runs are compared by: the validation score that their training stops on."""

import math
from dataclasses import dataclass

from akgnn.data.node_data import NodeData
from akgnn.training.early_stopping import StopOn
from akgnn.training.history import History
from akgnn.training.loop import FitResult


@dataclass(frozen=True)
class Score:
    """A validation score.

    Attributes:
        column: Its name in results and histories.
        name: For readers.
        is_loss: Whether lower is better.
    """

    column: str
    name: str
    is_loss: bool = False

    @classmethod
    def of(cls, stop_on: StopOn) -> "Score":
        """The score of runs that stop on it."""
        if stop_on == "accuracy":
            return cls("val_accuracy", "validation accuracy")
        if stop_on == "roc_auc":
            return cls("val_roc_auc", "validation ROC-AUC")
        return cls("val_loss", "validation loss", is_loss=True)

    def value(self, fit: FitResult) -> float:
        """Of a finished run."""
        return float(getattr(fit, self.column))

    def best(self, history: History) -> float:
        """The best so far of a run on its way."""
        column: list[float] = getattr(history, self.column)
        return min(column) if self.is_loss else max(column)

    def is_better(self, one: float, other: float) -> bool:
        """Whether the first value is better than the second."""
        return one < other if self.is_loss else one > other

    def text(self, value: float) -> str:
        """A value for readers."""
        return f"{value:.4f}" if self.is_loss else f"{value:.1f} %"

    def standard_error(self, value: float, data: NodeData) -> float:
        """How far the value may be off because there are only so many validation nodes.

        Of an accuracy that of the binomial, after one more hit and one more miss, so that 100 %
        is not taken for certain; of a ROC-AUC the same with the nodes of the smaller class, which
        bounds it. A loss has none that its value alone would tell: 0.
        """
        if self.is_loss:
            return 0.0
        y = data.y[data.split.val]
        number = len(y) if self.column == "val_accuracy" else int(y.bincount().min())
        share = (number * value / 100 + 1) / (number + 2)
        return 100 * math.sqrt(share * (1 - share) / number)
