"""Runs of an experiment inside a worker process: train, measure, write the records."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from akgnn.data.node_data import NodeData
from akgnn.errors import AkgnnError
from akgnn.experiments.record import Record, failed_record, finished_record, without_test
from akgnn.training.many import most_at_once
from akgnn.training.peak_memory import peak_bytes, reset_peak
from akgnn.training.plan import RunPlan
from akgnn.training.provenance import environment, run_versions
from akgnn.training.train_runs import train_run, train_runs

# What may go wrong with a run that is no mistake in the code.
_FAILURES = (AkgnnError, MemoryError, RuntimeError, OSError)


def do_run(
    plan: RunPlan, device: str, data_root: Path | None = None, *, is_search: bool = False
) -> Record:
    """Train one run; what goes wrong, out of memory included, becomes a record that says so.

    Args:
        plan: The run.
        device: Where to compute.
        data_root: Where PyG's data sets lie.
        is_search: Whether the test nodes are taken away first.
    """
    reset_peak(device)
    try:
        data = _load(_data_of(plan), device, data_root)
        result = train_run(plan, without_test(data) if is_search else data)
    except _FAILURES as error:
        cause = str(error).partition("\n")[0] or type(error).__name__
        return failed_record(plan, cause, versions=run_versions(), environment=environment(device))
    return finished_record(
        result,
        versions=run_versions(),
        environment=environment(device),
        memory=round(peak_bytes(device) / 2**20, 1),
    )


def do_runs(
    plans: Sequence[RunPlan],
    device: str,
    data_root: Path | None = None,
    *,
    is_search: bool = False,
) -> list[Record]:
    """Train runs that differ in their seed alone, side by side.

    What goes wrong with all of them, out of memory say, leaves them without records: alone each of
    them may end, or say what is wrong. On a graph so large that no two fit side by side, the first
    is trained alone and the others have no records.

    Args:
        plans: The runs.
        device: Where to compute.
        data_root: Where PyG's data sets lie.
        is_search: Whether the test nodes are taken away first.
    """
    first = plans[0]
    reset_peak(device)
    try:
        data = _load(_data_of(first), device, data_root)
        data = without_test(data) if is_search else data
        beside = min(len(plans), most_at_once(first.build(data), data, first.strategy()))
        if beside == 1:
            return [do_run(first, device, data_root, is_search=is_search)]
        outcomes = train_runs(plans, data)
    except _FAILURES:
        return []
    about = {**environment(device), "side_by_side": beside}
    memory = round(peak_bytes(device) / 2**20, 1)
    return [
        failed_record(plan, str(outcome), versions=run_versions(), environment=about)
        if isinstance(outcome, AkgnnError)
        else finished_record(outcome, versions=run_versions(), environment=about, memory=memory)
        for plan, outcome in zip(plans, outcomes, strict=True)
    ]


def _data_of(plan: RunPlan) -> RunPlan:
    """The plan of seed 0, which has the same data."""
    return plan.with_seed(0)


@lru_cache(maxsize=4)
def _load(plan: RunPlan, device: str, data_root: Path | None) -> NodeData:
    return plan.load(data_root, device)
