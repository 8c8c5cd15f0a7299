"""The device to train on: which one, what memory it has left, and keeping what is freed."""

import ctypes
import sys
from contextlib import suppress
from pathlib import Path

import torch

from akgnn.errors import DeviceError

_MEMORY, _GROUP, _GROUPS = Path("/proc/meminfo"), Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
# From glibc's malloc.h: above how much freed memory at the end of the heap is given back, and how
# many blocks are mapped by themselves, to be given back as soon as they are freed.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4
_MOST_KEPT = 2**31 - 1
# Of larger blocks glibc learns nothing: they are mapped each by itself, at 32 MiB and above.
_LARGEST_LEARNT = 31 * 2**20
LARGE_SIGNAL = 2**23
"""Bytes from which on a signal is worth giving back as soon as it is freed."""


def choose_device(name: str) -> torch.device:
    """The device called `auto`, `cpu`, `cuda` or `cuda:1`; an error if this machine lacks it."""
    check_defaults()
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError) as error:
        raise DeviceError(f"Unknown device {name!r}; choose from auto, cpu, cuda.") from error
    if device.type not in ("cpu", "cuda"):
        raise DeviceError(f"Device {name!r} is not supported; choose from auto, cpu, cuda.")
    if device.type == "cuda":
        number = torch.cuda.device_count()
        if number == 0:
            raise DeviceError("No CUDA GPU is available here; use `device='cpu'`.")
        if (device.index or 0) >= number:
            raise DeviceError(f"There is no {name}; this machine has {number} GPU(s), from cuda:0.")
    return device


def check_defaults() -> None:
    """Refuse defaults of torch with which no model of ours can be built.

    Raises:
        DeviceError: New tensors would hold no numbers, or not those of our data.
    """
    device, dtype = torch.get_default_device(), torch.get_default_dtype()
    if device.type == "meta":
        raise DeviceError(
            "torch's default device is meta, whose tensors hold no numbers; call "
            "torch.set_default_device('cpu') first."
        )
    if dtype != torch.float32:
        raise DeviceError(
            f"torch's default dtype is {dtype}, but data and models here are float32; call "
            "torch.set_default_dtype(torch.float32) first."
        )


def free_bytes(device: torch.device) -> int | None:
    """What can still be taken on this device; None where the system does not say."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        # What PyTorch keeps for later of what it has given back.
        return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    told = []
    for ask in (_machine, _container):
        # Only Linux says, and not every process has a limit.
        with suppress(OSError, ValueError):
            told.append(ask())
    return min(told, default=None)


def keep_freed_memory() -> None:
    """Let this process keep what an epoch frees, for the next one to use.

    Otherwise glibc returns signals to the system and has them back page by page in every epoch,
    which took a tenth of the time of a run on Cora, a quarter of that of eight side by side, and
    half of a product on a graph of 200,000 nodes. Up to 2 GiB are kept. It concerns the whole
    process, so programs decide about it and not `fit`, which does `show_a_large_block`. Elsewhere
    than on Linux with glibc nothing happens.
    """
    library = _glibc()
    if library is not None:
        library.mallopt(_TRIM_THRESHOLD, _MOST_KEPT)
        library.mallopt(_MMAP_MAX, 0)


def show_a_large_block() -> None:
    """Take a block that glibc learns from once it is freed: it keeps twice as much from then on.

    It learns so from any block below 32 MiB that a program frees, and each epoch frees signals. But
    twice the largest of them is less than all of them, so that epochs of PubMed gave back and took
    again 20 MB each. Nothing is written to the block, and what was set before stays.
    """
    torch.empty(_LARGEST_LEARNT, dtype=torch.uint8)


def give_back_signals() -> None:
    """Let this process give back signals of large graphs as soon as they are freed.

    What `keep_freed_memory` keeps of them is in pieces, between which small blocks lie, and new
    signals do not fit: on a graph of a million nodes that took twice the memory of all signals.
    """
    library = _glibc()
    if library is not None:
        library.mallopt(_MMAP_THRESHOLD, LARGE_SIGNAL)
        # Smaller blocks are kept, as many as a few signals.
        library.mallopt(_TRIM_THRESHOLD, 4 * LARGE_SIGNAL)


def give_back_freed_memory() -> None:
    """Return what was kept to the system, so that it does not count as held."""
    library = _glibc()
    if library is not None:
        library.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None


def size_text(number: int) -> str:
    """A number of bytes for readers."""
    unit, size = ("GiB", 2**30) if number >= 2**30 else ("MiB", 2**20)
    return f"{number / size:.{0 if number >= 100 * size else 1}f} {unit}"


def _machine() -> int:
    """What Linux says is available without swapping."""
    return 1024 * _field(_MEMORY, "MemAvailable:")


def _container() -> int:
    """What the limit of this process's control group leaves."""
    path = _GROUP.read_text().rpartition("0::/")[2].strip()
    folder = _GROUPS / path if (_GROUPS / path / "memory.max").exists() else _GROUPS
    limit, used = (int((folder / f"memory.{name}").read_text()) for name in ("max", "current"))
    # Files that were read lately count as used, but give way.
    return limit - used + _field(folder / "memory.stat", "inactive_file")


def _field(file: Path, name: str) -> int:
    for line in file.read_text().splitlines():
        if line.split()[:1] == [name]:
            return int(line.split()[1])
    raise ValueError(f"{file} has no {name}")
