"""Runs that train side by side in one stacked model, and leave it each at its own end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.errors import DivergedError
from akgnn.models.adaptive_network import AdaptiveNetwork
from akgnn.models.replicas import put_replica, select_replicas, stack, unstack
from akgnn.ops.dropout import Noise
from akgnn.training.batched.adam import StackedAdam
from akgnn.training.callbacks import Epoch
from akgnn.training.fit import other_scores, result_of, take_steps
from akgnn.training.metrics import cross_entropy, metrics_by_epoch
from akgnn.training.optimizer import phi_penalty
from akgnn.training.result import FitResult
from akgnn.training.state import Snapshot, Stopwatch, TrainingState
from akgnn.training.strategies.supervised import Strategy, scores_at, with_class_weight

Outcome = FitResult | DivergedError
AfterRun = Callable[[int, Outcome], None]

# Beyond that launches no longer matter, and what is recorded would hold much memory.
_MOST_EDGES_CAPTURED = 10_000_000
# The first time operations compile or choose an algorithm, which must not be recorded.
_WARM_UPS = 2


@dataclass(frozen=True, eq=False)
class StackedRun:
    """A run with its index among the models, the seed of its masks, and its state."""

    index: int
    seed: int
    state: TrainingState


class Captured:
    """A CUDA graph of a function, which gives one tensor and keeps all it needs in place.

    Args:
        function: Without arguments. It must read and write the same memory each time, and ask the
            GPU for no number.
        changed: What it changes; put back to what it was after the function was tried.
    """

    def __init__(self, function: Callable[[], Tensor], changed: Sequence[Tensor]) -> None:
        before = [tensor.detach().clone() for tensor in changed]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UPS):
                function()
        torch.cuda.current_stream().wait_stream(stream)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._result = function()
        with torch.no_grad():
            for tensor, kept in zip(changed, before, strict=True):
                tensor.copy_(kept)

    def __call__(self) -> Tensor:
        """Do the work; the result lies where the last one lay."""
        self._graph.replay()
        return self._result


class StackedTrainer:
    """Trains runs in the slots of one stacked model; others wait for a slot.

    Args:
        runs: In the order in which they get a slot; all with the same settings.
        data: On the device of their models.
        strategy: One that takes stacked models.
        slots: How many train at once.
        after_run: Called as soon as a run has ended.
    """

    def __init__(
        self,
        runs: Sequence[StackedRun],
        data: NodeData,
        strategy: Strategy,
        slots: int,
        after_run: AfterRun,
    ) -> None:
        self.settings = runs[0].state.settings
        self.data = with_class_weight(data, self.settings.class_weight)
        self.strategy, self.after_run = strategy, after_run
        self.device = data.y.device
        self.metrics = metrics_by_epoch(data.num_classes, self.settings.stop_on)
        # Launches take longer than the work itself there, unless they are recorded.
        is_small = data.graph.num_edges <= _MOST_EDGES_CAPTURED
        self.captures = self.device.type == "cuda" and is_small
        self.ended: set[int] = set()
        self.waiting = list(reversed(runs))
        self.runs: list[StackedRun] = []
        while len(self.runs) < slots and (run := self._next()):
            self.runs.append(run)
        if self.runs:
            self._build()
        self._is_new = True
        self.watch = Stopwatch()

    def _next(self) -> StackedRun | None:
        """The next waiting run that has something left to train."""
        while self.waiting:
            run = self.waiting.pop()
            if run.state.next_epoch():
                return run
            self._end(run)
        return None

    def _build(self) -> None:
        self.model = stack([run.state.model for run in self.runs])
        first, number = self.runs[0].state, len(self.runs)
        penalty = phi_penalty(self.model, self.settings)
        self.adam = StackedAdam(self.model, first.model, first.restart.optimizer, number, penalty)
        # The best weights of each, in the slots of the runs.
        self.best = {name: tensor.clone() for name, tensor in self.model.state_dict().items()}
        self.seeds = torch.tensor([run.seed for run in self.runs], device=self.device)
        self.epochs = torch.zeros_like(self.seeds)
        self._captured: tuple[Captured, Captured] | None = None
        self._improved = torch.zeros(number, dtype=torch.bool, device=self.device)
        for slot, run in enumerate(self.runs):
            self._put(slot, run)

    def _put(self, slot: int, run: StackedRun) -> None:
        """Let a run, at the beginning of a restart or resumed, train in this slot."""
        put_replica(self.model, slot, run.state.model)
        self.adam.put(slot, run.state.restart.optimizer)
        for name, tensor in run.state.best.items():
            self.best[name][slot] = tensor
        self.seeds[slot], self.epochs[slot] = run.seed, run.state.epoch
        self.runs[slot] = run

    def advance(self) -> bool:
        """Let other runs take the slots of those that have ended; false where none is left."""
        if not self._is_new:
            self._move_on()
        self._is_new = False
        return bool(self.runs)

    def train_epoch(self) -> list[Epoch]:
        """One epoch of all runs, each written down in its own state."""
        number = len(self.runs)
        self.adam.set_rates([run.state.restart.optimizer for run in self.runs])
        if self.captures and self._captured is None:
            self._captured = self._capture()
        measured = self._epoch() if self._captured is None else self._captured[0]()
        improved = []
        for slot, (run, values) in enumerate(zip(self.runs, measured.tolist(), strict=True)):
            if run.index in self.ended:
                continue
            loss, row = self._row(slot, values)
            try:
                if run.state.update(loss, row):
                    improved.append(slot)
            except DivergedError as error:
                self._report(run, error)
        if improved:
            self._keep_best(improved)
        share = self.watch.lap() / number
        for run in self.runs:
            run.state.seconds += share
        return [
            Epoch(run.index, run.state.history, partial(self._snapshot, slot))
            for slot, run in enumerate(self.runs)
            if run.index not in self.ended
        ]

    def _epoch(self) -> Tensor:
        """Train an epoch and measure: loss and columns of the history, a row for each run."""
        noise = Noise(self.seeds, self.epochs)
        losses = take_steps(self.model, self.data, self.adam, self.strategy, noise)
        self.epochs += 1
        logits, self._columns = measure_replicas(self.model, self.data)
        self._val_logits = logits
        parts = [torch.as_tensor(losses), *self._columns.values()]
        return torch.cat([part.double().view(len(self.runs), -1) for part in parts], 1)

    def _row(self, slot: int, values: list[float]) -> tuple[float, dict[str, Any]]:
        """The loss and the row of the history of one run."""
        loss, *others = values
        row: dict[str, Any] = {}
        for name, part in self._columns.items():
            width = part.size(1) if part.dim() > 1 else 1
            row[name], others = others[:width] if part.dim() > 1 else others[0], others[width:]
        y = self.data.y[self.data.split.val]
        return loss, row | other_scores(self.metrics, self._val_logits[slot], y)

    def _keep_best(self, slots: list[int]) -> None:
        if self._captured is None:
            numbers = torch.tensor(slots, device=self.device)
            for name, tensor in self.model.state_dict().items():
                self.best[name][numbers] = tensor[numbers]
            return
        improved = [slot in slots for slot in range(len(self.runs))]
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

    def _snapshot(self, slot: int) -> Snapshot:
        state = self.runs[slot].state
        state.best = self._best_of(slot)
        return state.snapshot(unstack(self.model, slot), self.adam.tensors(slot))

    def _best_of(self, slot: int) -> dict[str, Tensor]:
        return {name: tensor[slot].clone() for name, tensor in self.best.items()}

    def _move_on(self) -> None:
        """Let go of runs that have ended, and fill their slots as long as others wait."""
        occupied = []
        for slot, run in enumerate(self.runs):
            state, restart = run.state, run.state.restart
            if run.index not in self.ended and restart.is_over(state.epoch):
                state.best = self._best_of(slot)
            if run.index not in self.ended and not state.next_epoch():
                self._end(run)
            new = self._next() if run.index in self.ended else run
            if new is None:
                continue
            occupied.append(slot)
            if new.state.restart is not restart:
                self._put(slot, new)
        is_fewer = len(occupied) < len(self.runs)
        # What was recorded is for so many: until half of them are gone the others idle.
        if is_fewer and (not self.captures or 2 * len(occupied) <= len(self.runs)):
            self._select(occupied)

    def _end(self, run: StackedRun) -> None:
        self._report(run, result_of(run.state, self.data))

    def _report(self, run: StackedRun, outcome: Outcome) -> None:
        self.ended.add(run.index)
        self.after_run(run.index, outcome)

    def _select(self, slots: list[int]) -> None:
        self.runs = [self.runs[slot] for slot in slots]
        if not slots:
            return
        numbers = torch.tensor(slots, device=self.device)
        select_replicas(self.model, numbers)
        self.adam.select(numbers)
        self.best = {name: tensor[numbers] for name, tensor in self.best.items()}
        self.seeds, self.epochs = self.seeds[numbers], self.epochs[numbers]
        self._improved, self._captured = self._improved[numbers], None


@torch.no_grad()
def measure_replicas(model: nn.Module, data: NodeData) -> tuple[Tensor, dict[str, Tensor]]:
    """The scores of the validation nodes, and columns of the history, one row for each replica."""
    model.eval()
    seen = data.split.seen
    logits = scores_at(model, data.x, data.graph, seen.nodes)
    values = getattr(model, "lambda_max", None)
    lambda_max = (
        values.flatten(1) if isinstance(values, Tensor) else logits.new_empty(len(logits), 0)
    )
    columns: dict[str, Tensor] = {"lambda_max": lambda_max}
    if isinstance(model, AdaptiveNetwork):
        columns["neighbour_share"] = model.neighbour_share(data.graph).flatten(1)
    sides = (("train", data.split.train, seen.train), ("val", data.split.val, seen.val))
    for part, nodes, position in sides:
        scores, y = logits.index_select(1, position), data.y[nodes]
        columns[f"{part}_loss"] = cross_entropy(scores, y)
        hits = (scores.argmax(-1) == y).sum(-1)
        # Without nodes the loss is NaN, and ends the run before this counts.
        columns[f"{part}_accuracy"] = 100 * hits.double() / max(len(y), 1)
    return scores, columns
