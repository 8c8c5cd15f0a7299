"""`fit`: one model from data to a result, and the loop that every training goes through."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.data.label_inputs import hide_labels
from akgnn.data.node_data import NodeData
from akgnn.errors import DataError, DivergedError, SettingsError
from akgnn.graph import Graph
from akgnn.machine.device import show_a_large_block
from akgnn.models.adaptive_network import AdaptiveNetwork
from akgnn.ops.divided import node_sum
from akgnn.ops.dropout import Noise
from akgnn.ops.rows import at_nodes, current_division, everywhere
from akgnn.training.arguments import check_arguments, outputs_checked
from akgnn.training.calibration import UNCALIBRATED, Calibration, calibration_of
from akgnn.training.callbacks import Callback, Epoch, notify
from akgnn.training.metrics import (
    METRICS,
    accuracy,
    cross_entropies,
    cross_entropy,
    metrics_by_epoch,
)
from akgnn.training.optimizer import optimizer_tensors
from akgnn.training.result import FitResult
from akgnn.training.settings import TrainSettings
from akgnn.training.state import Snapshot, Stopwatch, TrainingState, copied
from akgnn.training.strategies.supervised import (
    Strategy,
    Supervised,
    scores_at,
    takes_labels,
    with_class_weight,
)

# Nodes that a message lists.
_MOST_LISTED = 5


def fit(
    model: nn.Module,
    data: NodeData,
    settings: TrainSettings | None = None,
    *,
    seed: int = 0,
    strategy: Strategy | None = None,
    resume: Snapshot | None = None,
    callbacks: Sequence[Callback] = (),
) -> FitResult:
    """Train `model` until validation stops improving, and leave the best weights in it.

    Args:
        model: Called as `model(x, graph, noise)`; its initial weights are the caller's business.
        data: On the device of the model.
        settings: The paper's if not given.
        seed: Seed of the dropout masks.
        strategy: How the losses come about; plain cross-entropy if not given.
        resume: Where an earlier call left off.
        callbacks: Told of every epoch; they may end the training.

    Raises:
        SettingsError: An argument is not of its kind.
        DataError: The data are not, or the model does not fit them.
        DivergedError: A loss stopped being a number.
        InterruptedRunError: A callback wanted to stop.
    """
    settings = TrainSettings() if settings is None else settings
    strategy = Supervised() if strategy is None else strategy
    check_arguments(
        [model],
        data,
        settings,
        seeds=[seed],
        strategy=strategy,
        resume=[resume],
        callbacks=callbacks,
    )
    check_stopping(settings, data)
    check_labels(strategy, data)
    state = TrainingState(model, data.graph, settings, resume)
    trainer = SingleTrainer(state, data, strategy, seed)
    try:
        with outputs_checked(model, data):
            train(trainer, callbacks)
            result = trainer.result()
    except DivergedError as error:
        _end(callbacks, 0, error)
        raise
    _end(callbacks, 0, result)
    return result


def _end(callbacks: Sequence[Callback], index: int, outcome: FitResult | DivergedError) -> None:
    for callback in callbacks:
        callback.after_run(index, outcome)


class Trainer(Protocol):
    """One model, or several at once, that train epoch by epoch."""

    def advance(self) -> bool:
        """Get ready for the next epoch; false where there is none."""
        ...

    def train_epoch(self) -> list[Epoch]:
        """Train one epoch, and say what trained it."""
        ...


def train(trainer: Trainer, callbacks: Sequence[Callback]) -> None:
    """The training loop."""
    show_a_large_block()
    while trainer.advance():
        notify(callbacks, trainer.train_epoch())


class SingleTrainer:
    """Trains one model.

    Args:
        state: Its model, settings and epochs so far.
        data: On the device of the model.
        strategy: How the losses come about.
        seed: Seed of the dropout masks.
        index: Which of several models it is, for callbacks.
    """

    def __init__(
        self, state: TrainingState, data: NodeData, strategy: Strategy, seed: int, index: int = 0
    ) -> None:
        self.state, self.strategy, self.seed, self.index = state, strategy, seed, index
        self.data = with_class_weight(data, state.settings.class_weight)
        self.metrics = metrics_by_epoch(data.num_classes, state.settings.stop_on)
        self.watch = Stopwatch()

    def advance(self) -> bool:
        """Get ready for the next epoch; false where there is none."""
        return self.state.next_epoch()

    def train_epoch(self) -> list[Epoch]:
        """Train one epoch."""
        state = self.state
        noise = Noise(self.seed, state.epoch)
        loss = take_steps(state.model, self.data, state.restart.optimizer, self.strategy, noise)
        if state.update(float(loss), _measure(state.model, self.data, self.metrics)):
            state.best = copied(state.model.state_dict())
        state.seconds += self.watch.lap()
        return [Epoch(self.index, state.history, self._snapshot)]

    def _snapshot(self) -> Snapshot:
        state = self.state
        weights = copied(state.model.state_dict())
        return state.snapshot(weights, optimizer_tensors(state.restart.optimizer))

    def result(self) -> FitResult:
        """What the training came to."""
        self.state.seconds += self.watch.lap()
        return result_of(self.state, self.data)


def check_labels(strategy: Strategy, data: NodeData) -> None:
    """Refuse data whose features give the labels away, or lack those that a strategy hides.

    Raises:
        DataError: The strategy and the data do not go together.
    """
    if takes_labels(strategy) == data.has_label_inputs:
        return
    name = type(strategy).__name__
    if data.has_label_inputs:
        raise DataError(
            f"The features hold the labels of the training nodes, which {name} does not hide; "
            "take data.with_label_inputs(False)."
        )
    raise DataError(
        f"{name} wants the labels of the training nodes among the features; take "
        "data.with_label_inputs(), and a model of so many features."
    )


def check_stopping(settings: TrainSettings, data: NodeData) -> None:
    """Refuse to stop on a score that the validation nodes do not have.

    Raises:
        SettingsError: They do not have it.
    """
    metric = METRICS.get(settings.stop_on)
    if metric is None:
        return
    stop_on = f"stop_on={settings.stop_on!r}"
    if metric.by_epoch == "two classes" and data.num_classes != 2:
        raise SettingsError(
            f"{stop_on} needs two classes, but the data have {data.num_classes}; "
            "stop on loss or accuracy."
        )
    y = everywhere(data.y[data.split.val], data.split.val)
    if metric.by_epoch == "two classes" and y.unique().numel() < 2:
        raise SettingsError(f"{stop_on} needs validation nodes of both classes.")


class Steps(Protocol):
    """What is asked of an optimiser."""

    def zero_grad(self) -> None: ...  # noqa: D102
    def step(self) -> object: ...  # noqa: D102


@torch.no_grad()
def predict_logits(model: nn.Module, data: NodeData) -> Tensor:
    """Class scores of every node, none of which has seen its own label.

    Args:
        model: In evaluation mode, on the device of the data.
        data: With label inputs if the model was trained with them.

    Raises:
        DataError: Some scores are not finite.
    """
    hidden = data.split.train if data.has_label_inputs else data.split.train[:0]
    place = torch.arange(len(hidden), device=hidden.device)
    logits = logits_hiding(model, data.x, data.graph, hidden, place, data.num_classes)
    check_scores(logits, data.ids)
    return logits


@torch.no_grad()
def logits_hiding(
    model: nn.Module, x: Tensor | CSR, graph: Graph, nodes: Tensor, place: Tensor, num_classes: int
) -> Tensor:
    """Class scores of every node; of `nodes` as if the features did not hold their labels.

    Args:
        model: In evaluation mode, on the device of the data.
        x: Features with the labels of `nodes` behind them.
        graph: The graph.
        nodes: Training nodes.
        place: Their numbers among all training nodes. One half of these shows its labels while the
            other is predicted, so neither the order of the rows nor absent nodes change a score.
        num_classes: Number of classes.
    """
    logits: Tensor = model(x, graph)
    for half in (nodes[place % 2 == 0], nodes[place % 2 == 1]):
        if half.numel():
            logits[half] = model(hide_labels(x, half, num_classes), graph)[half]
    return logits


def check_scores(logits: Tensor, ids: Any = None) -> None:
    """Refuse class scores that are not finite, which would pass for an answer.

    Raises:
        DataError: Some are not; the message names the first nodes, by id or number.
    """
    wrong = (~logits.isfinite().all(1)).nonzero()[:, 0].tolist()
    if not wrong:
        return
    shown = [str(node if ids is None else ids[node])[:60] for node in wrong[:_MOST_LISTED]]
    more = ", …" if len(wrong) > len(shown) else ""
    raise DataError(
        f"The model has no finite class scores for {len(wrong):,} of {len(logits):,} nodes, first "
        f"{', '.join(shown)}{more}. Edge weights or features may be too large; rescale them."
    )


def take_steps(
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
def _measure(model: nn.Module, data: NodeData, metrics: Sequence[str]) -> dict[str, Any]:
    """A row of the history, from training and validation nodes; test nodes are not looked at."""
    model.eval()
    row: dict[str, Any] = {"lambda_max": _lambda_max(model)}
    if isinstance(model, AdaptiveNetwork):
        row["neighbour_share"] = model.neighbour_share(data.graph).view(-1).tolist()
    for part, nodes, scores in _labelled_scores(model, data):
        y = data.y[nodes]
        row[f"{part}_loss"], row[f"{part}_accuracy"] = _loss_and_accuracy(scores, y, nodes)
    if set(metrics) <= {"accuracy"}:
        return row
    return row | other_scores(metrics, everywhere(scores, nodes), everywhere(y, nodes))


def _loss_and_accuracy(scores: Tensor, y: Tensor, nodes: Tensor) -> tuple[float, float]:
    """Both of these nodes, with those that other processes have; sums travel, not scores."""
    if current_division() is None:
        return float(cross_entropy(scores, y)), accuracy(scores.argmax(1), y)
    with at_nodes(nodes):
        each = cross_entropies(scores, y), scores.argmax(1) == y, torch.ones_like(y)
        loss, hits, number = node_sum(torch.stack([values.double() for values in each])).tolist()
    return (loss / number, 100 * hits / number) if number else (math.nan, math.nan)


def _labelled_scores(model: nn.Module, data: NodeData) -> Iterator[tuple[str, Tensor, Tensor]]:
    """Nodes that train and validate, with their class scores, none of which saw its own label."""
    train, val = data.split.train, data.split.val
    if data.has_label_inputs:
        # Half of them tell enough.
        train = train[::2]
        yield "train", train, scores_at(model, data.x_hiding(train), data.graph, train)
        yield "val", val, scores_at(model, data.x, data.graph, val)
        return
    seen = data.split.seen
    scores = scores_at(model, data.x, data.graph, seen.nodes)
    yield "train", train, scores[seen.train]
    yield "val", val, scores[seen.val]


def other_scores(metrics: Sequence[str], logits: Tensor, y: Tensor) -> dict[str, float]:
    """Columns of the history for metrics beside accuracy, of validation nodes; NaN is left out."""
    scores = {
        f"val_{name}": METRICS[name].function(logits, y) for name in metrics if name != "accuracy"
    }
    return {name: value for name, value in scores.items() if not math.isnan(value)}


@torch.no_grad()
def result_of(state: TrainingState, data: NodeData) -> FitResult:
    """Put the best weights into the model, and read the test nodes with them.

    Of several restarts the best one's epochs stay.
    """
    model, history, best_epoch = state.model, state.history, state.chosen.best_epoch
    model.load_state_dict(state.best)
    restarts = state.restart_results()
    if restarts:
        number = history.start[best_epoch]
        best_epoch -= history.start.index(number)
        history = history.of_restart(number)
    share = history.neighbour_share
    model.eval()
    # In one pass: test and validation nodes are different ones.
    nodes, order = torch.cat([data.split.test, data.split.val]).sort()
    logits = torch.empty_like(shown := scores_at(model, data.x, data.graph, nodes))
    test, val = logits.index_copy_(0, order, shown).tensor_split([len(data.split.test)])
    scores, calibration = scores_of({"test": test, "val": val}, data)
    # As training saw them, to the last digit.
    measured = ("val_accuracy", "val_loss", "train_accuracy")
    scores |= {name: history.column(name)[best_epoch] for name in measured}
    return FitResult(
        scores=scores,
        best_epoch=best_epoch + 1,
        epochs=len(history),
        seconds=state.seconds,
        lambda_max=tuple(history.lambda_max[best_epoch]),
        neighbour_share=tuple(share[best_epoch]) if share else (),
        restarts=restarts,
        history=history,
        calibration=calibration,
        num_test=everywhere(data.split.test, data.split.test).numel(),
    )


def scores_of(
    logits: Mapping[str, Tensor], data: NodeData, *, doubtful: float = 0.0
) -> tuple[dict[str, float], Calibration]:
    """Every metric of the test and validation nodes, and what calibrates them.

    Args:
        logits: Class scores of the nodes of each, under `test` and `val`.
        data: Their labels.
        doubtful: As `calibration_of` takes it.
    """
    split = {part: getattr(data.split, part) for part in ("test", "val")}
    shown = {part: everywhere(logits[part], nodes) for part, nodes in split.items()}
    y = {part: everywhere(data.y[nodes], nodes) for part, nodes in split.items()}
    # Where validation nodes are nodes of training too, they cannot tell.
    is_trained = everywhere(torch.isin(split["val"], data.split.train), split["val"])
    is_held_out = not bool(is_trained.any())
    calibration = UNCALIBRATED
    if is_held_out:
        calibration = calibration_of(shown["val"], y["val"], doubtful=doubtful)
    scores = {
        f"{part}_{name}": metric.function(
            calibration.scaled(shown[part]) if metric.of_probabilities else shown[part], y[part]
        )
        for part in split
        for name, metric in METRICS.items()
    }
    return scores, calibration


def _lambda_max(model: nn.Module) -> list[float]:
    values = getattr(model, "lambda_max", None)
    return values.view(-1).tolist() if isinstance(values, Tensor) else []
