"""Running an experiment: what is missing is trained, on all cores, and written down at once."""

import statistics
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from akgnn.data.pyg import PYG_SOURCES, load_pyg
from akgnn.errors import AkgnnError
from akgnn.experiments.record import Record, failed_record
from akgnn.experiments.spec import Spec
from akgnn.experiments.store import RecordStore
from akgnn.experiments.work import do_run
from akgnn.experiments.workers import Death, cores, share_out
from akgnn.training.plan import RunPlan
from akgnn.training.provenance import environment, run_versions

# Larger graphs first, so that no long run is left over for one core at the end.
_SIZE = {"minesweeper": -2, "photo": -1, "pubmed": 0, "citeseer": 1, "cora": 2}


@dataclass(frozen=True)
class Task:
    """A run that is asked for.

    Attributes:
        plan: The run.
        keeps_history: Whether its record must hold every epoch.
        is_search: Whether it must not see the test nodes.
    """

    plan: RunPlan
    keeps_history: bool = False
    is_search: bool = False


@dataclass(frozen=True)
class Progress:
    """How far the runs are.

    Attributes:
        record: The last one.
        done: Runs that ended, of those that were missing.
        total: Runs that were missing.
        seconds_left: A guess from the runs so far.
    """

    record: Record
    done: int
    total: int
    seconds_left: float


def tasks_of(specs: Sequence[Spec], seeds: int | None = None) -> list[Task]:
    """Every run that the specs ask for, each once, in the order to run them."""
    wanted: dict[tuple[RunPlan, bool], Task] = {}
    for spec in specs:
        for cell in spec.cells:
            for plan in cell.plans(seeds):
                key = plan, spec.is_search
                keeps_history = spec.keeps_history or (key in wanted and wanted[key].keeps_history)
                wanted[key] = Task(plan, keeps_history, spec.is_search)
    return sorted(wanted.values(), key=lambda task: _SIZE.get(task.plan.which.dataset, 3))


def missing(
    tasks: Sequence[Task], records: Sequence[Record], *, retry_failed: bool = False
) -> list[Task]:
    """The tasks that no record answers."""
    counted = [record for record in records if record.is_finished or not retry_failed]
    answered = {task for record in counted for task in _answered(record)}
    return [task for task in tasks if task not in answered]


def _answered(record: Record) -> list[Task]:
    """The tasks that a record answers.

    Those of a failed run are all of its plan: it would fail again with its history kept, and it has
    no data by which to tell whether it was a search.
    """
    either = (False, True)
    searches = (record.is_search,) if record.is_finished else either
    histories = (False,) if record.is_finished and record.history is None else either
    return [Task(record.plan, kept, is_search) for kept in histories for is_search in searches]


def run_tasks(
    tasks: Sequence[Task],
    store: RecordStore,
    *,
    device: str = "cpu",
    num_workers: int | None = None,
    data_root: Path | None = None,
    after_run: Callable[[Progress], None] = lambda progress: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> list[Record]:
    """Train the tasks and add their records to the store, which the caller has locked.

    Args:
        tasks: What to train.
        store: Where records go, each as soon as its run has ended.
        device: Where to compute.
        num_workers: Runs at a time; one for each core if not given, one on a GPU.
        data_root: Where PyG's data sets lie.
        after_run: Called after each run.
        should_stop: Once true, the runs in progress are given up.
    """
    number = num_workers or (cores() if device == "cpu" else 1)
    _unpack([task.plan.which.dataset for task in tasks], data_root)
    function = partial(_do_task, device=device, data_root=data_root)
    guess = _TimeLeft(tasks, number)
    records: list[Record] = []
    for task, result in share_out(function, tasks, min(number, len(tasks) or 1), should_stop):
        if isinstance(result, Death):
            result = failed_record(
                task.plan, result.reason, versions=run_versions(), environment=environment(device)
            )
        store.append(result)
        records.append(result)
        after_run(Progress(result, len(records), len(tasks), guess.after(result)))
    return records


def _unpack(datasets: Sequence[str], data_root: Path | None) -> None:
    """Let PyG unpack its data sets once: workers that do it at the same time damage the files."""
    for name in sorted(set(datasets) & set(PYG_SOURCES)):
        # What is wrong with a data set, the record of its first run will say.
        with suppress(AkgnnError):
            load_pyg(name, data_root)


def _do_task(task: Task, *, device: str, data_root: Path | None) -> Record:
    record = do_run(task.plan, device, data_root, is_search=task.is_search)
    return record if task.keeps_history else record.without_history()


class _TimeLeft:
    """Guesses the time left from runs of the same model and data, else from all so far."""

    def __init__(self, tasks: Sequence[Task], num_workers: int) -> None:
        self.left = [_kind(task.plan) for task in tasks]
        self.num_workers = num_workers
        self.seen: dict[tuple[str, str], list[float]] = {}

    def after(self, record: Record) -> float:
        kind = _kind(record.plan)
        self.left.remove(kind)
        self.seen.setdefault(kind, []).append(record.seconds)
        typical = {kind: statistics.fmean(times) for kind, times in self.seen.items()}
        overall = statistics.fmean(typical.values())
        return sum(typical.get(kind, overall) for kind in self.left) / self.num_workers


def _kind(plan: RunPlan) -> tuple[str, str]:
    return plan.which.model, plan.which.dataset
