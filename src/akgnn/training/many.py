"""Many seeds at once: runs that differ in their seed alone train side by side in one model."""

import math
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.errors import DivergedError, SettingsError
from akgnn.models.akgnn import AKGNN
from akgnn.models.replicas import can_stack, put_replica, select_replicas, stack, unstack
from akgnn.ops.dropout import Noise
from akgnn.training.history import History
from akgnn.training.loop import FitResult, check_stopping, fit, result_of, train_epoch
from akgnn.training.metrics import cross_entropy, logits_roc_auc
from akgnn.training.optimizer import phi_penalty
from akgnn.training.progress import Progress, Snapshot, Stopwatch
from akgnn.training.settings import TrainSettings
from akgnn.training.stacked_adam import StackedAdam
from akgnn.training.strategies.consistency import Consistency
from akgnn.training.strategies.supervised import Strategy, Supervised

Outcome = FitResult | DivergedError
AfterRun = Callable[[int, Outcome], None]

# Strategies whose losses know replicas.
_STRATEGIES = (Supervised, Consistency)
# Numbers that all runs side by side hold, and how many runs that may be. On a processor more
# numbers leave the cache, and more runs gain nothing; on a GPU they have to fit into its memory.
_NUMBERS_ON_CPU, _MOST_ON_CPU = 2**25, 32
_SHARE_OF_GPU = 0.5
# Signals of the largest size that exist for a moment beside those that are kept.
_PASSING_SIGNALS = 4


@dataclass(frozen=True)
class Trained:
    """A run after one more epoch.

    Attributes:
        number: Its place among the models.
        history: Of all its epochs.
        snapshot: Takes one of its state.
    """

    number: int
    history: History
    snapshot: Callable[[], Snapshot]


AfterEpoch = Callable[[Sequence[Trained]], None]


def fit_many(
    models: Sequence[nn.Module],
    data: NodeData,
    settings: TrainSettings | None = None,
    *,
    seeds: Sequence[int],
    strategy: Strategy | None = None,
    resume: Sequence[Snapshot | None] | None = None,
    after_epoch: AfterEpoch | None = None,
    after_run: AfterRun = lambda number, outcome: None,
    at_once: int | None = None,
) -> list[Outcome]:
    """Train models of one kind side by side, each until its own validation stops improving.

    Model i ends as `fit(models[i], …, seed=seeds[i])` would leave it, up to rounding: it has its
    own masks, early stopping, best weights and starts. A run that ends makes room for one that
    waits. Models or strategies that cannot be stacked are trained one after the other.

    Args:
        models: Alike but for their weights; the best weights are left in them.
        data: On the device of the models.
        settings: The paper's if not given.
        seeds: Of the dropout masks, one for each model.
        strategy: How the losses come about; plain cross-entropy if not given.
        resume: For each model where an earlier call left off, or None.
        after_epoch: Called after each epoch with the runs that trained it. It may end the training
            of all by raising an error.
        after_run: Called as soon as a run has ended, with its place in `models` and its outcome.
        at_once: The most runs side by side; as many as memory and cache allow if not given.

    Returns:
        For each model its result, or the error where its loss stopped being a number.
    """
    settings, strategy = settings or TrainSettings(), strategy or Supervised()
    resume = resume or [None] * len(models)
    if not len(models) == len(seeds) == len(resume):
        raise SettingsError(
            f"Every model needs a seed: got {len(models)} models, {len(seeds)} seeds and "
            f"{len(resume)} states to go on with."
        )
    check_stopping(settings, data)
    if at_once is None:
        at_once = most_at_once(models[0], data, strategy) if len(models) > 1 else 1
    if at_once == 1 or not trains_side_by_side(models[0], strategy):
        alone = []
        for number, (model, seed, state) in enumerate(zip(models, seeds, resume, strict=True)):
            show = None if after_epoch is None else partial(_show_alone, after_epoch, number)
            options = {"seed": seed, "strategy": strategy, "resume": state, "after_epoch": show}
            alone.append(_fit_alone(model, data, settings, **options))
            after_run(number, alone[-1])
        return alone
    runs = [
        _Run(number, seed, Progress(model, data.graph, settings, state))
        for number, (model, seed, state) in enumerate(zip(models, seeds, resume, strict=True))
    ]
    outcomes = _SideBySide(runs, data, settings, strategy, at_once, after_run).train(after_epoch)
    return [outcomes[number] for number in range(len(models))]


