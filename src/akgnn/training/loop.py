"""The training loop."""

import math
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.errors import CheckpointError, DivergedError, SettingsError
from akgnn.layers.kernels import Start
from akgnn.models.akgnn import AKGNN
from akgnn.ops.dropout import Noise
from akgnn.training.early_stopping import EarlyStopping
from akgnn.training.history import History
from akgnn.training.metrics import accuracy, logits_roc_auc, macro_f1
from akgnn.training.optimizer import load_optimizer, optimizer_tensors
from akgnn.training.settings import TrainSettings
from akgnn.training.starts import TriedStart, begin_trial, starts_of, tried_starts
from akgnn.training.strategies.supervised import Strategy, Supervised

Weights = dict[str, Tensor]


@dataclass(frozen=True)
class FitResult:
    """What training came to; accuracies, F1 and ROC-AUC in per cent.

    Attributes:
        test_accuracy: On the test nodes, read once, at the best epoch; NaN without test nodes.
        test_macro_f1: The same for F1 averaged over classes.
        test_roc_auc: The same for the area under the ROC curve; NaN unless there are two classes.
        val_accuracy: On the validation nodes at the best epoch.
        val_loss: On the validation nodes at the best epoch.
        val_roc_auc: On the validation nodes at the best epoch; NaN unless there are two classes.
        train_accuracy: On the training nodes at the best epoch.
        best_epoch: The epoch that validation chose, counted from 1.
        epochs: How many epochs were trained.
        seconds: Time of the training.
        lambda_max: λ of every layer at the best epoch; empty for models without.
        neighbour_share: What every layer takes from neighbours at the best epoch, from -1 to 1;
            empty for models without adaptive kernels.
        starts: The starts that were tried, where there were several.
        history: Every epoch; of several starts those of the best.
    """

    test_accuracy: float
    test_macro_f1: float
    test_roc_auc: float
    val_accuracy: float
    val_loss: float
    val_roc_auc: float
    train_accuracy: float
    best_epoch: int
    epochs: int
    seconds: float
    lambda_max: tuple[float, ...]
    neighbour_share: tuple[float, ...]
    starts: tuple[TriedStart, ...]
    history: History


@dataclass(frozen=True)
class Snapshot:
    """Everything needed to go on after some epoch as if nothing had happened."""

    weights: Weights
    best_weights: Weights
    optimizer: Weights
    history: History
    seconds: float


def fit(
    model: nn.Module,
    data: NodeData,
    settings: TrainSettings | None = None,
    *,
    seed: int = 0,
    strategy: Strategy | None = None,
    resume: Snapshot | None = None,
    after_epoch: Callable[[History, Callable[[], Snapshot]], None] | None = None,
) -> FitResult:
    """Train `model` until validation stops improving, and leave the best weights in it.

    Args:
        model: Called as `model(x, graph, noise)`; its initial weights are the caller's business.
        data: On the device of the model.
        settings: The paper's if not given.
        seed: Of the dropout masks.
        strategy: How the losses come about; plain cross-entropy if not given.
        resume: Where an earlier call left off.
        after_epoch: Called after each epoch with the history and a function that takes a
            snapshot. It may end the training by raising an error.
    """
    settings, strategy = settings or TrainSettings(), strategy or Supervised()
    starts = starts_of(model, settings)
    check_stopping(settings, data)
    initial = _copied(model.state_dict())
    progress = _Progress(initial, settings, resume)
    history = progress.history
    for number in range(history.start[-1] if history.start else 0, len(starts)):
        model.load_state_dict(initial)
        trial = begin_trial(model, data.graph, starts[number], settings)
        # The epochs of earlier starts, which this one knows nothing of.
        before = sum(start < number for start in history.start)
        if resume is not None:
            model.load_state_dict(resume.weights)
            load_optimizer(trial.optimizer, resume.optimizer)
            _replay(trial.stopping, history, before)
            resume = None
        while not trial.is_over(epoch := len(history) - before):
            trial.prepare(epoch)
            loss = _train_epoch(model, data, trial.optimizer, strategy, Noise(seed, epoch))
            row = _measure(model, data)
            _check_finite(epoch, loss, row["val_loss"], settings)
            trial.stopping.improves(epoch, row["val_loss"], row[trial.stopping.column])
            progress.add(row | ({"start": number} if len(starts) > 1 else {}), model)
            if after_epoch is not None:
                after_epoch(history, partial(progress.snapshot, model, trial.optimizer))

    model.load_state_dict(progress.best)
    return _result(model, data, starts, progress)


