"""The rows of one process: its parts one below the other, and how they are summed with the rest."""

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from akgnn.distributed.group import Group

Span = tuple[int, int]


class PartDivision:
    """The division of rows into parts, of which each process has a few in a row.

    Sums are added up along one binary tree over the parts, whose shape depends on their number
    alone. A process adds up whole branches and sends these, so that few numbers travel.

    Args:
        blocks: The rows of each part that is here.
        spans: The first part of each process, and the one after its last.
        group: The processes.
    """

    def __init__(self, blocks: Sequence[slice], spans: Sequence[Span], group: Group) -> None:
        self.blocks = tuple(blocks)
        self._spans, self._group = tuple(spans), group
        self._selected: WeakTensorKeyDictionary = WeakTensorKeyDictionary()
        # How many rows each process has, once they were asked.
        self._counts: list[int] | None = None

    @property
    def num_parts(self) -> int:
        """The number of parts of all processes."""
        return self._spans[-1][1]

    def total(self, sums: Tensor) -> Tensor:
        """The sum over all parts of all processes; `sums` has a row for each part that is here."""
        first, _ = self._spans[self._group.rank]
        branches = self._branches[self._group.rank]
        own = [_tree_sum(sums[start - first : end - first]) for start, end in branches]
        if self._group.size == 1:
            return own[0]
        counts = [len(branches) for branches in self._branches]
        received = self._group.gather_rows(torch.stack(own), counts)
        known = {
            span: branch
            for branches, tensors in zip(self._branches, received, strict=True)
            for span, branch in zip(branches, tensors, strict=True)
        }
        return _added((0, self.num_parts), known)

    def gathered(self, rows: Tensor) -> Tensor:
        """The rows of all processes, in the order of the parts."""
        if self._group.size == 1:
            return rows
        if self._counts is None:
            own = torch.tensor([self.blocks[-1].stop if self.blocks else 0])
            self._counts = [int(count) for count in self._group.gather(own)]
        return torch.cat(self._group.gather_rows(rows, self._counts))

    def selected(self, rows: Tensor) -> "PartDivision":
        """The division of some rows, given by their numbers, which rise."""
        division: PartDivision | None = self._selected.get(rows)
        if division is None:
            ends = torch.tensor([block.stop for block in self.blocks], device=rows.device)
            stops = torch.searchsorted(rows, ends).tolist()
            starts = [0, *stops[:-1]]
            blocks = [slice(*pair) for pair in zip(starts, stops, strict=True)]
            division = PartDivision(blocks, self._spans, self._group)
            # The nodes of a split are asked for in every epoch.
            self._selected[rows] = division
        return division

    @cached_property
    def _branches(self) -> list[list[Span]]:
        """The largest branches of the tree that lie in each process."""
        return branches_of(self._spans)


def spans_of(num_parts: int, num_processes: int) -> list[Span]:
    """The parts of each process: as many in a row for each as can be."""
    ends = [num_parts * rank // num_processes for rank in range(num_processes + 1)]
    return list(pairwise(ends))


def branches_of(spans: Sequence[Span]) -> list[list[Span]]:
    """The largest branches of the tree over all parts that lie in each process."""
    return [_covering(span, (0, spans[-1][1])) for span in spans]


def _halves(span: Span) -> tuple[Span, Span]:
    first, last = span
    middle = (first + last) // 2
    return (first, middle), (middle, last)


def _covering(inner: Span, branch: Span) -> list[Span]:
    """The largest branches at or below `branch` that make up what `inner` has of it."""
    if inner[0] <= branch[0] and branch[1] <= inner[1]:
        return [branch]
    if inner[1] <= branch[0] or branch[1] <= inner[0]:
        return []
    return [span for half in _halves(branch) for span in _covering(inner, half)]


def _added(span: Span, known: dict[Span, Tensor]) -> Tensor:
    """The sum of a branch, from those of branches below it."""
    if span in known:
        return known[span]
    left, right = _halves(span)
    return _added(left, known) + _added(right, known)


def _tree_sum(sums: Tensor) -> Tensor:
    """The sum of a branch from all its leaves; halves alike are added up in one call."""
    number = len(sums)
    if number == 1:
        return sums[0]
    if number % 2:
        return _tree_sum(sums[: number // 2]) + _tree_sum(sums[number // 2 :])
    left, right = _tree_sum(sums.unflatten(0, (2, -1)).transpose(0, 1)).unbind()
    return left + right
