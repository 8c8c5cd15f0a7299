"""The state of a training: its restarts one after the other, its epochs, and when it is over.

A kernel may be best trained from several initial values. Training then begins anew from each, and
validation keeps the best of all epochs.
"""

import math
import time
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from akgnn.codec import from_json
from akgnn.errors import CheckpointError, DivergedError
from akgnn.graph import Graph
from akgnn.layers.kernels import InitialValue
from akgnn.models.adaptive_network import AdaptiveNetwork
from akgnn.training.history import History
from akgnn.training.metrics import METRICS
from akgnn.training.optimizer import let_phi_learn, load_optimizer, make_optimizer
from akgnn.training.settings import TrainSettings

Weights = dict[str, Tensor]


@dataclass(frozen=True)
class Snapshot:
    """Everything needed to resume after some epoch as if nothing had happened."""

    weights: Weights
    best_weights: Weights
    optimizer: Weights
    history: History
    seconds: float


@dataclass(frozen=True)
class RestartResult:
    """What training from one initial value came to.

    Attributes:
        initial_value: As people read it, such as `GCN, fixed`.
        epochs: How many were trained.
        val_loss: Validation loss at its best epoch.
        val_accuracy: Validation accuracy there, in per cent.
        is_chosen: Whether validation kept it.
    """

    initial_value: str
    epochs: int
    val_loss: float
    val_accuracy: float
    is_chosen: bool

    def to_dict(self) -> dict[str, Any]:
        """As records keep it, where the initial value is called `start`."""
        values = vars(self).copy()
        return {"start": values.pop("initial_value"), **values}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "RestartResult":
        """What `to_dict` wrote; a `ValueError` or `KeyError` if it does not fit."""
        return cls(
            from_json(str, content["start"], "start"),
            from_json(int, content["epochs"], "epochs"),
            from_json(float, content["val_loss"], "val_loss"),
            from_json(float, content["val_accuracy"], "val_accuracy"),
            content["is_chosen"] is True,
        )


class EarlyStopping:
    """Stops when the validation score has not improved for `patience` epochs.

    Args:
        patience: Epochs to wait for a better score.
        stop_on: `loss`; a metric, with ties decided by loss; `either`: the lowest loss is best, but
            a better accuracy renews the patience too; or `both`: the best epoch is the last whose
            loss and accuracy were no worse than all before, and either renews the patience.
    """

    def __init__(self, patience: int, stop_on: str = "loss") -> None:
        self.patience = patience
        self.stop_on = stop_on
        self.best_epoch = -1
        self._best: tuple[float, float] | None = None
        self._best_score, self._least_loss = -math.inf, math.inf
        self._last_progress = -1

    @property
    def column(self) -> str:
        """The column of the history that has the score beside the loss."""
        return f"val_{self.stop_on}" if self.stop_on in METRICS else "val_accuracy"

    def update(self, epoch: int, val_loss: float, val_score: float) -> bool:
        """Take in one epoch, and say whether it is the best so far."""
        if self.stop_on == "both":
            return self._update_both(epoch, val_loss, val_score)
        metric = METRICS.get(self.stop_on)
        decisive = 0.0 if metric is None else -val_score if metric.lower_is_better else val_score
        # An epoch without a score is worse than any that has one.
        score = (-math.inf if math.isnan(decisive) else decisive, -val_loss)
        if self.stop_on == "either" and val_score > self._best_score:
            self._best_score, self._last_progress = val_score, epoch
        if self._best is not None and score <= self._best:
            return False
        self._best, self.best_epoch, self._last_progress = score, epoch, epoch
        return True

    def _update_both(self, epoch: int, val_loss: float, val_score: float) -> bool:
        is_low, is_accurate = val_loss <= self._least_loss, val_score >= self._best_score
        self._least_loss = min(val_loss, self._least_loss)
        self._best_score = max(val_score, self._best_score)
        if is_low or is_accurate:
            self._last_progress = epoch
        if is_low and is_accurate:
            self.best_epoch = epoch
        return is_low and is_accurate

    @property
    def ends_after(self) -> int:
        """How many epochs there will be if none is better from here on."""
        return self._last_progress + 1 + self.patience

    def is_over(self, epoch: int) -> bool:
        """Whether to stop after this epoch."""
        return epoch + 1 >= self.ends_after


@dataclass(frozen=True)
class Restart:
    """The training from one initial value; φ learns from epoch `wakes_at` on."""

    optimizer: torch.optim.Adam
    stopping: EarlyStopping
    epochs: int
    wakes_at: int

    def is_over(self, epoch: int) -> bool:
        """Whether the epoch is not to be trained any more."""
        return epoch >= self.epochs or self.stopping.is_over(epoch - 1)

    def prepare(self, epoch: int) -> None:
        """Let φ learn once it has rested."""
        let_phi_learn(self.optimizer, epoch >= self.wakes_at)


