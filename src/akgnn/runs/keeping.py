"""What keeps runs in their folders while they train: epochs, states, and results at the end."""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from torch import Tensor, nn

from akgnn.codec import from_json, reading
from akgnn.data.node_data import NodeData
from akgnn.errors import AkgnnError, CheckpointError, DivergedError, RunFolderError
from akgnn.machine.provenance import versions
from akgnn.runs.facts import DataFacts
from akgnn.runs.folder import FINAL_WEIGHTS, RunFolder, check_fit
from akgnn.runs.load import load_run, plan_of
from akgnn.runs.plan import RunPlan
from akgnn.runs.rows import row_tensors
from akgnn.runs.run import EXTRA_TENSORS, Run
from akgnn.runs.vote import Vote
from akgnn.training.callbacks import Callback, Epoch
from akgnn.training.history import History
from akgnn.training.optimizer import parameters_in_order
from akgnn.training.result import FitResult
from akgnn.training.state import Snapshot, initial_values

Outcome = Run | AkgnnError
"""A run, or why there is none."""

# A line of `epochs.jsonl` for each epoch at once would cost small graphs a good part of their time.
_SECONDS_BETWEEN_LINES = 1.0


class Keeping(Callback):
    """Keeps runs, which it has by their index, in their folders."""

    def __init__(self, runs: Mapping[int, "KeptRun"]) -> None:
        self.runs = runs

    def after_epoch(self, epochs: Sequence[Epoch]) -> None:
        """Keep the epochs, and states that are due."""
        for epoch in epochs:
            self.runs[epoch.index].keep_epoch(epoch)

    def before_stop(self, epochs: Sequence[Epoch]) -> None:
        """Keep all states."""
        for epoch in epochs:
            self.runs[epoch.index].keep_state(epoch)

    def after_run(self, index: int, outcome: FitResult | DivergedError) -> None:
        """Keep the result."""
        self.runs[index].end(outcome)


@dataclass
class KeptRun:
    """A run, its model, and its folder if it has one.

    Its state is kept every so many `seconds`; `snapshot` is the state to resume, if any, and
    `outcome` what the run came to, once that is known. Of data in parts, `known` has the facts. Of
    models that vote, `votes` has their plans and shares; `plan` is that of the first. `mesh` says
    how several processes share the work, so that the run can go on in the same way.
    """

    plan: RunPlan
    data: NodeData
    folder: RunFolder | None
    seconds: float
    snapshot: Snapshot | None = None
    outcome: Outcome | None = None
    known: DataFacts | None = None
    votes: tuple[Vote, ...] = ()
    mesh: str | None = None

    def __post_init__(self) -> None:
        self.facts = DataFacts.of(self.data) if self.known is None else self.known
        self.model: nn.Module = self.plan.build(self.data)
        self.last_kept = time.monotonic()
        self.lines: _EpochLines | None = None

    @cached_property
    def content(self) -> dict[str, Any]:
        """What `run.json` says whatever comes of the run."""
        settings = self.plan.to_dict()
        votes = {"votes": [vote.to_dict() for vote in self.votes]} if self.votes else {}
        mesh = {} if self.mesh is None else {"mesh": self.mesh}
        return {
            "settings": settings,
            "data": self.facts.to_dict(),
            "versions": versions(),
            **votes,
            **mesh,
        }

    def open(self, resume: bool, locks: ExitStack) -> None:
        """Make the folder, or read what it holds; it stays locked as long as `locks`."""
        folder = self.folder
        if folder is None:
            return
        is_new = not (resume and folder.holds_run())
        if is_new:
            folder.prepare()
        locks.enter_context(folder.locked())
        if is_new:
            # Another process may have begun here before the lock.
            folder.check_free()
            folder.write({**self.content, "status": "running"}, None)
        content = folder.read()
        _check_same_run(folder, content, self.plan, self.facts)
        if content.get("status") == "failed":
            try:
                load_run(folder.path)
            except RunFolderError as error:
                self.outcome = error
        elif content.get("status") != "running":
            self.outcome = load_run(folder.path)
        if self.outcome is not None:
            # A kill at the very end may have left the last state.
            folder.remove_old(content)
        else:
            self.snapshot = folder.read_snapshot(content)
            if self.snapshot is not None:
                _check_snapshot(self.snapshot, self.model, self.plan)
            history = History() if self.snapshot is None else self.snapshot.history
            self.lines = _EpochLines(folder, history)

    def begin_at(self, snapshot: Snapshot) -> None:
        """Begin at this state, unless the folder holds one or the run has ended."""
        if self.outcome is not None or self.snapshot is not None:
            return
        self.snapshot = snapshot
        if self.folder is not None:
            self.lines = _EpochLines(self.folder, snapshot.history)

    def keep_epoch(self, epoch: Epoch) -> None:
        """Keep the epoch, and the state if it is time."""
        self.keep_line(epoch)
        if self.is_due():
            self.keep_state(epoch)

    def keep_line(self, epoch: Epoch) -> None:
        """Keep the epoch alone."""
        if self.lines is not None:
            self.lines.update(epoch.history)

    def is_due(self) -> bool:
        """Whether it is time to keep the state."""
        return self.lines is not None and time.monotonic() - self.last_kept >= self.seconds

    def keep_state(self, epoch: Epoch) -> None:
        """Keep the state."""
        if self.folder is None or self.lines is None:
            return
        self.lines.flush()
        self.folder.write_snapshot(self.content, epoch.snapshot())
        self.last_kept = time.monotonic()

    def end(self, outcome: FitResult | DivergedError, members: tuple[FitResult, ...] = ()) -> None:
        """Keep the result with the best weights, or remember that the run failed and why.

        Of an ensemble `model` has the weights, and `members` what each of its models came to.
        """
        if self.lines is not None:
            self.lines.flush()
        if not isinstance(outcome, FitResult):
            self.outcome = outcome
            if self.folder is not None:
                failed = {**self.content, "status": "failed", "error": str(outcome)}
                self.folder.write(failed, None)
            return
        # What a folder keeps is read again when it is asked for: many models are much memory.
        model = self.model if self.folder is None else None
        kept = row_tensors(self.data)
        self.outcome = Run(
            self.plan,
            self.facts,
            outcome,
            self.folder,
            trained_model=model,
            members=members,
            votes=self.votes,
            kept=kept if self.folder is None else None,
        )
        if self.folder is not None:
            parts = {"result": outcome.to_dict(), "history": outcome.history.to_dict()}
            several = {"members": [member.to_dict() for member in members]} if members else {}
            finished = {**self.content, "status": "finished", **parts, **several}
            rows = {f"{EXTRA_TENSORS}{n}": t for n, t in kept.items()}
            self.folder.write(finished, {**self.model.state_dict(), **rows}, FINAL_WEIGHTS)


