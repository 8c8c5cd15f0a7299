"""The processes that train together, and what they say to each other."""

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor


class Group:
    """All processes of a training, or one alone.

    Args:
        process_group: Torch's, whose members are numbered by their rank in it; None for one process
            that has nobody to talk to.
    """

    def __init__(self, process_group: dist.ProcessGroup | None = None) -> None:
        self._group = process_group
        self.rank = 0 if process_group is None else dist.get_rank(process_group)
        self.size = 1 if process_group is None else dist.get_world_size(process_group)

    def gather(self, tensor: Tensor) -> list[Tensor]:
        """The tensor of every process, all of one shape, by rank."""
        if self._group is None:
            return [tensor]
        everyone = [torch.empty_like(tensor) for _ in range(self.size)]
        dist.all_gather(everyone, tensor.contiguous(), group=self._group)
        return everyone

    def gather_rows(self, rows: Tensor, counts: Sequence[int]) -> list[Tensor]:
        """The rows of every process, of which process i has `counts[i]`."""
        if self._group is None:
            return [rows]
        padded = rows.new_zeros(max(counts), *rows.shape[1:])
        padded[: len(rows)] = rows
        return [each[:count] for each, count in zip(self.gather(padded), counts, strict=True)]

    def exchange(
        self, out: Tensor, rows: Tensor, received: Sequence[int], sent: Sequence[int]
    ) -> None:
        """Send `sent[i]` rows to process i, in turn; `out` takes the rows that it sends."""
        assert self._group is not None, "one process has nobody to send to"
        dist.all_to_all_single(out, rows, list(received), list(sent), group=self._group)
