"""Contestants side by side: built, run, measured; one that fails leaves the others alone."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

from akgnn.bench.record import Timed
from akgnn.bench.timing import Task, copy_task, take_turns
from akgnn.errors import AkgnnError
from akgnn.machine.device import free_bytes
from akgnn.machine.memory import extra_bytes

# What PyTorch, PyG and our own ops raise for what they cannot do.
FAILURES = (AkgnnError, RuntimeError, ValueError, MemoryError)


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
    return "".join(char if char.isprintable() else " " for char in line)[:200]


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
