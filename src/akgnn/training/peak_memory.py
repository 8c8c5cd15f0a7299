"""How much memory a computation held at most: the card's, or else the process's."""

import resource
from pathlib import Path

import torch

from akgnn.training.allocator import give_back_freed_memory

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def reset_peak(device: str) -> None:
    """Let the peak count from now on, not from the start of the process."""
    if device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats(device)
    give_back_freed_memory()
    try:
        _RESET.write_text("5")
    except OSError:
        # Only Linux can; elsewhere the peak is that of the whole process.
        return


def peak_bytes(device: str) -> int:
    """The most memory held since the reset."""
    if device.startswith("cuda"):
        return torch.cuda.max_memory_allocated(device)
    return _status("VmHWM") or 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def held_bytes(device: str) -> int | None:
    """The memory held now; None where the system does not say."""
    return torch.cuda.memory_allocated(device) if device.startswith("cuda") else _status("VmRSS")


def _status(field: str) -> int | None:
    """A size in bytes from Linux's account of this process."""
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(field)), None)
