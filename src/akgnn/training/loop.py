"""The training loop."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.errors import SettingsError
from akgnn.models.akgnn import AKGNN
from akgnn.ops.dropout import Noise
from akgnn.training.class_weight import with_class_weight
from akgnn.training.history import History
from akgnn.training.metrics import (
    accuracy,
    balanced_accuracy,
    calibration_error,
    cross_entropy,
    logits_roc_auc,
    macro_f1,
)
from akgnn.training.optimizer import optimizer_tensors
from akgnn.training.progress import Progress, Snapshot, Stopwatch, copied
from akgnn.training.settings import TrainSettings
from akgnn.training.starts import TriedStart, tried_starts
from akgnn.training.strategies.supervised import Strategy, Supervised


@dataclass(frozen=True)
class FitResult:
    """What training came to; all scores but the losses in per cent.

    Attributes:
        test_accuracy: On the test nodes, read once, at the best epoch; NaN without test nodes.
        test_balanced_accuracy: The same for accuracy averaged over classes.
        test_macro_f1: The same for F1 averaged over classes.
        test_roc_auc: The same for the area under the ROC curve; of more than two classes the mean
            over each against all others.
        test_log_loss: The same for the cross-entropy.
        test_calibration_error: The same for the distance between probabilities and accuracy.
        val_accuracy: On the validation nodes at the best epoch.
        val_loss: On the validation nodes at the best epoch.
        val_roc_auc: On the validation nodes at the best epoch.
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
    test_balanced_accuracy: float
    test_macro_f1: float
    test_roc_auc: float
    test_log_loss: float
    test_calibration_error: float
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
    check_stopping(settings, data)
    data = with_class_weight(data, settings.class_weight)
    run, watch = Progress(model, data.graph, settings, resume), Stopwatch()
    while run.goes_on():
        optimizer = run.trial.optimizer
        loss = train_epoch(model, data, optimizer, strategy, Noise(seed, run.epoch))
        if run.take_in(float(loss), _measure(model, data)):
            run.best = copied(model.state_dict())
        run.seconds += watch.lap()
        if after_epoch is not None:
            after_epoch(run.history, partial(_snapshot, run))
    run.seconds += watch.lap()
    return result_of(run, data)


def _snapshot(run: Progress) -> Snapshot:
    return run.snapshot(copied(run.model.state_dict()), optimizer_tensors(run.trial.optimizer))


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


class Steps(Protocol):
    """What is asked of an optimiser."""

    def zero_grad(self) -> None: ...  # noqa: D102
    def step(self) -> object: ...  # noqa: D102


def train_epoch(
    model: nn.Module, data: NodeData, optimizer: Steps, strategy: Strategy, noise: Noise
) -> Tensor | float:
    """One step down each of the strategy's losses; gives the last, of replicas one each."""
    model.train()
    value: Tensor | float = math.nan
    for loss in strategy.losses(model, data, noise):
        optimizer.zero_grad()
        # The sum leaves each replica its own gradient.
        (loss.sum() if loss.dim() else loss).backward()
        optimizer.step()
        value = loss.detach()
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
        row[f"{part}_loss"] = float(cross_entropy(scores, y))
        row[f"{part}_accuracy"] = accuracy(scores.argmax(1), y)
    # Of more classes it is worth its time at the best epoch only.
    if data.num_classes == 2 and not math.isnan(area := logits_roc_auc(scores, y)):
        row["val_roc_auc"] = area
    return row


@torch.no_grad()
def result_of(run: Progress, data: NodeData) -> FitResult:
    """Put the best weights into the model, and read the test nodes with them.

    Of several starts the best one's epochs stay.
    """
    model, history, best_epoch = run.model, run.history, run.chosen.best_epoch
    model.load_state_dict(run.best)
    tried: tuple[TriedStart, ...] = ()
    if history.start:
        tried = tried_starts(history, run.starts, run.chosen.stop_on)
        number = history.start[best_epoch]
        best_epoch -= history.start.index(number)
        history = history.of_start(number)
    share = history.neighbour_share
    model.eval()
    logits = model(data.x, data.graph)
    test, val = data.split.test, data.split.val
    scores, y = logits[test], data.y[test]
    predicted = scores.argmax(1)
    return FitResult(
        test_accuracy=accuracy(predicted, y),
        test_balanced_accuracy=balanced_accuracy(predicted, y, data.num_classes),
        test_macro_f1=macro_f1(predicted, y, data.num_classes),
        test_roc_auc=logits_roc_auc(scores, y),
        test_log_loss=float(cross_entropy(scores, y)),
        test_calibration_error=calibration_error(scores, y),
        val_accuracy=history.val_accuracy[best_epoch],
        val_loss=history.val_loss[best_epoch],
        val_roc_auc=logits_roc_auc(logits[val], data.y[val]),
        train_accuracy=history.train_accuracy[best_epoch],
        best_epoch=best_epoch + 1,
        epochs=len(history),
        seconds=run.seconds,
        lambda_max=tuple(history.lambda_max[best_epoch]),
        neighbour_share=tuple(share[best_epoch]) if share else (),
        starts=tried,
        history=history,
    )


def _lambda_max(model: nn.Module) -> list[float]:
    values = getattr(model, "lambda_max", None)
    return values.view(-1).tolist() if isinstance(values, Tensor) else []
