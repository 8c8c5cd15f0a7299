"""Runs of an experiment inside a worker process: train, measure, write the records."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from akgnn.data.node_data import NodeData
from akgnn.errors import AkgnnError
from akgnn.experiments.record import Record, failed_record, finished_record, without_test
from akgnn.machine.memory import peak_bytes, reset_peak
from akgnn.machine.provenance import environment, run_versions
from akgnn.runs.plan import RunPlan
from akgnn.runs.train import train_run, train_runs
from akgnn.training.batched.fit_many import runs_at_once

# What may go wrong with a run that is no mistake in the code.
_FAILURES = (AkgnnError, MemoryError, RuntimeError, OSError)


def do_run(
    plan: RunPlan, device: str, data_root: Path | None = None, *, is_search: bool = False
) -> Record:
    """Train one run; what goes wrong, out of memory included, becomes a record that says so."""
    reset_peak(device)
    try:
        result = train_run(plan, _data_of(plan, device, data_root, is_search))
    except _FAILURES as error:
        cause = str(error).partition("\n")[0] or type(error).__name__
        return failed_record(plan, cause, versions=run_versions(), environment=environment(device))
    about, memory = environment(device), _peak_mebibytes(device)
    return finished_record(result, versions=run_versions(), environment=about, memory=memory)


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
        outcomes = train_runs(plans, data)
    except _FAILURES:
        return []
    about = {**environment(device), "side_by_side": beside}
    memory = _peak_mebibytes(device)
    return [
        failed_record(plan, str(outcome), versions=run_versions(), environment=about)
        if isinstance(outcome, AkgnnError)
        else finished_record(outcome, versions=run_versions(), environment=about, memory=memory)
        for plan, outcome in zip(plans, outcomes, strict=True)
    ]


def _peak_mebibytes(device: str) -> float:
    return round(peak_bytes(device) / 2**20, 1)


def _data_of(plan: RunPlan, device: str, data_root: Path | None, is_search: bool) -> NodeData:
    """The data of a run, which are those of seed 0; of a search without its test nodes."""
    data = _load(plan.with_seed(0), device, data_root)
    return without_test(data) if is_search else data


@lru_cache(maxsize=4)
def _load(plan: RunPlan, device: str, data_root: Path | None) -> NodeData:
    return plan.load(data_root, device)
