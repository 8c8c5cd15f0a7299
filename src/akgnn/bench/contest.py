"""Contestants side by side: built, run, measured; one that fails leaves the others alone.

Their tasks take turns, so that noise hits all of them alike. A large copy among them tells what no
product that only moves memory can beat for long.
"""

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from akgnn.bench.record import Timed
from akgnn.errors import AkgnnError
from akgnn.machine.device import free_bytes
from akgnn.machine.memory import extra_bytes
from akgnn.text import in_one_line

Name = TypeVar("Name")
Task = Callable[[], Any]

# What PyTorch, PyG and our own ops raise for what they cannot do.
FAILURES = (AkgnnError, RuntimeError, ValueError, MemoryError)
# A sample takes at least so long, by repeating quick tasks within it; longer on a GPU, where one
# task is launched while another runs, as in training.
_SHORTEST, _SHORTEST_ON_GPU, _MOST_LOOPS = 2e-3, 50e-3, 100
# A quicker task runs once unseen before each sample: it must not pay for the cache that whoever had
# the turn before has emptied.
_WARM_BELOW = 0.1
# Far more than a cache holds. A GPU needs more work to reach its full speed.
_COPIED = {"cpu": 2**28, "cuda": 2**30}


@dataclass(frozen=True)
class Contestant:
    """Something to be measured.

    `build` gives its tasks, in the order of their names; that time does not count. `needs` is
    roughly how many bytes it takes.
    """

    name: str
    tasks: tuple[str, ...]
    build: Callable[[], Sequence[Task]]
    needs: int = 0


@dataclass(frozen=True)
class Outcome:
    """What a contest came to: every task of every contestant, and the copy among them."""

    timed: tuple[Timed, ...]
    copied_bytes: int
    copy_seconds: tuple[float, ...]


def measure(contestants: Sequence[Contestant], repetitions: int, device: torch.device) -> Outcome:
    """Warm all of them up, see what memory each task takes, and time them by turns."""
    # Before the others, who may leave no room for it.
    copy, copied_bytes = copy_task(device)
    copy()
    failed: dict[str, str] = {}
    ready: dict[tuple[str, str], Task] = {}
    for each in contestants:
        if lack := shortage(each.needs, device):
            failed[each.name] = lack
            continue
        try:
            tasks = dict(zip(each.tasks, each.build(), strict=True))
            for task in tasks.values():
                task()
        except FAILURES as error:
            failed[each.name] = reason(error)
        else:
            ready |= {(each.name, name): task for name, task in tasks.items()}
        _tidy(device)
    memory = _memory(ready, failed, device)
    ready = {key: task for key, task in ready.items() if key[0] not in failed}
    times = take_turns({**ready, ("copy", ""): copy}, repetitions, device)
    timed = [
        Timed(each.name, task, (), None, failed[each.name])
        if each.name in failed
        else Timed(each.name, task, times[each.name, task], memory[each.name, task])
        for each in contestants
        for task in each.tasks
    ]
    return Outcome(tuple(timed), copied_bytes, times["copy", ""])


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


def shortage(needs: int, device: torch.device) -> str | None:
    """Why something does not fit; None where it may.

    Only for a CPU: the system ends a process that takes too much, where a GPU says no.
    """
    free = free_bytes(device) if device.type == "cpu" else None
    if free is None or needs <= free:
        return None
    return f"does not fit: needs about {_gib(needs)}, {_gib(free)} are free"


def reason(error: Exception) -> str:
    """Why something failed, in a few words."""
    line = str(error).partition("\n")[0] or type(error).__name__
    asked = re.search(r"ried to allocate ([\d.]+) (\w+)", line)
    if isinstance(error, torch.OutOfMemoryError | MemoryError) or asked:
        if asked is None:
            return "out of memory"
        is_bytes = asked[2] == "bytes"
        amount = _gib(int(asked[1])) if is_bytes else f"{float(asked[1]):g} {asked[2]}"
        return f"out of memory, asked for {amount} more"
    return in_one_line(line)[:200]


def _memory(
    ready: Mapping[tuple[str, str], Task], failed: dict[str, str], device: torch.device
) -> dict[tuple[str, str], int | None]:
    """The memory of every task; who no longer fits beside all others is added to the failed."""
    memory = {}
    for (name, task), run in ready.items():
        try:
            memory[name, task] = extra_bytes(run, device)
        except FAILURES as error:
            failed[name] = reason(error)
        _tidy(device)
    return memory


def _tidy(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.empty_cache()


def _gib(num_bytes: int) -> str:
    return f"{num_bytes / 2**30:.1f} GiB"
