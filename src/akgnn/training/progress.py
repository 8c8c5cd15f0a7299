"""One run on its way: its starts one after the other, its epochs, and when to stop."""

import math
import time
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from akgnn.errors import CheckpointError, DivergedError
from akgnn.graph import Graph
from akgnn.training.early_stopping import EarlyStopping
from akgnn.training.history import History
from akgnn.training.optimizer import load_optimizer
from akgnn.training.settings import TrainSettings
from akgnn.training.starts import Trial, begin_trial, starts_of

Weights = dict[str, Tensor]


@dataclass(frozen=True)
class Snapshot:
    """Everything needed to go on after some epoch as if nothing had happened."""

    weights: Weights
    best_weights: Weights
    optimizer: Weights
    history: History
    seconds: float


class Progress:
    """What the training of a model has come to so far, over all starts.

    It does not train: whoever does asks `goes_on`, trains one epoch and hands it to `take_in`.

    Args:
        model: Put to each start in turn.
        graph: The graph that it is trained on.
        settings: Of the training.
        resume: Where an earlier training left off.
    """

    def __init__(
        self, model: nn.Module, graph: Graph, settings: TrainSettings, resume: Snapshot | None
    ) -> None:
        self.model, self.graph, self.settings = model, graph, settings
        self.starts = starts_of(model, settings)
        self.initial = copied(model.state_dict())
        self.chosen = EarlyStopping(settings.patience, settings.stop_on)
        self.history, self.best, self.seconds = History(), self.initial, 0.0
        if resume is not None:
            self.history, self.best = deepcopy(resume.history), resume.best_weights
            self.seconds = resume.seconds
            _replay(self.chosen, self.history)
        self._resume = resume
        self._number = (self.history.start[-1] if self.history.start else 0) - 1
        self._before = 0
        self._trial: Trial | None = None

    @property
    def trial(self) -> Trial:
        """The training from the present start."""
        assert self._trial is not None, "goes_on begins the first"
        return self._trial

    @property
    def epoch(self) -> int:
        """How many epochs were trained from the present start."""
        return len(self.history) - self._before

    def goes_on(self) -> bool:
        """Whether there is an epoch to train. It begins the next start where one is over."""
        while self._trial is None or self._trial.is_over(self.epoch):
            if self._number + 1 == len(self.starts):
                return False
            self._begin(self._number + 1)
        self._trial.prepare(self.epoch)
        return True

    def _begin(self, number: int) -> None:
        self._number = number
        self.model.load_state_dict(self.initial)
        self._trial = begin_trial(self.model, self.graph, self.starts[number], self.settings)
        # The epochs of earlier starts, which this one knows nothing of.
        self._before = sum(start < number for start in self.history.start)
        if self._resume is not None:
            self.model.load_state_dict(self._resume.weights)
            load_optimizer(self._trial.optimizer, self._resume.optimizer)
            _replay(self._trial.stopping, self.history, self._before)
            self._resume = None

    def take_in(self, loss: float, row: dict[str, Any]) -> bool:
        """Write down one epoch, and say whether it is the best so far over all starts.

        Args:
            loss: The last one that was trained on.
            row: For the history.
        """
        trial = self.trial
        _check_finite(self.epoch, loss, row["val_loss"], self.settings)
        trial.stopping.improves(self.epoch, row["val_loss"], row[trial.stopping.column])
        number = {"start": self._number} if len(self.starts) > 1 else {}
        self.history.append(**row, **number)
        score = row[self.chosen.column]
        return self.chosen.improves(len(self.history) - 1, row["val_loss"], score)

    def snapshot(self, weights: Weights, optimizer: Weights) -> Snapshot:
        """The present state, with the present weights and the optimiser's tensors."""
        return Snapshot(weights, self.best, optimizer, deepcopy(self.history), self.seconds)


class Stopwatch:
    """Tells the time since it was last asked."""

    def __init__(self) -> None:
        self._last = time.perf_counter()

    def lap(self) -> float:
        """Seconds since the lap before."""
        before, self._last = self._last, time.perf_counter()
        return self._last - before


def copied(weights: Weights) -> Weights:
    """The same tensors, that nobody else changes."""
    return {name: tensor.detach().clone() for name, tensor in weights.items()}


def _replay(stopping: EarlyStopping, history: History, before: int = 0) -> None:
    """Show the epochs of an earlier call, from number `before` on, to `stopping` again."""
    scores = getattr(history, stopping.column)
    if len(scores) != len(history):
        raise CheckpointError(f"The history to go on with has no {stopping.column} to stop on.")
    for epoch in range(before, len(history)):
        stopping.improves(epoch - before, history.val_loss[epoch], scores[epoch])


def _check_finite(epoch: int, loss: float, val_loss: float, settings: TrainSettings) -> None:
    losses = {"training": loss, "validation": val_loss}
    wrong = [
        f"{kind} loss became {value}" for kind, value in losses.items() if not math.isfinite(value)
    ]
    if not wrong:
        return
    cause = (
        f"the learning rate {settings.learning_rate:g} is likely too high; try a tenth of it"
        if settings.learning_rate > 0.02
        else "very large features or edge weights are the likely cause; scale them to about 1"
    )
    raise DivergedError(f"The {wrong[0]} at epoch {epoch + 1}: {cause}.")