def trains_side_by_side(model: nn.Module, strategy: Strategy) -> bool:
    """Whether runs of this model and strategy can share one stacked model."""
    return can_stack(type(model)) and takes_replicas(strategy)


def takes_replicas(strategy: Strategy) -> bool:
    """Whether the strategy gives each replica of a stacked model its own loss."""
    return isinstance(strategy, _STRATEGIES)


def most_at_once(model: nn.Module, data: NodeData, strategy: Strategy) -> int:
    """How many runs go side by side on the device of the data; 1 where they cannot."""
    if not trains_side_by_side(model, strategy):
        return 1
    numbers = _numbers_in_flight(model, data, strategy)
    if data.y.device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(data.y.device)
        return max(1, int(free * _SHARE_OF_GPU) // (4 * numbers))
    return max(1, min(_MOST_ON_CPU, _NUMBERS_ON_CPU // numbers))


def _numbers_in_flight(model: nn.Module, data: NodeData, strategy: Strategy) -> int:
    """What one run holds.

    All that is kept for the backward pass, what passes by, and five times its weights: themselves,
    their gradients, Adam's two means and the best so far.
    """
    held: dict[int, int] = {}
    largest = 0
    shared = data.x.data_ptr() if isinstance(data.x, Tensor) else 0

    def count(tensor: Tensor) -> Tensor:
        held[tensor.data_ptr()] = tensor.numel()
        return tensor

    def look(module: nn.Module, inputs: object, output: object) -> None:
        nonlocal largest
        largest = max(largest, output.numel() if isinstance(output, Tensor) else 0)

    # A copy: a normalisation would remember the pass.
    trained = deepcopy(model).train()
    for module in trained.modules():
        module.register_forward_hook(look)
    with torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
        # Bound to a name, so that no memory is used twice before the count is over.
        loss = next(strategy.losses(trained, data, Noise(0)))
    held.pop(shared, None)
    del loss
    weights = sum(parameter.numel() for parameter in model.parameters())
    return sum(held.values()) + _PASSING_SIGNALS * largest + 5 * weights


def _show_alone(
    after_epoch: AfterEpoch, number: int, history: History, snapshot: Callable[[], Snapshot]
) -> None:
    after_epoch([Trained(number, history, snapshot)])


def _fit_alone(*arguments: Any, **options: Any) -> Outcome:
    try:
        return fit(*arguments, **options)
    except DivergedError as error:
        return error


class _Run:
    """A run with its place among the models and its seed."""

    def __init__(self, number: int, seed: int, progress: Progress) -> None:
        self.number, self.seed, self.progress = number, seed, progress


class _SideBySide:
    """Runs in the places of one stacked model, and those that wait for a place."""

    def __init__(
        self,
        runs: Sequence[_Run],
        data: NodeData,
        settings: TrainSettings,
        strategy: Strategy,
        places: int,
        after_run: AfterRun,
    ) -> None:
        self.data, self.settings, self.strategy = data, settings, strategy
        self.after_run = after_run
        self.outcomes: dict[int, Outcome] = {}
        self.waiting = list(reversed(runs))
        self.runs: list[_Run] = []
        while len(self.runs) < places and (run := self._next()):
            self.runs.append(run)
        if self.runs:
            self._build()

    def _next(self) -> _Run | None:
        """The next waiting run that has something left to train."""
        while self.waiting:
            run = self.waiting.pop()
            if run.progress.goes_on():
                return run
            self._end(run)
        return None

    def _build(self) -> None:
        self.model = stack([run.progress.model for run in self.runs])
        first, number = self.runs[0].progress, len(self.runs)
        penalty = phi_penalty(self.model, self.settings)
        self.adam = StackedAdam(self.model, first.model, first.trial.optimizer, number, penalty)
        # The best weights of each, in the places of the runs.
        self.best = {name: tensor.clone() for name, tensor in self.model.state_dict().items()}
        for place, run in enumerate(self.runs):
            self._put(place, run)

    def _put(self, place: int, run: _Run) -> None:
        """Let a run, at the beginning of a start or resumed, train in this place."""
        put_replica(self.model, place, run.progress.model)
        self.adam.put(place, run.progress.trial.optimizer)
        for name, tensor in run.progress.best.items():
            self.best[name][place] = tensor
        self.runs[place] = run

    def train(self, after_epoch: AfterEpoch | None) -> dict[int, Outcome]:
        """Train until no run is left."""
        watch = Stopwatch()
        while self.runs:
            number = len(self.runs)
            self._train_epoch()
            share = watch.lap() / number
            for run in self.runs:
                run.progress.seconds += share
            if after_epoch is not None:
                after_epoch(self._trained())
            self._move_on()
        return self.outcomes

    def _train_epoch(self) -> None:
        """One epoch of all runs, each written down in its own progress."""
        device = self.data.y.device
        progress = [run.progress for run in self.runs]
        self.adam.set_rates([each.trial.optimizer for each in progress])
        noise = Noise(
            torch.tensor([run.seed for run in self.runs], device=device),
            torch.tensor([each.epoch for each in progress], device=device),
        )
        losses = train_epoch(self.model, self.data, self.adam, self.strategy, noise)
        improved = []
        rows = measure_replicas(self.model, self.data)
        for place, (run, loss, row) in enumerate(zip(self.runs, losses, rows, strict=True)):
            try:
                if run.progress.take_in(loss, row):
                    improved.append(place)
            except DivergedError as error:
                self._report(run, error)
        if improved:
            places = torch.tensor(improved, device=device)
            for name, tensor in self.model.state_dict().items():
                self.best[name][places] = tensor[places]

    def _trained(self) -> list[Trained]:
        return [
            Trained(run.number, run.progress.history, partial(self._snapshot, place))
            for place, run in enumerate(self.runs)
            if run.number not in self.outcomes
        ]

    def _snapshot(self, place: int) -> Snapshot:
        progress = self.runs[place].progress
        progress.best = self._best_of(place)
        return progress.snapshot(unstack(self.model, place), self.adam.tensors(place))

    def _best_of(self, place: int) -> dict[str, Tensor]:
        return {name: tensor[place].clone() for name, tensor in self.best.items()}

    def _move_on(self) -> None:
        """Let go of runs that have ended, and fill their places as long as others wait."""
        kept = []
        for place, run in enumerate(self.runs):
            progress, trial = run.progress, run.progress.trial
            if trial.is_over(progress.epoch):
                progress.best = self._best_of(place)
            if run.number not in self.outcomes and not progress.goes_on():
                self._end(run)
            new = self._next() if run.number in self.outcomes else run
            if new is None:
                continue
            kept.append(place)
            if new.progress.trial is not trial:
                self._put(place, new)
        if len(kept) < len(self.runs):
            self._select(kept)

    def _end(self, run: _Run) -> None:
        self._report(run, result_of(run.progress, self.data))

    def _report(self, run: _Run, outcome: Outcome) -> None:
        self.outcomes[run.number] = outcome
        self.after_run(run.number, outcome)

    def _select(self, places: list[int]) -> None:
        self.runs = [self.runs[place] for place in places]
        if not places:
            return
        numbers = torch.tensor(places, device=self.data.y.device)
        select_replicas(self.model, numbers)
        self.adam.select(numbers)
        self.best = {name: tensor[numbers] for name, tensor in self.best.items()}


@torch.no_grad()
def measure_replicas(model: nn.Module, data: NodeData) -> list[dict[str, Any]]:
    """For every replica of a stacked model what an epoch's row of the history holds."""
    model.eval()
    logits: Tensor = model(data.x, data.graph)
    values = getattr(model, "lambda_max", None)
    columns: dict[str, list[Any]] = {"lambda_max": [[] for _ in logits]}
    if isinstance(values, Tensor):
        columns["lambda_max"] = values.flatten(1).tolist()
    if isinstance(model, AKGNN):
        columns["neighbour_share"] = model.neighbour_share(data.graph).flatten(1).tolist()
    for part, nodes in (("train", data.split.train), ("val", data.split.val)):
        scores, y = logits[:, nodes], data.y[nodes]
        columns[f"{part}_loss"] = cross_entropy(scores, y).tolist()
        hits = (scores.argmax(-1) == y).sum(-1).tolist()
        # Without nodes the loss is NaN, and ends the run before this counts.
        columns[f"{part}_accuracy"] = [100 * each / max(len(y), 1) for each in hits]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for row, each in zip(rows, scores, strict=True):
        if not math.isnan(val_roc_auc := logits_roc_auc(each, y)):
            row["val_roc_auc"] = val_roc_auc
    return rows
