"""Timing tasks side by side: they take turns, so that noise hits all of them alike.

A large copy among them tells what no product that only moves memory can beat for long.
"""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import torch

Name = TypeVar("Name")
Task = Callable[[], Any]

# A sample takes at least so long, by repeating quick tasks within it; longer on a GPU, where one
# task is launched while another runs, as in training.
_SHORTEST, _SHORTEST_ON_GPU, _MOST_LOOPS = 2e-3, 50e-3, 100
# A quicker task runs once unseen before each sample: it must not pay for the cache that whoever had
# the turn before has emptied.
_WARM_BELOW = 0.1
# Far more than a cache holds. A GPU needs more work to reach its full speed.
_COPIED = {"cpu": 2**28, "cuda": 2**30}


def take_turns(
    tasks: Mapping[Name, Task], repetitions: int, device: torch.device
) -> dict[Name, tuple[float, ...]]:
    """The seconds that each task took, repetition by repetition.

    Args:
        tasks: By name; each has been run before.
        repetitions: Samples of each.
        device: Where they compute. On a GPU its own clock is read.
    """
    clock = _cuda_seconds if device.type == "cuda" else _cpu_seconds
    expected = {name: clock(task, 1, device) for name, task in tasks.items()}
    times: dict[Name, list[float]] = {name: [] for name in tasks}
    for _ in range(repetitions):
        for name, task in tasks.items():
            if expected[name] < _WARM_BELOW:
                task()
            times[name].append(clock(task, _loops(expected[name], device), device))
    return {name: tuple(values) for name, values in times.items()}


def _loops(seconds: float, device: torch.device) -> int:
    shortest = _SHORTEST_ON_GPU if device.type == "cuda" else _SHORTEST
    return min(_MOST_LOOPS, max(1, math.ceil(shortest / max(seconds, 1e-9))))


def _cpu_seconds(task: Task, loops: int, device: torch.device) -> float:
    start = time.perf_counter()
    for _ in range(loops):
        task()
    return (time.perf_counter() - start) / loops


def _cuda_seconds(task: Task, loops: int, device: torch.device) -> float:
    with torch.cuda.device(device):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        for _ in range(loops):
            task()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1000 / loops


def copy_task(device: torch.device, num_bytes: int | None = None) -> tuple[Task, int]:
    """A large copy, and the bytes that it reads and writes."""
    size = num_bytes or _COPIED[device.type]
    source = torch.zeros(size, dtype=torch.uint8, device=device)
    target = torch.ones_like(source)
    return lambda: target.copy_(source), 2 * size
