"""Early stopping: remembers the best epoch, and when to give up."""

from typing import Literal


class EarlyStopping:
    """Stops when the validation score has not improved for `patience` epochs.

    Args:
        patience: Epochs to wait for a better score.
        stop_on: `loss`, or `accuracy` with ties decided by loss.
    """

    def __init__(self, patience: int, stop_on: Literal["loss", "accuracy"] = "loss") -> None:
        self.patience = patience
        self.stop_on = stop_on
        self.best_epoch = -1
        self._best: tuple[float, float] | None = None

    def improves(self, epoch: int, val_loss: float, val_accuracy: float) -> bool:
        """Take in one epoch, and say whether it is the best so far."""
        score = (val_accuracy if self.stop_on == "accuracy" else 0.0, -val_loss)
        if self._best is not None and score <= self._best:
            return False
        self._best, self.best_epoch = score, epoch
        return True

    def is_over(self, epoch: int) -> bool:
        """Whether to stop after this epoch."""
        return epoch - self.best_epoch >= self.patience
