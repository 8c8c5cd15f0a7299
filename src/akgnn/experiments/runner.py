"""Running an experiment: what is missing is trained, on all cores, and written down at once."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch

from akgnn.data.catalogue import base_name
from akgnn.data.node_data import NodeData
from akgnn.data.published import PYG_SOURCES, load_pyg
from akgnn.errors import AkgnnError
from akgnn.experiments.boosting import boosted_run, is_boosting
from akgnn.experiments.record import Record, failed_record, finished_record
from akgnn.experiments.spec import Spec
from akgnn.experiments.store import RecordStore
from akgnn.experiments.workers import Death, cores, share_out
from akgnn.machine.memory import peak_bytes, reset_peak
from akgnn.machine.provenance import environment, run_versions
from akgnn.runs.jobs import Job, jobs_of, run_job, run_jobs, trains_batched
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.run import Run
from akgnn.training.batched.fit_many import runs_at_once

# What may go wrong with a run that is no mistake in the code.
_FAILURES = (AkgnnError, MemoryError, RuntimeError, OSError)
# Larger graphs first, so that no long run is left over for one core at the end.
_SIZE = {"minesweeper": -2, "photo": -1, "pubmed": 0, "citeseer": 1, "cora": 2}
# The most runs that a worker takes at a time: what it was doing is lost when the program stops.
# On a GPU many more take hardly longer.
_MOST_TOGETHER, _MOST_ON_GPU = 20, 200
# What a worker is given of a GPU's memory, of which its own libraries take about 0.6 GiB.
_GPU_BYTES_OF_WORKER = 4 * 2**30


@dataclass(frozen=True)
class Task:
    """A run that is asked for: its record may have to hold every epoch, or no test nodes.

    Where a row chooses it `is_compared`, and needs the score that choices go by.
    """

    plan: RunPlan
    keeps_history: bool = False
    is_search: bool = False
    is_compared: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Progress:
    """How far the runs are: the last record, and how many are done of those that were missing."""

    record: Record
    done: int
    total: int
    seconds_left: float


def tasks_of(specs: Sequence[Spec], seeds: int | None = None) -> list[Task]:
    """Every run that the specs ask for, each once, in the order to run them."""
    wanted: dict[tuple[RunPlan, bool], Task] = {}
    compared = {
        plan
        for spec in specs
        for cell in spec.cells
        for each in cell.among
        for plan in each.plans(seeds)
    }
    for spec in specs:
        for cell in spec.cells:
            for plan in cell.plans(seeds):
                key = plan, spec.is_search
                keeps_history = spec.keeps_history or (key in wanted and wanted[key].keeps_history)
                wanted[key] = Task(plan, keeps_history, spec.is_search, plan in compared)
    return sorted(wanted.values(), key=lambda task: _SIZE.get(base_name(task.plan.run.dataset), 3))


def missing(
    tasks: Sequence[Task], records: Sequence[Record], *, retry_failed: bool = False
) -> list[Task]:
    """The tasks that no record answers."""
    counted = [record for record in records if record.is_finished or not retry_failed]
    answered = {task for record in counted for task in _answered(record)}
    # Records of early versions lack the log loss.
    comparable = {r.plan for r in counted if not r.is_finished or "val_log_loss" in r.metrics}
    return [
        task
        for task in tasks
        if task not in answered or (task.is_compared and task.plan not in comparable)
    ]


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
    before_runs: Callable[[Sequence[RunPlan]], None] = lambda plans: None,
    after_run: Callable[[Progress], None] = lambda progress: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> list[Record]:
    """Train the tasks and add their records to the store, which the caller has locked.

    Args:
        tasks: What to train.
        store: Where records go, each as soon as its run has ended.
        device: Where to compute.
        num_workers: Workers at a time, as `workers_for` has it if not given. Each trains seeds of
            one plan side by side where the model can.
        data_root: Where PyG's data sets lie.
        before_runs: Called when a worker begins with runs, which it trains side by side.
        after_run: Called after each run.
        should_stop: Asked a few times a second; once true, the runs in progress are given up.
    """
    number = num_workers or workers_for(device)
    _unpack([base_name(task.plan.run.dataset) for task in tasks], data_root)
    function = partial(_do_tasks, device=device, data_root=data_root)
    guess = _TimeLeft(tasks, number)
    records: list[Record] = []
    alone: list[Task] = []
    # On a GPU twenty runs take hardly longer than one: workers share cells, not the runs of a cell.
    shares = (number, _MOST_TOGETHER) if device == "cpu" else (1, _MOST_ON_GPU)
    batches = batches_of(tasks, *shares)

    def begin(batch: Sequence[Task]) -> None:
        before_runs([task.plan for task in batch])

    while batches and not should_stop():
        workers = min(number, len(batches))
        for batch, result in share_out(function, batches, workers, should_stop, begin):
            if isinstance(result, Death):
                result = _after_death(batch, result, device)
            for record in result:
                store.append(record)
                records.append(record)
                after_run(Progress(record, len(records), len(tasks), guess.after(record)))
            answered = {record.plan for record in result}
            alone += [task for task in batch if task.plan not in answered]
        batches, alone = [(task,) for task in alone], []
    return records


def workers_for(device: str) -> int:
    """One worker for each core; on a GPU fewer where its memory is small."""
    if device == "cpu":
        return cores()
    memory = torch.cuda.get_device_properties(device).total_memory
    return max(1, min(cores(), memory // _GPU_BYTES_OF_WORKER))


def batches_of(
    tasks: Sequence[Task], num_workers: int, most: int = _MOST_TOGETHER
) -> list[tuple[Task, ...]]:
    """The tasks in their order, those that differ in their seed alone together.

    They are shared out evenly among the workers, at most `most` at a time.
    """
    together: dict[Task, list[Task]] = {}
    for task in tasks:
        is_alone = is_boosting(task.plan) or not trains_batched(task.plan)
        key = task if is_alone else replace(task, plan=task.plan.with_seed(0))
        together.setdefault(key, []).append(task)
    batches = []
    for group in together.values():
        size = min(most, -(-len(group) // num_workers))
        batches += [tuple(group[first : first + size]) for first in range(0, len(group), size)]
    return batches


def _unpack(datasets: Sequence[str], data_root: Path | None) -> None:
    """Let PyG unpack its data sets once: workers that do it at the same time damage the files."""
    for name in sorted(set(datasets) & set(PYG_SOURCES)):
        # What is wrong with a data set, the record of its first run will say.
        with suppress(AkgnnError):
            load_pyg(name, data_root)


def _do_tasks(batch: tuple[Task, ...], *, device: str, data_root: Path | None) -> list[Record]:
    """The records of a batch, or of a part of it: what has none is to be trained alone."""
    plans, is_search = [task.plan for task in batch], batch[0].is_search
    if len(plans) == 1:
        records = [do_run(plans[0], device, data_root, is_search=is_search)]
    else:
        records = do_runs(plans, device, data_root, is_search=is_search)
    keeps_history = batch[0].keeps_history
    return records if keeps_history else [record.without_history() for record in records]


def do_run(
    plan: RunPlan, device: str, data_root: Path | None = None, *, is_search: bool = False
) -> Record:
    """Train one run; what goes wrong, out of memory included, becomes a record that says so."""
    # Trees grow on the CPU.
    device = "cpu" if is_boosting(plan) else device
    reset_peak(device)
    outcome: Run | Exception
    about = environment(device)
    try:
        data = _data_of(plan, device, data_root, is_search)
        if is_boosting(plan):
            outcome, chosen = boosted_run(plan, data)
            about |= chosen
        else:
            outcome = run_job(Job(plan), data)
    except _FAILURES as error:
        outcome = error
    return _record_of(plan, outcome, device, about)


def do_runs(
    plans: Sequence[RunPlan], device: str, data_root: Path | None = None, *, is_search: bool = False
) -> list[Record]:
    """Train runs that differ in their seed alone, side by side.

    What goes wrong with all of them, out of memory say, leaves them without records: alone each of
    them may end, or say what is wrong. On a graph so large that no two fit side by side, the first
    is trained alone and the others have no records.
    """
    first = plans[0]
    reset_peak(device)
    try:
        data = _data_of(first, device, data_root, is_search)
        beside = min(len(plans), runs_at_once(first.build(data), data, first.strategy()))
        if beside == 1:
            return [do_run(first, device, data_root, is_search=is_search)]
        outcomes = run_jobs(jobs_of(plans), data)
    except _FAILURES:
        return []
    about = {**environment(device), "side_by_side": beside}
    pairs = zip(plans, outcomes, strict=True)
    return [_record_of(plan, outcome, device, about) for plan, outcome in pairs]


def _record_of(
    plan: RunPlan, outcome: Run | Exception, device: str, about: Mapping[str, Any]
) -> Record:
    if isinstance(outcome, Exception):
        cause = str(outcome).partition("\n")[0] or type(outcome).__name__
        return failed_record(plan, cause, versions=run_versions(), environment=about)
    memory = round(peak_bytes(device) / 2**20, 1)
    return finished_record(outcome, versions=run_versions(), environment=about, memory=memory)


def _data_of(plan: RunPlan, device: str, data_root: Path | None, is_search: bool) -> NodeData:
    """The data of a run, which are those of seed 0; of a search without its test nodes."""
    # What trains on the data does not change them.
    named = replace(plan.run, seed=0, model="akgnn", preset="paper")
    data = plan.with_inputs(_load(named, device, data_root))
    return data.without_test() if is_search else data


@lru_cache(maxsize=16)
def _load(run: RunSettings, device: str, data_root: Path | None) -> NodeData:
    return RunPlan.make(run).load(data_root, device)


def _after_death(batch: tuple[Task, ...], death: Death, device: str) -> list[Record]:
    """The record of a run that a worker died of; of several none, as one alone was the cause."""
    if len(batch) > 1:
        return []
    plan, about = batch[0].plan, environment(device)
    return [failed_record(plan, death.reason, versions=run_versions(), environment=about)]


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
    return plan.run.model, plan.run.dataset
