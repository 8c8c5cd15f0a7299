"""One run of an experiment inside a worker process: train, measure, write the record."""

from functools import lru_cache
from pathlib import Path

from akgnn.data.node_data import NodeData
from akgnn.errors import AkgnnError
from akgnn.experiments.record import Record, failed_record, finished_record, without_test
from akgnn.training.peak_memory import peak_bytes, reset_peak
from akgnn.training.plan import RunPlan
from akgnn.training.provenance import environment, run_versions
from akgnn.training.run import train_run


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
    except (AkgnnError, MemoryError, RuntimeError, OSError) as error:
        cause = str(error).partition("\n")[0] or type(error).__name__
        return failed_record(plan, cause, versions=run_versions(), environment=environment(device))
    return finished_record(
        result,
        versions=run_versions(),
        environment=environment(device),
        memory=round(peak_bytes(device) / 2**20, 1),
    )


def _data_of(plan: RunPlan) -> RunPlan:
    """The plan of seed 0, which has the same data."""
    return plan.with_seed(0)


@lru_cache(maxsize=4)
def _load(plan: RunPlan, device: str, data_root: Path | None) -> NodeData:
    return plan.load(data_root).to(device)
