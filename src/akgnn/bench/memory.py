"""The memory of a task beyond what lay there before, and what is left for it."""

import ctypes
from pathlib import Path

import torch

from akgnn.bench.timing import Task
from akgnn.training.peak_memory import held_bytes, peak_bytes, reset_peak

_MEMINFO = Path("/proc/meminfo")
# Linux counts the pages of a process in batches, and the interpreter takes some for itself.
_SMALLEST_SEEN = 4 * 2**20


def extra_bytes(task: Task, device: torch.device) -> int | None:
    """The most memory that a task takes beyond what is held before it.

    None where it cannot be told: on a CPU for less than 4 MiB, and elsewhere than on Linux.
    """
    place = str(device)
    _return_freed_memory()
    before = held_bytes(place)
    reset_peak(place)
    task()
    if before is None:
        return None
    extra = peak_bytes(place) - before
    return extra if device.type == "cuda" or extra >= _SMALLEST_SEEN else None


def free_bytes(device: torch.device) -> int | None:
    """The memory that is left; None where the system does not say."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    try:
        lines = _MEMINFO.read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(x.split()[1]) for x in lines if x.startswith("MemAvailable")), None)


def _return_freed_memory() -> None:
    """Let the C library give freed memory back; kept, it would hide the next task's need."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