class _EpochLines:
    """`epochs.jsonl` of a run folder: one object an epoch, and no epoch twice.

    A kill may cut off the last line, and an epoch after the last state that was kept is trained
    again; so whoever resumes begins the file anew with what the state knows, the `history`. The
    folder is locked and has a run in it.
    """

    def __init__(self, folder: RunFolder, history: History) -> None:
        self.folder, self.history = folder, history
        self.written = len(history)
        self.last = time.monotonic()
        folder.write_epochs([self._row(epoch) for epoch in range(self.written)])

    def update(self, history: History) -> None:
        """Write the epochs that are new, if the last ones were written a second ago."""
        self.history = history
        if time.monotonic() - self.last >= _SECONDS_BETWEEN_LINES:
            self.flush()

    def flush(self) -> None:
        """Write all epochs that are not written yet."""
        rows = [self._row(epoch) for epoch in range(self.written, len(self.history))]
        if rows:
            self.folder.add_epochs(rows)
        self.written, self.last = len(self.history), time.monotonic()

    def _row(self, epoch: int) -> dict[str, object]:
        return {"epoch": epoch + 1, **self.history.row(epoch)}


def _check_snapshot(snapshot: Snapshot, model: nn.Module, plan: RunPlan) -> None:
    """Refuse a state whose tensors are not those of this model and its optimiser."""
    check_fit("weights", snapshot.weights, model.state_dict())
    check_fit("best weights", snapshot.best_weights, model.state_dict())
    # Adam's state, for parameters in its order.
    order = parameters_in_order(model, plan.preset.training)
    expected = {
        f"{index}.{name}": parameter.detach().new_zeros(()) if name == "step" else parameter
        for index, parameter in enumerate(order)
        for name in ("step", "exp_avg", "exp_avg_sq")
    }
    check_fit("states of the optimiser", snapshot.optimizer, expected)
    for name, tensor in snapshot.optimizer.items():
        if not _is_state_of_adam(name.rpartition(".")[2], tensor):
            raise CheckpointError(f"The state {name!r} of the optimiser cannot be Adam's.")
    number = len(initial_values(model, plan.preset.training))
    starts = snapshot.history.start
    steps = {later - earlier for earlier, later in pairwise([0, *starts])}
    if not (steps <= {0, 1} and max(starts, default=0) < number and (number > 1 or not starts)):
        raise CheckpointError(f"The epochs do not fit the {number} initial values of the kernel.")


def _is_state_of_adam(name: str, tensor: Tensor) -> bool:
    """Whether Adam can have come to these finite numbers: squares from 0 on, steps whole too."""
    if not tensor.is_floating_point():
        return False
    is_signed, is_whole = name == "exp_avg", name == "step"
    return (is_signed or bool((tensor >= 0).all())) and (
        not is_whole or bool((tensor == tensor.round()).all())
    )


def _check_same_run(
    folder: RunFolder, content: Mapping[str, Any], plan: RunPlan, facts: DataFacts
) -> None:
    """Refuse to go on with a run of other settings or other data."""
    there = plan_of(folder, content).to_dict()
    for kind, settings in plan.to_dict().items():
        for name, value in settings.items():
            other = there.get(kind, {}).get(name)
            if other != value:
                raise RunFolderError(
                    f"{folder.path} holds another run: its {name} is {other}, not {value}."
                )
    with reading(folder.path):
        is_same = from_json(DataFacts, content["data"], "data").agrees_with(facts)
    if not is_same:
        raise RunFolderError(f"{folder.path} holds a run on other data.")
