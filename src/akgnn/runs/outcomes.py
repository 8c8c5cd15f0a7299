"""From a request to runs: load the data, choose the preset, train, and judge the result."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from akgnn.data.node_data import NodeData
from akgnn.data.tables.settings import TableSettings, paths_of
from akgnn.errors import AkgnnError, DivergedError, RunFolderError, SettingsError
from akgnn.machine.device import choose_device
from akgnn.runs.choice import (
    PRESET,
    Choice,
    candidate_plans,
    choose,
    job_of,
    may_vote,
    seeds_to_vote,
)
from akgnn.runs.config import Config, read_config
from akgnn.runs.data import load_data
from akgnn.runs.folder import RunFolder
from akgnn.runs.hints import hints
from akgnn.runs.jobs import Job, fold_plans, jobs_of, run_jobs, with_own_split
from akgnn.runs.load import kept_votes, plan_of
from akgnn.runs.memory import Sizes, memory_errors_explained
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.request import AUTO, Request
from akgnn.runs.run import Run
from akgnn.runs.session import Session
from akgnn.runs.verdict import verdict_of
from akgnn.runs.vote import Vote
from akgnn.training.callbacks import Callback, StopWhen

if TYPE_CHECKING:
    from akgnn.trackers.tracker import Tracker
    from akgnn.trackers.tracking import Tracking


class Front:
    """What a program shows while a request is carried out; this one shows warnings alone."""

    def remark(self, text: str | Warning) -> None:
        """Show a line about the data or the settings."""
        if isinstance(text, Warning):
            warnings.warn(text, stacklevel=4)

    def choosing(
        self, plans: Sequence[RunPlan], data: NodeData, seeds: int, *, may_vote: bool
    ) -> AbstractContextManager[Sequence[Callback]]:
        """Show how validation compares presets: a context with callbacks of their training."""
        return nullcontext(())

    def training(self, jobs: Sequence[Job]) -> AbstractContextManager[Sequence[Callback]]:
        """Show how jobs train: a context with callbacks of their training."""
        return nullcontext(())


@dataclass(frozen=True, eq=False)
class Runs(Sequence[Run]):
    """What a request came to: one run, or one for each seed or fold.

    Attributes:
        runs: The runs.
        device: Where they were trained.
    """

    runs: tuple[Run, ...]
    device: str

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Run, ...]: ...
    def __getitem__(self, index: int | slice) -> Run | tuple[Run, ...]:
        return self.runs[index]

    def __len__(self) -> int:
        return len(self.runs)

    def __repr__(self) -> str:
        return f"Runs({', '.join(map(repr, self.runs))})"


def carry_out(request: Request, front: Front | None = None) -> Runs:
    """Train what a request asks for.

    Args:
        request: The request, without parts.
        front: What to show meanwhile.

    Raises:
        AkgnnError: Something in the request or the data is wrong, or training failed.
    """
    request.check()
    front, trackers = front or Front(), _trackers(request)
    place = choose_device(request.device)
    folders, held = _folders(request), _held(request)
    kept = kept_plan(request, folders)
    for folder in folders:
        if folder is not None and not request.resume:
            folder.check_free()
    plans = [kept] if kept is not None else _asked_plans(request)
    is_auto = len(plans) > 1
    if plans[-1].run.ensemble > 1:
        request.check_ensemble()
    plan = plans[-1] if request.folds is None else fold_plans(plans[-1], request.folds)[0]
    data = load_data(
        plan, request.data_root, place, force=request.force, nodes=held[0], edges=held[1]
    )
    for hint in hints(plan, data):
        front.remark(hint)
    if not is_auto:
        plans = [plan] if kept is not None or request.folds is not None else plan.candidates(data)
    choice: Choice | None = None
    votes: tuple[Vote, ...] = ()
    if len(plans) > 1:
        choice, votes = _chosen(request, plans, data, front, is_auto=is_auto)
    elif kept is not None and folders[0] is not None and folders[0].holds_run():
        votes = kept_votes(folders[0], folders[0].read())
    plan = (plan if choice is None else choice.chosen.plan).suited_to(data)
    # Whoever looks on wants to see the epochs, so they are trained again.
    known = None if request.callbacks or trackers else choice
    jobs = _jobs(request, plan, folders, votes, known, data)
    runs = _trained(request, jobs, data, trackers, front)
    verdict = verdict_of(runs, data) if request.folds is None else None
    told = [
        replace(run, tables=held, choice=choice, data_root=request.data_root, verdict=verdict)
        for run in runs
    ]
    return Runs(tuple(told), str(place))


def _held(request: Request) -> tuple[Any, Any]:
    """The tables that are in memory, not in files."""
    nodes, edges = request.nodes, request.edges
    return tuple(None if paths_of(table) else table for table in (nodes, edges))  # type: ignore[return-value]


def _folders(request: Request) -> list[RunFolder | None]:
    """The folder of each run."""
    number = request.folds or request.seeds or 1
    if request.out is None:
        return [None] * number
    if request.folds is None and request.seeds is None:
        return [RunFolder(request.out)]
    out, name = RunFolder(request.out).path, "folds" if request.folds else "seeds"
    if RunFolder(out).holds_run():
        raise RunFolderError(f"{out} holds a single run; `{name}` needs a folder of its own.")
    if request.folds is not None:
        return [RunFolder(out / f"fold-{fold}") for fold in range(request.folds)]
    return [RunFolder(out / f"seed-{seed}") for seed in request.several or ()]


def kept_plan(request: Request, folders: Sequence[RunFolder | None]) -> RunPlan | None:
    """The plan of the first run to go on with, which the request may repeat; None without."""
    for folder in folders if request.resume else ():
        if folder is not None and folder.holds_run():
            plan = plan_of(folder, folder.read())
            run = _run_values(request)
            return plan.updated(run, request.changes(), _table_values(request))
    return None


def _run_values(request: Request) -> dict[str, Any]:
    values = request.values(RunSettings.names())
    # The model that was chosen when the run began.
    return {name: value for name, value in values.items() if (name, value) != ("model", AUTO)}


def _table_values(request: Request) -> dict[str, Any]:
    """The options of tables that were given, files by their whole path."""
    values = request.values(TableSettings.names())
    for name in ("nodes", "edges"):
        if name in values:
            values[name] = paths_of(values[name])
    return values


def plan_asked(request: Request) -> RunPlan:
    """The plan of one new run.

    Raises:
        SettingsError: A value does not fit.
    """
    return _asked_plans(request)[-1]


def _asked_plans(request: Request) -> list[RunPlan]:
    """The plan of a new run, or several for validation to choose from."""
    file = Config() if request.config is None else read_config(Path(request.config))
    tables = table_settings(request, file)
    run = {**file.run, **_run_values(request)}

    def plan_of_model(**values: str) -> RunPlan:
        asked = {**run, **values}
        return RunPlan.decide(asked, request.changes(), by_kind=file.preset, tables=tables)

    if request.model != AUTO:
        return [plan_of_model()]
    preset = {} if "preset" in run else {"preset": PRESET}
    return candidate_plans(lambda name: plan_of_model(model=name, **preset))


def table_settings(request: Request, file: Config | None = None) -> TableSettings | None:
    """What a request says of tables, over what a settings file says; None if neither does.

    Raises:
        SettingsError: There is no table of nodes.
    """
    values = {**(file.tables if file else {}), **_table_values(request)}
    if not values:
        return None
    if not values.get("nodes") and request.nodes is None:
        raise SettingsError("Your own tables need `nodes`, the table of the nodes.")
    # Without edges rows are linked to their nearest rows.
    edges = values.get("edges") or ("" if request.edges is not None else ())
    return TableSettings.from_mapping({**values, "edges": edges})


def _chosen(
    request: Request,
    plans: Sequence[RunPlan],
    data: NodeData,
    front: Front,
    *,
    is_auto: bool,
) -> tuple[Choice, tuple[Vote, ...]]:
    """What validation chooses, and the models that vote."""
    # With `model='auto'` validation chooses one model, and several seeds train one preset.
    is_one = request.several is None and plans[0].run.ensemble == 1
    votes = request.vote and not is_auto and is_one and may_vote(plans)
    seeds = seeds_to_vote(data) if votes else 1
    stop = StopWhen(lambda: any(callback.should_stop() for callback in request.callbacks))
    with front.choosing(plans, data, seeds, may_vote=votes) as shown:
        watching = [*shown, stop]
        choice = choose(plans, data, seeds=seeds, callbacks=watching, force=request.force)
    return choice, choice.votes if votes else ()


def _jobs(
    request: Request,
    plan: RunPlan,
    folders: Sequence[RunFolder | None],
    votes: Sequence[Vote],
    choice: Choice | None,
    data: NodeData,
) -> list[Job]:
    if request.folds is not None:
        jobs = jobs_of(fold_plans(plan, request.folds), folders)
        return [with_own_split(job, data) for job in jobs]
    seeds = [plan.run.seed] if request.several is None else request.several
    plans = [plan.with_seed(seed) for seed in seeds]
    return [job_of(plans[0], folders[0], votes, choice), *jobs_of(plans[1:], folders[1:])]


def _trained(
    request: Request,
    jobs: Sequence[Job],
    data: NodeData,
    trackers: Sequence["Tracker"],
    front: Front,
) -> list[Run]:
    """Train all jobs; the first that diverged is raised, once the others are kept."""
    explained = memory_errors_explained(jobs[0].plan, data.y.device, Sizes.of(data))
    with ExitStack() as opened, explained:
        callbacks = [*request.callbacks, *opened.enter_context(front.training(jobs))]
        if trackers:
            callbacks.insert(0, opened.enter_context(_tracking(trackers, jobs)))
        session = Session(
            resume=request.resume,
            checkpoint_seconds=request.checkpoint_seconds,
            callbacks=callbacks,
        )
        outcomes = run_jobs(jobs, data, session)
    return list(_runs_of(jobs, outcomes))


def _runs_of(jobs: Sequence[Job], outcomes: Sequence[Run | AkgnnError]) -> Iterator[Run]:
    for job, outcome in zip(jobs, outcomes, strict=True):
        if isinstance(outcome, DivergedError):
            name = f"Seed {job.plan.run.seed}: " if len(jobs) > 1 else ""
            name = f"Split {job.plan.run.split}: " if job.split is not None else name
            raise DivergedError(f"{name}{outcome}") from outcome
        if isinstance(outcome, AkgnnError):
            raise outcome
        yield outcome


def _trackers(request: Request) -> "list[Tracker]":
    """The trackers that a request names."""
    # Trackers are optional packages.
    from akgnn.trackers.tracking import find_tracker

    return [find_tracker(name) for name in request.track]


def _tracking(trackers: Sequence["Tracker"], jobs: Sequence[Job]) -> "Tracking":
    from akgnn.trackers.tracking import Tracking

    models = [model for job in jobs for model in job.members or [job]]
    return Tracking(trackers, [each.plan for each in models], [each.folder for each in models])
