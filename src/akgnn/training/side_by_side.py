"""Runs that train side by side in one stacked model, and leave it each at its own end."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.errors import DivergedError
from akgnn.models.akgnn import AKGNN
from akgnn.models.replicas import put_replica, select_replicas, stack, unstack
from akgnn.ops.dropout import Noise
from akgnn.training.capture import Captured
from akgnn.training.class_weight import with_class_weight
from akgnn.training.history import History
from akgnn.training.loop import FitResult, result_of, train_epoch
from akgnn.training.metrics import cross_entropy, logits_roc_auc
from akgnn.training.optimizer import phi_penalty
from akgnn.training.progress import Progress, Snapshot, Stopwatch
from akgnn.training.settings import TrainSettings
from akgnn.training.stacked_adam import StackedAdam
from akgnn.training.strategies.supervised import Strategy

Outcome = FitResult | DivergedError
AfterRun = Callable[[int, Outcome], None]


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

# Beyond that launches no longer matter, and what is recorded would hold much memory.
_MOST_EDGES_CAPTURED = 10_000_000


@dataclass(frozen=True, eq=False)
class Run:
    """A run with its place among the models, the seed of its masks, and what it came to so far."""

    number: int
    seed: int
    progress: Progress


class SideBySide:
    """Runs in the places of one stacked model, and those that wait for a place.

    Args:
        runs: In the order in which they get a place.
        data: On the device of their models.
        settings: Of the training.
        strategy: One that takes stacked models.
        places: How many train at once.
        after_run: Called as soon as a run has ended.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        data: NodeData,
        settings: TrainSettings,
        strategy: Strategy,
        places: int,
        after_run: AfterRun,
    ) -> None:
        self.data = with_class_weight(data, settings.class_weight)
        self.settings, self.strategy = settings, strategy
        self.after_run = after_run
        self.device = data.y.device
        # Launches take longer than the work itself there, unless they are recorded; the area under
        # the ROC curve of two classes asks for numbers on the way.
        is_small = data.graph.num_edges <= _MOST_EDGES_CAPTURED
        self.captures = self.device.type == "cuda" and is_small and data.num_classes != 2
        self.outcomes: dict[int, Outcome] = {}
        self.waiting = list(reversed(runs))
        self.runs: list[Run] = []
        while len(self.runs) < places and (run := self._next()):
            self.runs.append(run)
        if self.runs:
            self._build()

    def _next(self) -> Run | None:
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
        self.seeds = torch.tensor([run.seed for run in self.runs], device=self.device)
        self.epochs = torch.zeros_like(self.seeds)
        self._captured: tuple[Captured, Captured] | None = None
        self._improved = torch.zeros(number, dtype=torch.bool, device=self.device)
        for place, run in enumerate(self.runs):
            self._put(place, run)

    def _put(self, place: int, run: Run) -> None:
        """Let a run, at the beginning of a start or resumed, train in this place."""
        put_replica(self.model, place, run.progress.model)
        self.adam.put(place, run.progress.trial.optimizer)
        for name, tensor in run.progress.best.items():
            self.best[name][place] = tensor
        self.seeds[place], self.epochs[place] = run.seed, run.progress.epoch
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
        self.adam.set_rates([run.progress.trial.optimizer for run in self.runs])
        if self.captures and self._captured is None:
            self._captured = self._capture()
        measured = self._epoch() if self._captured is None else self._captured[0]()
        improved = []
        for place, (run, values) in enumerate(zip(self.runs, measured.tolist(), strict=True)):
            if run.number in self.outcomes:
                continue
            loss, row = self._row(place, values)
            try:
                if run.progress.take_in(loss, row):
                    improved.append(place)
            except DivergedError as error:
                self._report(run, error)
        if improved:
            self._keep_best(improved)

    def _epoch(self) -> Tensor:
        """Train an epoch and measure: loss and columns of the history, a row for each run."""
        noise = Noise(self.seeds, self.epochs)
        losses = train_epoch(self.model, self.data, self.adam, self.strategy, noise)
        self.epochs += 1
        logits, self._columns = measure_replicas(self.model, self.data)
        self._val_logits = logits
        parts = [torch.as_tensor(losses), *self._columns.values()]
        return torch.cat([part.double().view(len(self.runs), -1) for part in parts], 1)

    def _row(self, place: int, values: list[float]) -> tuple[float, dict[str, Any]]:
        """The loss and the row of the history of one run."""
        loss, *others = values
        row: dict[str, Any] = {}
        for name, part in self._columns.items():
            width = part.size(1) if part.dim() > 1 else 1
            row[name], others = others[:width] if part.dim() > 1 else others[0], others[width:]
        if self.data.num_classes == 2:
            y = self.data.y[self.data.split.val]
            if not math.isnan(area := logits_roc_auc(self._val_logits[place], y)):
                row["val_roc_auc"] = area
        return loss, row

    def _keep_best(self, places: list[int]) -> None:
        if self._captured is None:
            numbers = torch.tensor(places, device=self.device)
            for name, tensor in self.model.state_dict().items():
                self.best[name][numbers] = tensor[numbers]
            return
        improved = [place in places for place in range(len(self.runs))]
        self._improved.copy_(torch.tensor(improved))
        self._captured[1]()

    def _copy_improved(self) -> Tensor:
        for name, tensor in self.model.state_dict().items():
            chosen = self._improved.view(-1, *[1] * (tensor.dim() - 1))
            self.best[name].copy_(torch.where(chosen, tensor, self.best[name]))
        return self._improved

    def _capture(self) -> tuple[Captured, Captured]:
        weights = list(self.model.state_dict().values())
        epoch = Captured(self._epoch, [*weights, *self.adam.state, self.epochs])
        return epoch, Captured(self._copy_improved, list(self.best.values()))

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
            if run.number not in self.outcomes and trial.is_over(progress.epoch):
                progress.best = self._best_of(place)
            if run.number not in self.outcomes and not progress.goes_on():
                self._end(run)
            new = self._next() if run.number in self.outcomes else run
            if new is None:
                continue
            kept.append(place)
            if new.progress.trial is not trial:
                self._put(place, new)
        # What was recorded is for so many: until half of them are gone the others idle.
        if len(kept) < len(self.runs) and (not self.captures or 2 * len(kept) <= len(self.runs)):
            self._select(kept)

    def _end(self, run: Run) -> None:
        self._report(run, result_of(run.progress, self.data))

    def _report(self, run: Run, outcome: Outcome) -> None:
        self.outcomes[run.number] = outcome
        self.after_run(run.number, outcome)

    def _select(self, places: list[int]) -> None:
        self.runs = [self.runs[place] for place in places]
        if not places:
            return
        numbers = torch.tensor(places, device=self.device)
        select_replicas(self.model, numbers)
        self.adam.select(numbers)
        self.best = {name: tensor[numbers] for name, tensor in self.best.items()}
        self.seeds, self.epochs = self.seeds[numbers], self.epochs[numbers]
        self._improved, self._captured = self._improved[numbers], None


@torch.no_grad()
def measure_replicas(model: nn.Module, data: NodeData) -> tuple[Tensor, dict[str, Tensor]]:
    """The scores of the validation nodes, and columns of the history, one row for each replica."""
    model.eval()
    logits: Tensor = model(data.x, data.graph)
    values = getattr(model, "lambda_max", None)
    lambda_max = (
        values.flatten(1) if isinstance(values, Tensor) else logits.new_empty(len(logits), 0)
    )
    columns: dict[str, Tensor] = {"lambda_max": lambda_max}
    if isinstance(model, AKGNN):
        columns["neighbour_share"] = model.neighbour_share(data.graph).flatten(1)
    for part, nodes in (("train", data.split.train), ("val", data.split.val)):
        scores, y = logits[:, nodes], data.y[nodes]
        columns[f"{part}_loss"] = cross_entropy(scores, y)
        hits = (scores.argmax(-1) == y).sum(-1)
        # Without nodes the loss is NaN, and ends the run before this counts.
        columns[f"{part}_accuracy"] = 100 * hits.double() / max(len(y), 1)
    return scores, columns
