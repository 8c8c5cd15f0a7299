"""The copy bandwidth of a device: what a product that only moves memory cannot beat for long."""

import torch

from akgnn.bench.timing import Task

# Far more than a cache holds. A card needs more work to reach its full speed.
_COPIED = {"cpu": 2**28, "cuda": 2**30}


def copy_task(device: torch.device, num_bytes: int | None = None) -> tuple[Task, int]:
    """A large copy, and the bytes that it reads and writes."""
    size = num_bytes or _COPIED[device.type]
    source = torch.zeros(size, dtype=torch.uint8, device=device)
    target = torch.ones_like(source)
    return lambda: target.copy_(source), 2 * size
