"""The training loop."""

import math
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.errors import CheckpointError, DivergedError, SettingsError
from akgnn.layers.ak_conv import AKConv
from akgnn.ops.dropout import Noise
from akgnn.training.early_stopping import EarlyStopping
from akgnn.training.history import History
from akgnn.training.metrics import accuracy, logits_roc_auc, macro_f1
from akgnn.training.settings import TrainSettings
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
        history: Every epoch.
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
    check_stopping(settings, data)
    optimizer = make_optimizer(model, settings)
    stopping = EarlyStopping(settings.patience, settings.stop_on)
    history = History()
    best = _copied(model.state_dict())
    started = time.perf_counter()

    if resume is not None:
        history, best = deepcopy(resume.history), resume.best_weights
        model.load_state_dict(resume.weights)
        _load_optimizer(optimizer, resume.optimizer)
        started -= resume.seconds
        _replay(stopping, history)

    def snapshot() -> Snapshot:
        state = _optimizer_tensors(optimizer)
        seconds = time.perf_counter() - started
        return Snapshot(_copied(model.state_dict()), best, state, deepcopy(history), seconds)

    while len(history) < settings.epochs and not stopping.is_over(len(history) - 1):
        epoch = len(history)
        loss = _train_epoch(model, data, optimizer, strategy, Noise(seed, epoch))
        row = _measure(model, data)
        _check_finite(epoch, loss, row["val_loss"], settings)
        history.append(**row)
        if stopping.improves(epoch, row["val_loss"], row[stopping.column]):
            best = _copied(model.state_dict())
        if after_epoch is not None:
            after_epoch(history, snapshot)

    model.load_state_dict(best)
    return _result(model, data, history, stopping.best_epoch, time.perf_counter() - started)


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


def _replay(stopping: EarlyStopping, history: History) -> None:
    """Show the epochs of an earlier call to `stopping` again."""
    scores = getattr(history, stopping.column)
    if len(scores) != len(history):
        raise CheckpointError(f"The history to go on with has no {stopping.column} to stop on.")
    for epoch, (loss, score) in enumerate(zip(history.val_loss, scores, strict=True)):
        stopping.improves(epoch, loss, score)


def make_optimizer(model: nn.Module, settings: TrainSettings) -> torch.optim.Adam:
    """Adam, with rate and decay of each kind of parameter.

    The last part of a parameter's name says its kind: `bias`, the kernels' scalars `phi`, and
    `gamma`, weights that mix propagations, which are never penalised; all others are matrices.
    """
    rate, decay = settings.learning_rate, settings.weight_decay
    phi_rate, phi_decay = settings.phi_learning_rate, settings.phi_weight_decay
    phi_decay = decay if phi_decay is None else phi_decay
    decays_to_start = settings.phi_decays_to == "start"
    groups: dict[str, dict[str, Any]] = {
        "weight": {"params": []},
        "bias": {"params": [], "weight_decay": decay if settings.decay_biases else 0.0},
        "phi": {
            "params": [],
            "lr": rate if phi_rate is None else phi_rate,
            "weight_decay": 0.0 if decays_to_start else phi_decay,
        },
        "gamma": {"params": [], "weight_decay": 0.0},
    }
    if settings.decay_first_layer_only:
        groups["later"] = {"params": [], "weight_decay": 0.0}
        first = {id(parameter) for parameter in _first_layer(model).parameters()}
    for name, parameter in model.named_parameters():
        kind = name.rpartition(".")[2]
        if settings.decay_first_layer_only and id(parameter) not in first:
            kind = "later"
        if parameter.requires_grad:
            groups[kind if kind in groups else "weight"]["params"].append(parameter)
    used = [group for group in groups.values() if group["params"]]
    optimizer = torch.optim.Adam(used, lr=rate, weight_decay=decay)
    if decays_to_start:
        _decay_to_start(optimizer, model, phi_decay)
    return optimizer


def _decay_to_start(optimizer: torch.optim.Optimizer, model: nn.Module, decay: float) -> None:
    """Before every step add decay · (φ - φ_start) to the gradient of each φ that learns."""
    convs = [module for module in model.modules() if isinstance(module, AKConv)]
    known = {id(conv.phi) for conv in convs}
    for name, parameter in model.named_parameters():
        if name.rpartition(".")[2] == "phi" and id(parameter) not in known:
            kind = type(model).__name__
            raise SettingsError(f"phi_decays_to='start': {kind} does not say where its φ start.")

    def add_penalty(*_: object) -> None:
        for conv in convs:
            if conv.phi.grad is not None:
                conv.phi.grad.add_(conv.phi.detach() - conv.phi_start, alpha=decay)

    optimizer.register_step_pre_hook(add_penalty)


def _first_layer(model: nn.Module) -> nn.Module:
    layer = getattr(model, "first_layer", None)
    if not isinstance(layer, nn.Module):
        name = type(model).__name__
        raise SettingsError(
            f"decay_first_layer_only: {name} does not say which layer is its first."
        )
    return layer


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
    model: nn.Module, data: NodeData, history: History, best_epoch: int, seconds: float
) -> FitResult:
    """Read the test nodes with the best weights."""
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
        history=history,
    )


def _lambda_max(model: nn.Module) -> list[float]:
    values = getattr(model, "lambda_max", None)
    return values.tolist() if isinstance(values, Tensor) else []


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


def _optimizer_tensors(optimizer: torch.optim.Optimizer) -> Weights:
    """The state of the optimiser by `number.name`, such as `0.exp_avg`."""
    state = optimizer.state_dict()["state"]
    return {
        f"{number}.{name}": tensor.detach().clone()
        for number, entries in state.items()
        for name, tensor in entries.items()
    }


def _load_optimizer(optimizer: torch.optim.Optimizer, tensors: Weights) -> None:
    state: dict[int, Weights] = {}
    for key, tensor in tensors.items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = tensor.clone()
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
