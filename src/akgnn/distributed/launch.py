"""Processes that torchrun starts: their environment, and how they join each other."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist

from akgnn.distributed.group import Group
from akgnn.errors import AkgnnError, FailedRunsError, SettingsError

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
        device: Where this process computes; processes on GPUs talk by NCCL, others by Gloo.
        seconds: How long to wait for another process before it counts as gone.

    Raises:
        FailedRunsError: Another process is gone.
    """
    if not is_worker():
        yield Group()
        return
    check_restarts()
    backend = "nccl" if device.type == "cuda" else "gloo"
    try:
        dist.init_process_group(backend, timeout=timedelta(seconds=seconds))
        control = None if backend == "gloo" else dist.new_group(backend="gloo")
        yield Group(dist.group.WORLD, control, seconds)
        # Who leaves early takes connections along that others still use.
        dist.barrier(control)
    except RuntimeError as error:
        if isinstance(error, AkgnnError) or not _is_of_others(error):
            raise
        # Gloo's second sentence tells to read logs, of which there are none.
        cause = " ".join(str(error).split()).partition(". ")[0]
        raise FailedRunsError(
            f"Process {os.environ['RANK']} lost the others: {cause}. What was kept stays; "
            "`resume=True` goes on."
        ) from error
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def _is_of_others(error: RuntimeError) -> bool:
    """Whether torch says that another process is gone, or does not answer."""
    words = ("gloo", "nccl", "monitoredbarrier", "connection", "timed out")
    return isinstance(error, dist.DistError) or any(word in str(error).lower() for word in words)
