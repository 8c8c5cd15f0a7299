"""How much memory a computation holds at most: that of a device, a process, or its tensors."""

import resource
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from akgnn.machine.device import give_back_freed_memory

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
# Linux counts the pages of a process in batches, and the interpreter takes some for itself.
_SMALLEST_SEEN = 4 * 2**20


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


def extra_bytes(task: Callable[[], object], device: torch.device) -> int | None:
    """The most memory that a task takes beyond what is held before it.

    None where it cannot be told: on a CPU for less than 4 MiB, and elsewhere than on Linux.
    """
    name = str(device)
    give_back_freed_memory()
    before = held_bytes(name)
    reset_peak(name)
    task()
    if before is None:
        return None
    extra = peak_bytes(name) - before
    return extra if device.type == "cuda" or extra >= _SMALLEST_SEEN else None


def _status(field: str) -> int | None:
    """A size in bytes from Linux's account of this process."""
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(field)), None)


def peak_of_tensors(task: Callable[[], object], device: torch.device) -> int:
    """The most bytes of tensors that a task makes and holds at once.

    Small tasks are counted exactly, where the memory of a process is too coarse a measure. What
    operations take for a moment inside themselves is not seen on a CPU.
    """
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        task()
        peak: int = torch.cuda.max_memory_allocated(device)
        return peak - int(before)
    with _Counting() as counting:
        task()
    return int(counting.peak)


class _Counting(TorchDispatchMode):
    """Adds up the storages that operations make, and takes them off when they are freed."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.alive: dict[int, int] = {}
        self.now = self.peak = 0

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        leaves = tree_iter((args, kwargs))
        given = {id(t.untyped_storage()) for t in leaves if isinstance(t, Tensor)}
        for tensor in tree_iter(out):
            if isinstance(tensor, Tensor) and id(tensor.untyped_storage()) not in given:
                self._add(tensor.untyped_storage())
        return out

    def _add(self, storage: torch.UntypedStorage) -> None:
        key = id(storage)
        if key in self.alive:
            return
        self.alive[key] = storage.nbytes()
        self.now += storage.nbytes()
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._free, key)

    def _free(self, key: int) -> None:
        self.now -= self.alive.pop(key, 0)
