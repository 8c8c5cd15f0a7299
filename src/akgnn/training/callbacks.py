"""Callbacks: what may look on while models train, and stop them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from akgnn.errors import DivergedError, InterruptedRunError
from akgnn.training.history import History

if TYPE_CHECKING:
    from akgnn.training.result import FitResult
    from akgnn.training.state import Snapshot


@dataclass(frozen=True)
class Epoch:
    """A model after one more epoch.

    Attributes:
        index: Which of the models that train it is; 0 where there is one.
        history: All its epochs so far.
        snapshot: Takes a snapshot of its state, from which training can be resumed.
    """

    index: int
    history: History
    snapshot: Callable[[], "Snapshot"]


class Callback:
    """Looks on while models train; override what is of interest.

    Progress bars, checkpoints, trackers and stopping are all callbacks. Models that train side by
    side end an epoch together, so each call has all that did; `fit` has one.
    """

    def after_epoch(self, epochs: Sequence[Epoch]) -> None:
        """Called when an epoch has ended. An error that is raised here ends the training."""

    def should_stop(self) -> bool:
        """Asked after every epoch; true ends the training with `InterruptedRunError`."""
        return False

    def before_stop(self, epochs: Sequence[Epoch]) -> None:
        """Called before training ends because some callback wanted it to."""

    def after_run(self, index: int, outcome: "FitResult | DivergedError") -> None:
        """Called when the training of one model has ended, with its result or why it has none."""


class StopWhen(Callback):
    """Stops the training once a function says so.

    Args:
        should_stop: The function.
    """

    def __init__(self, should_stop: Callable[[], bool]) -> None:
        self._should_stop = should_stop

    def should_stop(self) -> bool:
        """Ask the function."""
        return self._should_stop()


def notify(callbacks: Sequence[Callback], epochs: Sequence[Epoch]) -> None:
    """Tell all callbacks of an epoch, and stop if one of them wants to.

    Raises:
        InterruptedRunError: A callback wanted to stop.
    """
    if not epochs:
        return
    for callback in callbacks:
        callback.after_epoch(epochs)
    if any(callback.should_stop() for callback in callbacks):
        for callback in callbacks:
            callback.before_stop(epochs)
        raise InterruptedRunError(f"Stopped after epoch {len(epochs[0].history)}.")
