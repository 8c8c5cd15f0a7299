"""From jobs to runs: the one place that trains, and keeps what it trains in folders.

Seeds, folds, ensembles and votes are lists of jobs. Jobs that differ only in their seed train side
by side; the others follow each other.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, islice

from akgnn.data.catalogue import choose_split
from akgnn.data.node_data import NodeData
from akgnn.data.splits import Split
from akgnn.errors import AkgnnError, SettingsError
from akgnn.models.registry import find_model
from akgnn.runs.ensemble import join_members, member_folders, remove_member_folders
from akgnn.runs.folder import RunFolder
from akgnn.runs.keeping import Keeping, KeptRun, Outcome
from akgnn.runs.plan import RunPlan
from akgnn.runs.run import Run
from akgnn.runs.session import Session
from akgnn.runs.vote import Vote
from akgnn.training.batched.fit_many import can_batch, fit_many
from akgnn.training.fit import check_stopping
from akgnn.training.state import Snapshot

# Folders that are locked at the same time: each takes one of the few files a process may open.
_MOST_OPEN = 200


@dataclass(frozen=True)
class Job:
    """A run to train.

    Attributes:
        plan: Its settings; for a vote, the settings of the model with the largest share.
        folder: The folder that keeps it, if any.
        votes: Models of a vote with their shares, the largest first.
        starts: Snapshots at which its models begin, one per model; what a folder holds goes first.
        split: Its split, if it is not that of the data.
    """

    plan: RunPlan
    folder: RunFolder | None = None
    votes: tuple[Vote, ...] = ()
    starts: tuple[Snapshot | None, ...] = ()
    split: Split | None = None

    @cached_property
    def members(self) -> list["Job"]:
        """The jobs of its models if it is an ensemble or a vote, else none."""
        plans = [vote.plan for vote in self.votes]
        if not plans and self.plan.run.ensemble > 1:
            plans = self.plan.members()
        starts = [*self.starts, *[None] * len(plans)]
        folders = member_folders(len(plans), self.folder)
        return [
            Job(plan, folder, starts=(start,))
            for plan, folder, start in zip(plans, folders, starts, strict=False)
        ]


def run_jobs(
    jobs: Sequence[Job], data: NodeData, session: Session | None = None, *, first_index: int = 0
) -> list[Outcome]:
    """Train jobs in their order.

    Args:
        jobs: What to train.
        data: As `plan.load()` gives it, on the device to train on.
        session: How.
        first_index: Index of the first model, for callbacks.

    Returns:
        For each job its run, or the error that ended it, now or in an earlier call.
    """
    session, index = session or Session(), first_index
    outcomes: list[Outcome] = []
    for together in _side_by_side(jobs):
        first = together[0]
        given = first.plan.with_inputs(
            data if first.split is None else data.with_split(first.split)
        )
        if first.members:
            outcomes.append(_train_members(first, given, session, index))
        else:
            outcomes += _train_together(together, given, session, index)
        index += len(first.members) or len(together)
    return outcomes


def run_job(
    job: Job, data: NodeData, session: Session | None = None, *, first_index: int = 0
) -> Run:
    """Train one job, as `run_jobs` does with several.

    Raises:
        DivergedError: A loss stopped being a number, now or in an earlier call.
    """
    (outcome,) = run_jobs([job], data, session, first_index=first_index)
    if isinstance(outcome, AkgnnError):
        raise outcome
    return outcome


def jobs_of(
    plans: Sequence[RunPlan], folders: Sequence[RunFolder | None] | None = None
) -> list[Job]:
    """Return a job for each plan, in the folder of the same position if there are folders."""
    return [
        Job(plan, folder)
        for plan, folder in zip(plans, folders or [None] * len(plans), strict=True)
    ]


def fold_plans(plan: RunPlan, folds: int) -> list[RunPlan]:
    """Return the plan on each fold; the split seed draws the folds.

    Raises:
        SettingsError: There are fewer than two folds.
    """
    if folds < 2:
        raise SettingsError(f"There must be at least 2 folds, got {folds}.")
    splits = [f"fold-{fold}-of-{folds}" for fold in range(folds)]
    return [replace(plan, run=replace(plan.run, split=split)) for split in splits]


def with_own_split(job: Job, data: NodeData) -> Job:
    """Return the job with the split that its plan names, drawn from the data.

    Raises:
        DataError: The split cannot be drawn.
    """
    run = job.plan.run
    return replace(job, split=choose_split(data, run.split or "", run.split_seed))


def trains_batched(plan: RunPlan) -> bool:
    """Whether runs of this plan with other seeds can train in one stacked model."""
    model = find_model(plan.run.model).model_for(plan.preset.model)
    return can_batch(model, plan.strategy())


def _side_by_side(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    """The jobs in their order, neighbors that differ only in their seed together."""
    numbered = list(enumerate(jobs))

    def key(entry: tuple[int, Job]) -> tuple[int, RunPlan, int]:
        number, job = entry
        # Members of one ensemble train together; members of two ensembles do not.
        return (number if job.members else -1, job.plan.with_seed(0), id(job.split))

    for _, group in groupby(numbered, key):
        while together := [job for _, job in islice(group, _MOST_OPEN)]:
            yield together


def _train_together(
    jobs: Sequence[Job], data: NodeData, session: Session, first_index: int
) -> list[Outcome]:
    """Train jobs of one model each that differ only in their seed."""
    # Before anything is written: what cannot be built leaves no folder behind.
    runs = [KeptRun(job.plan, data, job.folder, session.checkpoint_seconds) for job in jobs]
    check_stopping(jobs[0].plan.preset.training, data)
    with ExitStack() as locks:
        for job, run in zip(jobs, runs, strict=True):
            run.open(session.resume, locks)
            if job.starts and job.starts[0] is not None:
                run.begin_at(job.starts[0])
        numbered = dict(enumerate(runs, start=first_index))
        _fit({n: run for n, run in numbered.items() if run.outcome is None}, data, session)
    return [_outcome_of(run) for run in runs]


def _train_members(job: Job, data: NodeData, session: Session, first_index: int) -> Outcome:
    """Train the models of an ensemble or of a vote, and join them into one run."""
    kept = KeptRun(job.plan, data, job.folder, 0, votes=job.votes)
    check_stopping(job.plan.preset.training, data)
    with ExitStack() as locks:
        kept.open(session.resume, locks)
        if kept.outcome is None:
            join_members(kept, run_jobs(job.members, data, session, first_index=first_index))
        remove_member_folders(len(job.members), job.folder)
    return _outcome_of(kept)


def _fit(runs: Mapping[int, KeptRun], data: NodeData, session: Session) -> None:
    """Train what the folders have no outcome of; runs by their index."""
    if not runs:
        return
    missing = list(runs.values())
    plan = missing[0].plan
    fit_many(
        [run.model for run in missing],
        data,
        plan.preset.training,
        seeds=[run.plan.run.seed for run in missing],
        strategy=plan.strategy(),
        resume=[run.snapshot for run in missing],
        callbacks=[*session.callbacks, Keeping(runs)],
        indices=list(runs),
    )


def _outcome_of(run: KeptRun) -> Outcome:
    assert run.outcome is not None, "a run that has been trained has an outcome"
    return run.outcome