class TrainingState:
    """What the training of a model has come to so far, over all restarts.

    It does not train: whoever does calls `next_epoch`, trains one and hands it to `update`.

    Args:
        model: Put to each initial value in turn.
        graph: The graph that it is trained on.
        settings: Settings of the training.
        resume: Where an earlier training left off.
    """

    def __init__(
        self, model: nn.Module, graph: Graph, settings: TrainSettings, resume: Snapshot | None
    ) -> None:
        self.model, self.graph, self.settings = model, graph, settings
        self.initial_values = initial_values(model, settings)
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
        self._restart: Restart | None = None

    @property
    def restart(self) -> Restart:
        """The training from the present initial value."""
        assert self._restart is not None, "next_epoch begins the first"
        return self._restart

    @property
    def epoch(self) -> int:
        """How many epochs were trained from the present initial value."""
        return len(self.history) - self._before

    def next_epoch(self) -> bool:
        """Get ready for the next epoch, of the next restart where one is over; false at the end."""
        while self._restart is None or self._restart.is_over(self.epoch):
            if self._number + 1 == len(self.initial_values):
                return False
            self._begin(self._number + 1)
        self._restart.prepare(self.epoch)
        return True

    def _begin(self, number: int) -> None:
        self._number = number
        self.model.load_state_dict(self.initial)
        value = self.initial_values[number]
        self._restart = begin_restart(self.model, self.graph, value, self.settings)
        # The epochs of earlier restarts, which this one knows nothing of.
        self._before = sum(start < number for start in self.history.start)
        if self._resume is not None:
            self.model.load_state_dict(self._resume.weights)
            load_optimizer(self._restart.optimizer, self._resume.optimizer)
            _replay(self._restart.stopping, self.history, self._before)
            self._resume = None

    def update(self, loss: float, row: dict[str, Any]) -> bool:
        """Write down one epoch, and say whether it is the best so far over all restarts.

        Args:
            loss: The last loss that was trained on.
            row: The epoch's row for the history.

        Raises:
            DivergedError: A loss is no number.
        """
        stopping = self.restart.stopping
        _check_finite(self.epoch, loss, row["val_loss"], self.settings)
        # A metric may have no meaning at some epochs.
        row.setdefault(stopping.column, math.nan)
        stopping.update(self.epoch, row["val_loss"], row[stopping.column])
        number = {"start": self._number} if len(self.initial_values) > 1 else {}
        self.history.append(**row, **number)
        score = row[self.chosen.column]
        return self.chosen.update(len(self.history) - 1, row["val_loss"], score)

    def snapshot(self, weights: Weights, optimizer: Weights) -> Snapshot:
        """The present state, with the present weights and the optimiser's tensors."""
        return Snapshot(weights, self.best, optimizer, deepcopy(self.history), self.seconds)

    def restart_results(self) -> tuple[RestartResult, ...]:
        """What each restart came to; empty where there was one alone."""
        if not self.history.start:
            return ()
        results: list[RestartResult] = []
        stop_on = self.chosen.stop_on
        chosen = EarlyStopping(1, stop_on)
        for number, value in enumerate(self.initial_values):
            part, stopping = self.history.of_restart(number), EarlyStopping(1, stop_on)
            scores = part.column(stopping.column)
            for epoch, (loss, score) in enumerate(zip(part.val_loss, scores, strict=True)):
                stopping.update(epoch, loss, score)
            best = stopping.best_epoch
            chosen.update(number, part.val_loss[best], scores[best])
            loss, accuracy = part.val_loss[best], part.val_accuracy[best]
            name = "" if value is None else value.text
            results.append(RestartResult(name, len(part), loss, accuracy, is_chosen=False))
        results[chosen.best_epoch] = replace(results[chosen.best_epoch], is_chosen=True)
        return tuple(results)


class Stopwatch:
    """Tells the time since it was last asked."""

    def __init__(self) -> None:
        self._last = time.perf_counter()

    def lap(self) -> float:
        """Seconds since the lap before."""
        before, self._last = self._last, time.perf_counter()
        return self._last - before


def initial_values(model: nn.Module, settings: TrainSettings) -> Sequence[InitialValue | None]:
    """The initial values to train from; one None where the model stays as it is."""
    if not (settings.several_starts and isinstance(model, AdaptiveNetwork)):
        return (None,)
    return model.kernel_starts(same=settings.same_starts) or (None,)


def begin_restart(
    model: nn.Module, graph: Graph, value: InitialValue | None, settings: TrainSettings
) -> Restart:
    """Put the model's kernels to an initial value, and begin a training."""
    if value is not None and isinstance(model, AdaptiveNetwork):
        model.restart(value, graph)
    optimizer = make_optimizer(model, settings)
    never = settings.epochs
    wakes_at = settings.phi_warm_up if value is None or value.learns else never
    stopping = EarlyStopping(settings.patience, settings.stop_on)
    return Restart(optimizer, stopping, settings.epochs, wakes_at)


def copied(weights: Weights) -> Weights:
    """The same tensors, that nobody else changes."""
    return {name: tensor.detach().clone() for name, tensor in weights.items()}


def _replay(stopping: EarlyStopping, history: History, before: int = 0) -> None:
    """Show the epochs of an earlier call, from number `before` on, to `stopping` again."""
    scores = history.column(stopping.column)
    if len(scores) != len(history):
        raise CheckpointError(f"The history to resume has no {stopping.column} to stop on.")
    for epoch in range(before, len(history)):
        stopping.update(epoch - before, history.val_loss[epoch], scores[epoch])


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
