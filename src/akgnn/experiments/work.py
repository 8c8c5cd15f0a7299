"""Runs of an experiment inside a worker process: train, measure, write the records."""

import os
import resource
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import torch

from akgnn.data.node_data import NodeData
from akgnn.errors import AkgnnError
from akgnn.experiments.record import Record, failed_record, finished_record, without_test
from akgnn.training.many import most_at_once
from akgnn.training.plan import RunPlan
from akgnn.training.run import versions
from akgnn.training.train_runs import train_run, train_runs

# What may go wrong with a run that is no mistake in the code.
_FAILURES = (AkgnnError, MemoryError, RuntimeError, OSError)
_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


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
    _reset_peak_memory()
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
        memory=_peak_memory(device),
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
    _reset_peak_memory()
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
    memory = _peak_memory(device)
    return [
        failed_record(plan, str(outcome), versions=run_versions(), environment=about)
        if isinstance(outcome, AkgnnError)
        else finished_record(outcome, versions=run_versions(), environment=about, memory=memory)
        for plan, outcome in zip(plans, outcomes, strict=True)
    ]


def environment(device: str) -> dict[str, Any]:
    """Where and when a run was computed."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else "cpu"
    return {"device": name, "threads": torch.get_num_threads(), "ended": now}


@cache
def run_versions() -> dict[str, str]:
    """Versions of everything that computes, and the commit where the code lies in a repository.

    A copy without its repository may say the commit in AKGNN_COMMIT.
    """
    commit = os.environ.get("AKGNN_COMMIT") or _git_commit()
    return {**versions(), **({"commit": commit} if commit else {})}


def _git_commit() -> str:
    folder = Path(__file__).parent
    command = [
        "git",
        "-C",
        str(folder),
        "describe",
        "--always",
        "--dirty",
        "--abbrev=12",
        "--exclude=*",
    ]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _data_of(plan: RunPlan) -> RunPlan:
    """The plan of seed 0, which has the same data."""
    return plan.with_seed(0)


@lru_cache(maxsize=4)
def _load(plan: RunPlan, device: str, data_root: Path | None) -> NodeData:
    return plan.load(data_root).to(device)


def _reset_peak_memory() -> None:
    """Let the peak of this run be measured, not that of all runs of the process so far."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    try:
        _RESET.write_text("5")
    except OSError:
        # Only Linux can; elsewhere the peak is that of the whole process.
        return


def _peak_memory(device: str) -> float:
    """The most memory held since the reset, in MiB: the card's, or else the process's."""
    if device.startswith("cuda"):
        return round(torch.cuda.max_memory_allocated(device) / 2**20, 1)
    try:
        lines = _STATUS.read_text().splitlines()
        kibibytes = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        kibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(kibibytes / 1024, 1)
