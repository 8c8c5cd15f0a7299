"""Processes that torchrun starts: their environment, and how they join each other."""

import os
import signal
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from akgnn.distributed.alarm import Alarm
from akgnn.distributed.group import Group
from akgnn.errors import AkgnnError, FailedRunsError, OutOfMemoryError, SettingsError

NO_SHARED_STORE = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"
"""Set to 1, processes that torchrun starts anew do not look for those that died."""


def is_worker() -> bool:
    """Whether torchrun started this process."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def num_workers() -> int | None:
    """How many processes torchrun started; None where it did not start this one."""
    return int(os.environ["WORLD_SIZE"]) if is_worker() else None


def is_first_here() -> bool:
    """Whether this is the first process of its host, which keeps the files there."""
    return os.environ.get("LOCAL_RANK", "0") == "0"


def own_device(device: torch.device) -> torch.device:
    """The device of this process: of the GPUs of its host that of its number there.

    Where there are more processes than GPUs they share them.
    """
    if device != torch.device("cuda") or not is_worker():
        return device
    rank = int(os.environ.get("LOCAL_RANK", "0"))
    return torch.device("cuda", rank % torch.cuda.device_count())


def backend_for(device: torch.device) -> str:
    """How processes talk: by NCCL if each has a GPU of its own, which it insists on; else Gloo."""
    if device.type != "cuda":
        return "gloo"
    here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return "nccl" if here <= torch.cuda.device_count() else "gloo"


def check_restarts() -> None:
    """Refuse a start that cannot recover from a process that dies.

    Torchrun starts processes anew with the addresses of the dead ones unless an environment
    variable tells it not to (pytorch#135712).

    Raises:
        SettingsError: Restarts are allowed, but the variable is not set.
    """
    shares = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    restarts = int(os.environ.get("TORCHELASTIC_MAX_RESTARTS", "0"))
    if shares and restarts > 0:
        raise SettingsError(
            f"torchrun may restart processes {restarts} times, but they would find the addresses "
            f"of those that died; start it as {NO_SHARED_STORE}=1 torchrun …"
        )


def environment_for(number: int) -> dict[str, str]:
    """The environment of so many processes on this machine: they share the cores."""
    threads = str(max(1, (os.cpu_count() or 1) // number))
    own: Mapping[str, str] = {"OMP_NUM_THREADS": threads, NO_SHARED_STORE: "1"}
    return {**os.environ, **{name: os.environ.get(name, value) for name, value in own.items()}}


@contextmanager
def joined(device: torch.device, seconds: float) -> Iterator[Group]:
    """The group of the processes that torchrun started, or this one alone.

    Args:
        device: Where this process computes, as `own_device` has it.
        seconds: How long to wait for another process before it counts as gone.

    Raises:
        FailedRunsError: Another process is gone; its number is in the message.
        AkgnnError: Another process has this error.
    """
    if not is_worker():
        yield Group()
        return
    alarm: Alarm | None = None
    try:
        check_restarts()
        timeout = timedelta(seconds=seconds)
        store, rank, size = next(rendezvous("env://", timeout=timeout))
        alarm = Alarm(store, rank, size)
        if device.type == "cuda":
            # NCCL talks from the current one.
            torch.cuda.set_device(device)
        meeting = {"store": store, "rank": rank, "world_size": size, "timeout": timeout}
        yield _connected(backend_for(device), seconds, **meeting)
        alarm.end()
    except (AkgnnError, MemoryError, OSError, RuntimeError) as error:
        # Torchrun asks all to end when one has ended, but there is something to say yet.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if isinstance(error, AkgnnError) or not _is_of_others(error):
            if alarm is None:
                raise
            if isinstance(error, MemoryError):
                # What did not fit is in their variables, and a line needs memory too.
                _clear_frames(error)
            known = alarm.tell(error)
            if known is None:
                raise
            raise known from error
        # Gloo's second sentence tells to read logs, of which there are none.
        cause = " ".join(str(error).split()).partition(". ")[0]
        if alarm is None:
            raise FailedRunsError(
                f"Process {os.environ['RANK']} did not find the others: {cause}."
            ) from error
        kill_stopped_siblings()
        raise alarm.verdict(cause) from error
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def _connected(backend: str, seconds: float, **meeting: Any) -> Group:
    """Connect this process with all others that are at the store."""
    try:
        dist.init_process_group(backend, **meeting)
        timeout = meeting["timeout"]
        control = None if backend == "gloo" else dist.new_group(backend="gloo", timeout=timeout)
    except RuntimeError as error:
        # Of Gloo's threads, each of which wants a stack.
        if "temporarily unavailable" not in str(error):
            raise
        raise OutOfMemoryError(f"There is no memory for another thread ({error}).") from error
    return Group(dist.group.WORLD, control, seconds)


def _clear_frames(error: BaseException | None) -> None:
    """Let go of what an error, and those that it came from, hold in memory."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


def kill_stopped_siblings() -> None:
    """End processes of the same torchrun that stand still (SIGSTOP).

    The signal by which torchrun ends processes does not reach them, and it waits 30 seconds before
    it sends another, whatever `--shutdown-timeout` says: `SubprocessContext._poll` calls `close`
    without one.
    """
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent = file.read_text().rpartition(")")[2].split()[:2]
            if state == "T" and int(parent) == os.getppid():
                os.kill(int(file.parent.name), signal.SIGKILL)


def _is_of_others(error: Exception) -> bool:
    """Whether torch says that another process is gone, or does not answer."""
    if not isinstance(error, RuntimeError):
        return False
    words = ("gloo", "nccl", "monitoredbarrier", "connection", "timed out")
    return isinstance(error, dist.DistError) or any(word in str(error).lower() for word in words)
