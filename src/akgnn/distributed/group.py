"""The processes that train together, and what they say to each other."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TypeVar, cast

import torch
import torch.distributed as dist
from torch import Tensor

from akgnn.errors import (
    AkgnnError,
    CheckpointError,
    DataError,
    DivergedError,
    FailedRunsError,
    GraphError,
    OutOfMemoryError,
    RunFolderError,
    SettingsError,
)

T = TypeVar("T")
# What one process may have to tell the others, by its name.
_ERRORS: tuple[type[AkgnnError], ...] = (
    CheckpointError, DataError, DivergedError, GraphError, OutOfMemoryError, RunFolderError,
    SettingsError,
)  # fmt: skip


class Group:
    """All processes of a training, or one alone.

    Args:
        process_group: Torch's, whose members are numbered by their rank in it; None for one process
            that has nobody to talk to.
        control: The same processes by Gloo, for what lies in main memory; the first if None.
        seconds: How long to wait for another process before it counts as gone; torch's own if None.
    """

    def __init__(
        self,
        process_group: dist.ProcessGroup | None = None,
        control: dist.ProcessGroup | None = None,
        seconds: float | None = None,
    ) -> None:
        self._group, self._control = process_group, control or process_group
        self._seconds = seconds
        self.rank = 0 if process_group is None else dist.get_rank(process_group)
        self.size = 1 if process_group is None else dist.get_world_size(process_group)

    def among(self, groups: Sequence[Sequence[int]]) -> "Group":
        """The group that this process is of, where all are told apart into several, by rank.

        All processes ask this at once, with the same groups.
        """
        own = next(members for members in groups if self.rank in members)
        if len(own) == 1:
            return Group()
        if len(own) == self.size:
            return self
        return self._split(groups, groups.index(own))

    def _split(self, groups: Sequence[Sequence[int]], own: int) -> "Group":
        timeout = None if self._seconds is None else timedelta(seconds=self._seconds)

        def made(backend: str | None) -> dist.ProcessGroup:
            # Every process makes all of them, and is a member of one.
            all_ = [dist.new_group(list(g), timeout=timeout, backend=backend) for g in groups]
            return cast(dist.ProcessGroup, all_[own])

        control = None if self._control is self._group else made("gloo")
        return Group(made(None), control, self._seconds)

    def gather(self, tensor: Tensor) -> list[Tensor]:
        """The tensor of every process, all of one shape, by rank."""
        if self._group is None:
            return [tensor]
        everyone = [torch.empty_like(tensor) for _ in range(self.size)]
        group = self._group if tensor.is_cuda else self._control
        dist.all_gather(everyone, tensor.contiguous(), group=group)
        return everyone

    def call_roll(self, seconds: float) -> None:
        """Wait until all processes are here; torch's error names those that are not."""
        if self._group is not None:
            dist.monitored_barrier(self._control, timedelta(seconds=seconds), wait_all_ranks=True)

    def gather_rows(self, rows: Tensor, counts: Sequence[int]) -> list[Tensor]:
        """The rows of every process, of which process i has `counts[i]`."""
        if self._group is None:
            return [rows]
        padded = rows.new_zeros(max(counts), *rows.shape[1:])
        padded[: len(rows)] = rows
        return [each[:count] for each, count in zip(self.gather(padded), counts, strict=True)]

    def gather_bytes(self, payload: bytes) -> list[bytes]:
        """What every process has to say, by rank; never unpickled."""
        if self._group is None:
            return [payload]
        own = torch.frombuffer(bytearray(payload or b" "), dtype=torch.uint8)[: len(payload)]
        counts = [int(count) for count in self.gather(torch.tensor([len(payload)]))]
        if not max(counts):
            return [b""] * self.size
        return [rows.numpy().tobytes() for rows in self.gather_rows(own, counts)]

    def agree_on(self, error: Exception | None) -> None:
        """Go on if no process has an error; else raise the first one's on all of them.

        Raises:
            AkgnnError: That of the first process that has one.
        """
        texts = self.gather_bytes(b"" if error is None else described(error, self.rank))
        first = next((text for text in texts if text), None)
        if first is None:
            return
        if self.size == 1 and error is not None:
            raise error
        raise error_from(first)

    def together(self, do: Callable[[], T]) -> T:
        """Do something that may fail in one process: then all of them fail alike.

        Inside, processes must not talk to each other: one that fails would not take part.
        """
        error: Exception | None = None
        result: T | None = None
        try:
            result = do()
        except (AkgnnError, MemoryError, RuntimeError, OSError) as problem:
            error = problem
        self.agree_on(error)
        return cast(T, result)

    def exchange(
        self, out: Tensor, rows: Tensor, received: Sequence[int], sent: Sequence[int]
    ) -> None:
        """Send `sent[i]` rows to process i, in turn; `out` takes the rows that it sends."""
        assert self._group is not None, "one process has nobody to send to"
        dist.all_to_all_single(out, rows, list(received), list(sent), group=self._group)


def described(error: Exception, rank: int | None = None) -> bytes:
    """An error for other processes: its kind, if they know it, and its line with its rank."""
    kind = next((each for each in _ERRORS if isinstance(error, each)), None)
    if kind is None and isinstance(error, MemoryError):
        kind = OutOfMemoryError
    name = "" if kind is None else kind.__name__
    text = " ".join(str(error).split()) or type(error).__name__
    # What all agreed on says already whose it is.
    is_said = rank is None or text.startswith(("Process ", "Processes "))
    return f"{name}:{text if is_said else f'Process {rank}: {text}'}".encode()


def error_from(words: bytes) -> AkgnnError:
    """The error that another process described."""
    name, _, text = words.decode().partition(":")
    return {kind.__name__: kind for kind in _ERRORS}.get(name, FailedRunsError)(text)
