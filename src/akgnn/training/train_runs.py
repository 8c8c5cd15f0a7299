"""Runs from their plans to their results: training, and the folders that keep them."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from torch import nn

from akgnn.data.node_data import NodeData
from akgnn.errors import AkgnnError, InterruptedRunError, RunFolderError
from akgnn.models.registry import find_model
from akgnn.models.replicas import can_stack
from akgnn.training.checkpoint import FINAL_WEIGHTS, RunFolder
from akgnn.training.epoch_lines import EpochLines
from akgnn.training.history import History
from akgnn.training.loop import FitResult, check_stopping
from akgnn.training.many import fit_many, takes_replicas
from akgnn.training.optimizer import make_optimizer
from akgnn.training.plan import RunPlan
from akgnn.training.progress import Snapshot
from akgnn.training.record import check_fit, check_starts, expected_optimizer, parse_data, reading
from akgnn.training.run import RunResult, describe, plan_of, read_result, summary_of, versions
from akgnn.training.side_by_side import Outcome, Trained
from akgnn.training.starts import starts_of

RunOutcome = RunResult | AkgnnError

# Folders that are locked at the same time: each takes one of the few files a process may open.
_MOST_OPEN = 200


def train_run(
    plan: RunPlan,
    data: NodeData,
    folder: RunFolder | None = None,
    *,
    resume: bool = False,
    checkpoint_seconds: float = 5.0,
    after_epoch: Callable[[History], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> RunResult:
    """Train one run and, with a folder, keep it there; as `train_runs` does with several."""
    (outcome,) = train_runs(
        [plan],
        data,
        [folder],
        resume=resume,
        checkpoint_seconds=checkpoint_seconds,
        after_epoch=None if after_epoch is None else lambda _, history: after_epoch(history),
        should_stop=should_stop,
    )
    if isinstance(outcome, AkgnnError):
        raise outcome
    return outcome


def train_runs(
    plans: Sequence[RunPlan],
    data: NodeData,
    folders: Sequence[RunFolder | None] | None = None,
    *,
    resume: bool = False,
    checkpoint_seconds: float = 5.0,
    after_epoch: Callable[[int, History], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> list[RunOutcome]:
    """Train runs that differ in their seed alone, side by side where the model can.

    Args:
        plans: What to train.
        data: As `plan.load()` gives it, on the device to train on.
        folders: Where each run is kept; nowhere if None.
        resume: Go on where a folder's run left off, or show its result if it had finished.
        checkpoint_seconds: How often the states are kept during training.
        after_epoch: Called after each epoch with the place of the run and its history.
        should_stop: Asked after each epoch; once true the states are kept and all runs end with
            `InterruptedRunError`.

    Returns:
        For each run its result, or why it has none: it diverged, now or in an earlier call.
    """
    folders = folders or [None] * len(plans)
    outcomes: list[RunOutcome] = []
    for first in range(0, len(plans), _MOST_OPEN):
        part = slice(first, first + _MOST_OPEN)
        # Before anything is written: what cannot be built leaves no folder behind.
        asked = enumerate(zip(plans[part], folders[part], strict=True), start=first)
        runs = [
            _KeptRun(place, plan, data, folder, checkpoint_seconds)
            for place, (plan, folder) in asked
        ]
        check_stopping(plans[0].preset.training, data)
        with ExitStack() as locks:
            for run in runs:
                run.open(resume, locks)
            _train([run for run in runs if run.outcome is None], data, after_epoch, should_stop)
        outcomes += [run.outcome for run in runs if run.outcome is not None]
    return outcomes


def train_side_by_side(plan: RunPlan) -> bool:
    """Whether runs of this plan with other seeds can train in one stacked model."""
    kind = find_model(plan.which.model).build
    return isinstance(kind, type) and can_stack(kind) and takes_replicas(plan.strategy())


def _train(
    runs: Sequence["_KeptRun"],
    data: NodeData,
    after_epoch: Callable[[int, History], None] | None,
    should_stop: Callable[[], bool],
) -> None:
    """Train what the folders have no outcome of."""
    if not runs:
        return

    def keep_epoch(trained: Sequence[Trained]) -> None:
        for each in trained:
            if after_epoch is not None:
                after_epoch(runs[each.number].place, each.history)
        # Asked once for all: where one stops, every state is kept.
        stops = should_stop()
        for each in trained:
            runs[each.number].keep_epoch(each, stops)
        if stops and trained:
            raise InterruptedRunError(f"Stopped after epoch {len(trained[0].history)}.")

    plan = runs[0].plan
    fit_many(
        [run.model for run in runs],
        data,
        plan.preset.training,
        seeds=[run.plan.which.seed for run in runs],
        strategy=plan.strategy(),
        resume=[run.start for run in runs],
        after_epoch=keep_epoch,
        after_run=lambda number, outcome: runs[number].end(outcome),
    )


class _KeptRun:
    """A run, its model, and its folder if it has one.

    Attributes:
        place: Among all that are to be trained.
        start: The state to go on from, if any.
        outcome: What the run came to, once that is known.
    """

    def __init__(
        self,
        place: int,
        plan: RunPlan,
        data: NodeData,
        folder: RunFolder | None,
        seconds: float,
    ) -> None:
        self.place, self.plan, self.folder, self.seconds = place, plan, folder, seconds
        settings = plan.to_dict()
        self.content = {"settings": settings, "data": describe(data), "versions": versions()}
        self.model = plan.build(data)
        self.start: Snapshot | None = None
        self.outcome: RunOutcome | None = None
        self.last_kept = time.monotonic()
        self.lines: EpochLines | None = None

    def open(self, resume: bool, locks: ExitStack) -> None:
        """Make the folder, or read what it holds; it stays locked as long as `locks`."""
        folder = self.folder
        if folder is None:
            return
        if not (resume and folder.holds_run()):
            folder.prepare()
            folder.write({**self.content, "status": "running"}, None)
        locks.enter_context(folder.locked())
        kept = folder.read()
        _check_same_run(folder, kept, self.content)
        if kept.get("status") == "failed":
            try:
                read_result(folder)
            except RunFolderError as error:
                self.outcome = error
        elif kept.get("status") != "running":
            self.outcome = read_result(folder)
        else:
            self.start = folder.read_snapshot(kept)
            if self.start is not None:
                _check_snapshot(self.start, self.model, self.plan)
            history = History() if self.start is None else self.start.history
            self.lines = EpochLines(folder, history)

    def keep_epoch(self, trained: Trained, stops: bool) -> None:
        """Keep the epoch, and the state if it is time, or the last."""
        if self.folder is None or self.lines is None:
            return
        self.lines.take_in(trained.history)
        if stops or time.monotonic() - self.last_kept >= self.seconds:
            self.lines.flush()
            self.folder.write_snapshot(self.content, trained.snapshot())
            self.last_kept = time.monotonic()

    def end(self, outcome: Outcome) -> None:
        """Keep the result with the best weights, or remember that the run failed and why."""
        if self.lines is not None:
            self.lines.flush()
        if not isinstance(outcome, FitResult):
            self.outcome = outcome
            if self.folder is not None:
                failed = {**self.content, "status": "failed", "error": str(outcome)}
                self.folder.write(failed, None)
            return
        self.outcome = RunResult(self.plan, self.content["data"], outcome)
        if self.folder is not None:
            parts = {"result": summary_of(outcome), "history": outcome.history.to_dict()}
            finished = {**self.content, "status": "finished", **parts}
            self.folder.write(finished, dict(self.model.state_dict()), FINAL_WEIGHTS)


def _check_snapshot(start: Snapshot, model: nn.Module, plan: RunPlan) -> None:
    """Refuse a state whose tensors are not those of this model and its optimiser."""
    check_fit("weights", start.weights, model.state_dict())
    check_fit("best weights", start.best_weights, model.state_dict())
    groups = make_optimizer(model, plan.preset.training).param_groups
    order = [parameter for group in groups for parameter in group["params"]]
    check_fit("states of the optimiser", start.optimizer, expected_optimizer(order))
    check_starts(start.history.start, len(starts_of(model, plan.preset.training)))


def _check_same_run(folder: RunFolder, kept: Mapping[str, Any], content: Mapping[str, Any]) -> None:
    """Refuse to go on with a run of other settings or other data."""
    there = plan_of(folder, kept).to_dict()
    for kind, settings in content["settings"].items():
        for name, value in settings.items():
            other = there.get(kind, {}).get(name)
            if other != value:
                raise RunFolderError(
                    f"{folder.path} holds another run: its {name} is {other}, not {value}."
                )
    with reading(folder.path):
        same = parse_data(kept["data"]) == content["data"]
    if not same:
        raise RunFolderError(f"{folder.path} holds a run on other data.")
