"""Several starts of a kernel: train from each in turn, and let validation keep one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn

from akgnn.graph import Graph
from akgnn.layers.kernels import Start
from akgnn.models.akgnn import AKGNN
from akgnn.training.early_stopping import EarlyStopping, StopOn
from akgnn.training.history import History
from akgnn.training.optimizer import let_phi_learn, make_optimizer
from akgnn.training.settings import TrainSettings


@dataclass(frozen=True)
class TriedStart:
    """What training from one start came to.

    Attributes:
        start: As people read it, such as `GCN, fixed`.
        epochs: How many were trained.
        val_loss: At its best epoch.
        val_accuracy: The same, in per cent.
        is_chosen: Whether validation kept it.
    """

    start: str
    epochs: int
    val_loss: float
    val_accuracy: float
    is_chosen: bool


@dataclass(frozen=True)
class Trial:
    """The training from one start; φ learns from epoch `wakes_at` on."""

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


def starts_of(model: nn.Module, settings: TrainSettings) -> tuple[Start | None, ...]:
    """The starts to train from; one None where the model stays as it is."""
    if not (settings.several_starts and isinstance(model, AKGNN)):
        return (None,)
    return model.kernel_starts or (None,)


def begin_trial(
    model: nn.Module, graph: Graph, start: Start | None, settings: TrainSettings
) -> Trial:
    """Put the model's kernels to a start, and begin a training."""
    if start is not None and isinstance(model, AKGNN):
        model.restart(start, graph)
    optimizer = make_optimizer(model, settings)
    never = settings.epochs
    wakes_at = settings.phi_warm_up if start is None or start.learns else never
    stopping = EarlyStopping(settings.patience, settings.stop_on)
    return Trial(optimizer, stopping, settings.epochs, wakes_at)


def tried_starts(
    history: History, starts: Sequence[Start | None], stop_on: StopOn
) -> tuple[TriedStart, ...]:
    """What each start came to, from the epochs of all."""
    tried: list[TriedStart] = []
    chosen = EarlyStopping(1, stop_on)
    for number, start in enumerate(starts):
        part, stopping = history.of_start(number), EarlyStopping(1, stop_on)
        scores = getattr(part, stopping.column)
        for epoch, (loss, score) in enumerate(zip(part.val_loss, scores, strict=True)):
            stopping.improves(epoch, loss, score)
        best = stopping.best_epoch
        chosen.improves(number, part.val_loss[best], scores[best])
        name = "" if start is None else start.text
        tried.append(
            TriedStart(name, len(part), part.val_loss[best], part.val_accuracy[best], False)
        )
    tried[chosen.best_epoch] = replace(tried[chosen.best_epoch], is_chosen=True)
    return tuple(tried)
