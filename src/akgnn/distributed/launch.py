"""Processes that torchrun or `run_processes` started: their environment, and how they meet."""

import os
import signal
import socket
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from akgnn.distributed.alarm import Alarm
from akgnn.distributed.group import Group
from akgnn.distributed.meeting import Meeting
from akgnn.errors import AkgnnError, FailedRunsError, OutOfMemoryError, SettingsError

NO_SHARED_STORE = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"
"""Set to 1, processes that torchrun starts anew do not look for those that died."""
_MOST_PROCESSES, _MOST_PORT = 10_000, 65_535
# How long to wait before a process that was not there is called again.
_PAUSE_SECONDS = 0.2


def is_worker() -> bool:
    """Whether this process is one of several that were started together."""
    return bool(os.environ.get("RANK") and os.environ.get("WORLD_SIZE"))


def num_workers() -> int | None:
    """Number of processes that were started together; None if this one was started alone."""
    return _number("WORLD_SIZE", 1, _MOST_PROCESSES) if is_worker() else None


def is_first_here() -> bool:
    """Whether this is the first process of its host, which keeps the files there."""
    return not is_worker() or _number("LOCAL_RANK", 0, _MOST_PROCESSES, default="0") == 0


def is_restart() -> bool:
    """Whether torchrun started this process again, after one died."""
    is_by_torchrun = is_worker() and Meeting.of_this_process() is None
    return is_by_torchrun and _number("TORCHELASTIC_RESTART_COUNT", 0, default="0") > 0


def check_environment() -> None:
    """Refuse variables with which processes cannot find each other.

    Raises:
        SettingsError: One is missing, or out of range.
    """
    if not is_worker():
        for name, other in (("RANK", "WORLD_SIZE"), ("WORLD_SIZE", "RANK")):
            if os.environ.get(name):
                raise SettingsError(
                    f"{name} is set, but {other} is not. Processes need both; unset {name} to "
                    "train in one process."
                )
        return
    size = _number("WORLD_SIZE", 1, _MOST_PROCESSES)
    _number("RANK", 0, size - 1)
    here = _number("LOCAL_WORLD_SIZE", 1, _MOST_PROCESSES, default=str(_MOST_PROCESSES))
    _number("LOCAL_RANK", 0, here - 1, default="0")
    if Meeting.of_this_process() is not None:
        return
    _number("MASTER_PORT", 1, _MOST_PORT)
    if not os.environ.get("MASTER_ADDR"):
        raise SettingsError(
            "MASTER_ADDR is not set. It must be the address of process 0; torchrun sets it."
        )


def own_device(device: torch.device) -> torch.device:
    """The device of this process: of the GPUs of its host that of its number there.

    Where there are more processes than GPUs they share them.
    """
    if device != torch.device("cuda") or not is_worker():
        return device
    rank = _number("LOCAL_RANK", 0, _MOST_PROCESSES, default="0")
    return torch.device("cuda", rank % torch.cuda.device_count())


def backend_for(device: torch.device) -> str:
    """How processes talk: by NCCL if each has a GPU of its own, which it insists on; else Gloo."""
    if device.type != "cuda":
        return "gloo"
    here = _number("LOCAL_WORLD_SIZE", 1, _MOST_PROCESSES, default="1")
    return "nccl" if here <= torch.cuda.device_count() else "gloo"


def check_restarts() -> None:
    """Refuse a start that cannot recover from a process that dies.

    Torchrun starts processes anew with the addresses of the dead ones unless an environment
    variable tells it not to (pytorch#135712).

    Raises:
        SettingsError: Restarts are allowed, but the variable is not set.
    """
    shares = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    restarts = _number("TORCHELASTIC_MAX_RESTARTS", 0, default="0")
    if shares and restarts > 0:
        raise SettingsError(
            f"torchrun may restart processes {restarts} times, but they would find the addresses "
            f"of those that died; start it as {NO_SHARED_STORE}=1 torchrun …"
        )


def _number(name: str, low: int, high: int | None = None, *, default: str = "") -> int:
    """A whole number of the environment."""
    text = os.environ.get(name) or default
    if not text:
        raise SettingsError(f"{name} is not set. Start the processes by torchrun, which sets it.")
    if text.isdecimal() and low <= int(text[:20]) and (high is None or int(text[:20]) <= high):
        return int(text)
    limits = f"of at least {low}" if high is None else f"from {low} to {high}"
    raise SettingsError(f"{name} must be a whole number {limits}, got {text[:40]!r}.")


@contextmanager
def joined(device: torch.device, seconds: float) -> Iterator[Group]:
    """The group of the processes that were started together, or this one alone.

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
        check_environment()
        # Not with the others: torchrun ends all processes once one has said it.
        check_restarts()
        timeout = timedelta(seconds=seconds)
        store, rank, size = _meet(seconds)
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
        if "TORCHELASTIC_RUN_ID" in os.environ:
            kill_stopped_siblings()
        raise alarm.verdict(cause) from error
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def _meet(seconds: float) -> tuple[Any, int, int]:
    """The store where the processes meet, the number of this one, and how many there are."""
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    meeting = Meeting.of_this_process()
    if meeting is None:
        _reach_first(rank, seconds)
        store, rank, size = next(rendezvous("env://", timeout=timedelta(seconds=seconds)))
        return store, rank, size
    try:
        # Torch's types leave it out.
        return dist.FileStore(str(meeting.store), size), rank, size  # type: ignore[attr-defined]
    except RuntimeError as error:
        raise SettingsError(
            f"Processes cannot meet in {meeting.folder}: {' '.join(str(error).split())}. "
            "Let TMPDIR name a folder of a local disk."
        ) from error


def _reach_first(rank: int, seconds: float) -> None:
    """Wait until process 0 takes connections.

    Torch would wait up to three times as long, and write 18 lines about it.
    """
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    has_store = rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    end = time.monotonic() + seconds
    while True:
        try:
            if has_store:
                socket.getaddrinfo(host, port)
            else:
                left = max(_PAUSE_SECONDS, end - time.monotonic())
                socket.create_connection((host, port), left).close()
            return
        # Names can be malformed too.
        except (OSError, UnicodeError) as error:
            cause = getattr(error, "strerror", None) or str(error)
            if time.monotonic() + _PAUSE_SECONDS > end:
                raise FailedRunsError(
                    f"Process {rank} cannot reach process 0 at MASTER_ADDR={host}, "
                    f"MASTER_PORT={port}: {cause}."
                ) from error
        time.sleep(_PAUSE_SECONDS)


def _connected(backend: str, seconds: float, **meeting: Any) -> Group:
    """Connect this process with all others that are at the store."""
    try:
        dist.init_process_group(backend, **meeting)
        timeout = meeting["timeout"]
        control = None if backend == "gloo" else dist.new_group(backend="gloo", timeout=timeout)
    except RuntimeError as error:
        # Of Gloo's threads, each of which wants a stack.
        if "temporarily unavailable" in str(error):
            raise OutOfMemoryError(f"There is no memory for another thread ({error}).") from error
        named = os.environ.get("GLOO_SOCKET_IFNAME")
        if named and "gloo/transport/tcp/device.cc" in str(error):
            known = ", ".join(name for _, name in socket.if_nameindex())
            raise SettingsError(
                f"GLOO_SOCKET_IFNAME={named} names no network interface of this machine that has "
                f"an address. Choose from {known}."
            ) from error
        raise
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