class _Progress:
    """What training has come to so far, over all starts."""

    def __init__(self, weights: Weights, settings: TrainSettings, resume: Snapshot | None) -> None:
        self.chosen = EarlyStopping(settings.patience, settings.stop_on)
        self.history, self.best, seconds = History(), weights, 0.0
        if resume is not None:
            self.history, self.best = deepcopy(resume.history), resume.best_weights
            seconds = resume.seconds
            _replay(self.chosen, self.history)
        self._started = time.perf_counter() - seconds

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._started

    def add(self, row: dict[str, Any], model: nn.Module) -> None:
        """Take in one epoch, and keep the weights if it is the best."""
        self.history.append(**row)
        epoch = len(self.history) - 1
        if self.chosen.improves(epoch, row["val_loss"], row[self.chosen.column]):
            self.best = _copied(model.state_dict())

    def snapshot(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> Snapshot:
        state, history = optimizer_tensors(optimizer), deepcopy(self.history)
        return Snapshot(_copied(model.state_dict()), self.best, state, history, self.seconds)


def check_stopping(settings: TrainSettings, data: NodeData) -> None:
    """Refuse to stop on a ROC-AUC that the validation nodes do not have."""
    if settings.stop_on != "roc_auc":
        return
    if data.num_classes != 2:
        raise SettingsError(
            f"stop_on='roc_auc' needs two classes, but the data have {data.num_classes}; "
            "stop on loss or accuracy."
        )
    if data.y[data.split.val].unique().numel() < 2:
        raise SettingsError("stop_on='roc_auc' needs validation nodes of both classes.")


def _replay(stopping: EarlyStopping, history: History, before: int = 0) -> None:
    """Show the epochs of an earlier call, from number `before` on, to `stopping` again."""
    scores = getattr(history, stopping.column)
    if len(scores) != len(history):
        raise CheckpointError(f"The history to go on with has no {stopping.column} to stop on.")
    for epoch in range(before, len(history)):
        stopping.improves(epoch - before, history.val_loss[epoch], scores[epoch])


def _train_epoch(
    model: nn.Module,
    data: NodeData,
    optimizer: torch.optim.Optimizer,
    strategy: Strategy,
    noise: Noise,
) -> float:
    """One step down each of the strategy's losses; gives the last."""
    model.train()
    value = math.nan
    for loss in strategy.losses(model, data, noise):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        value = loss.item()
    return value


@torch.no_grad()
def _measure(model: nn.Module, data: NodeData) -> dict[str, Any]:
    """Losses and accuracies on training and validation nodes; test nodes are not looked at."""
    model.eval()
    logits = model(data.x, data.graph)
    row: dict[str, Any] = {"lambda_max": _lambda_max(model)}
    if isinstance(model, AKGNN):
        row["neighbour_share"] = model.neighbour_share(data.graph).view(-1).tolist()
    for part, nodes in (("train", data.split.train), ("val", data.split.val)):
        scores, y = logits[nodes], data.y[nodes]
        row[f"{part}_loss"] = float(F.cross_entropy(scores, y))
        row[f"{part}_accuracy"] = accuracy(scores.argmax(1), y)
    val_roc_auc = logits_roc_auc(scores, y)
    if not math.isnan(val_roc_auc):
        row["val_roc_auc"] = val_roc_auc
    return row


@torch.no_grad()
def _result(
    model: nn.Module, data: NodeData, starts: Sequence[Start | None], progress: _Progress
) -> FitResult:
    """Read the test nodes with the best weights; of several starts the best one's epochs stay."""
    seconds, history, best_epoch = progress.seconds, progress.history, progress.chosen.best_epoch
    tried: tuple[TriedStart, ...] = ()
    if history.start:
        tried = tried_starts(history, starts, progress.chosen.stop_on)
        number = history.start[best_epoch]
        best_epoch -= history.start.index(number)
        history = history.of_start(number)
    share = history.neighbour_share
    model.eval()
    logits = model(data.x, data.graph)
    test, val = data.split.test, data.split.val
    predicted, y = logits[test].argmax(1), data.y[test]
    return FitResult(
        test_accuracy=accuracy(predicted, y),
        test_macro_f1=macro_f1(predicted, y, data.num_classes),
        test_roc_auc=logits_roc_auc(logits[test], y),
        val_accuracy=history.val_accuracy[best_epoch],
        val_loss=history.val_loss[best_epoch],
        val_roc_auc=logits_roc_auc(logits[val], data.y[val]),
        train_accuracy=history.train_accuracy[best_epoch],
        best_epoch=best_epoch + 1,
        epochs=len(history),
        seconds=seconds,
        lambda_max=tuple(history.lambda_max[best_epoch]),
        neighbour_share=tuple(share[best_epoch]) if share else (),
        starts=tried,
        history=history,
    )


def _lambda_max(model: nn.Module) -> list[float]:
    values = getattr(model, "lambda_max", None)
    return values.view(-1).tolist() if isinstance(values, Tensor) else []


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


def _copied(weights: Weights) -> Weights:
    return {name: tensor.detach().clone() for name, tensor in weights.items()}
