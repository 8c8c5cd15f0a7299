"""Early stopping: remembers the best epoch, and when to give up."""

import math
from typing import Literal

StopOn = Literal["loss", "accuracy", "either", "roc_auc"]


class EarlyStopping:
    """Stops when the validation score has not improved for `patience` epochs.

    Args:
        patience: Epochs to wait for a better score.
        stop_on: `loss`; `accuracy` or `roc_auc`, with ties decided by loss; or `either`: the
            lowest loss is best, but a better accuracy renews the patience too.
    """

    def __init__(self, patience: int, stop_on: StopOn = "loss") -> None:
        self.patience = patience
        self.stop_on = stop_on
        self.best_epoch = -1
        self._best: tuple[float, float] | None = None
        self._best_score = -math.inf
        self._last_progress = -1

    @property
    def column(self) -> str:
        """The column of the history that has the score beside the loss."""
        return "val_roc_auc" if self.stop_on == "roc_auc" else "val_accuracy"

    def improves(self, epoch: int, val_loss: float, val_score: float) -> bool:
        """Take in one epoch, and say whether it is the best so far."""
        decides = self.stop_on in ("accuracy", "roc_auc")
        score = (val_score if decides else 0.0, -val_loss)
        if self.stop_on == "either" and val_score > self._best_score:
            self._best_score, self._last_progress = val_score, epoch
        if self._best is not None and score <= self._best:
            return False
        self._best, self.best_epoch, self._last_progress = score, epoch, epoch
        return True

    def is_over(self, epoch: int) -> bool:
        """Whether to stop after this epoch."""
        return epoch - self._last_progress >= self.patience
