"""How much memory a device has left."""

from pathlib import Path

import torch

_MEMORY, _GROUP, _GROUPS = Path("/proc/meminfo"), Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def free_bytes(device: torch.device) -> int | None:
    """What can still be taken on this device; None where the system does not say."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        # What PyTorch keeps for later of what it has given back.
        return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    told = [number for number in (_machine(), _container()) if number is not None]
    return min(told, default=None)


def _machine() -> int | None:
    """What Linux says is available without swapping."""
    try:
        return 1024 * _field(_MEMORY, "MemAvailable:")
    except (OSError, ValueError):
        return None


def _container() -> int | None:
    """What the limit of this process's control group leaves, if there is one."""
    try:
        path = _GROUP.read_text().rpartition("0::/")[2].strip()
        folder = _GROUPS / path if (_GROUPS / path / "memory.max").exists() else _GROUPS
        limit, used = (int((folder / f"memory.{name}").read_text()) for name in ("max", "current"))
        # Files that were read lately count as used, but give way.
        return limit - used + _field(folder / "memory.stat", "inactive_file")
    except (OSError, ValueError):
        return None


def _field(file: Path, name: str) -> int:
    for line in file.read_text().splitlines():
        if line.split()[:1] == [name]:
            return int(line.split()[1])
    raise ValueError(f"{file} has no {name}")
