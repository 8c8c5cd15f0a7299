"""The halo: rows of other processes that the edges of this one ask for."""

from collections.abc import Sequence

import torch
from torch import Tensor

from akgnn.csr import CSR, Pattern, index_dtype
from akgnn.distributed.group import Group
from akgnn.graph import Graph

# Columns that are renumbered at a time.
_BLOCK = 2**21


class Halo:
    """Which rows come from other processes, and which go to them.

    Args:
        columns: Nodes that the rows of this process mention, by their new ids.
        starts: The first new id of each process, and the number of nodes.
        group: The processes.
    """

    def __init__(self, columns: Tensor, starts: Sequence[int], group: Group) -> None:
        self._group = group
        self.first, self.last = starts[group.rank], starts[group.rank + 1]
        outside = columns[(columns < self.first) | (columns >= self.last)]
        self.ids = torch.unique(outside.long())
        bounds = torch.searchsorted(self.ids, torch.tensor(starts, device=self.ids.device))
        self._received: list[int] = bounds.diff().tolist()
        self._sent, self._rows = [0] * group.size, self.ids[:0]
        if group.size > 1:
            asked = torch.tensor(self._received)
            everyone = torch.stack(group.gather(asked))
            self._sent = everyone[:, group.rank].tolist()
            wanted = torch.empty(sum(self._sent), dtype=torch.int64, device=self.ids.device)
            group.exchange(wanted, self.ids, self._sent, self._received)
            self._rows = wanted - self.first

    def positions(self, columns: Tensor) -> Tensor:
        """Where the columns stand: own rows first, then the halo."""
        own = self.last - self.first
        dtype = index_dtype(own + len(self.ids))
        positions = torch.empty(len(columns), dtype=dtype, device=columns.device)
        # Block by block: what is needed for a while is far more than the result.
        for block, column in zip(positions.split(_BLOCK), columns.split(_BLOCK), strict=True):
            is_own = (column >= self.first) & (column < self.last)
            outside = own + torch.searchsorted(self.ids, column.long())
            block.copy_(torch.where(is_own, column.long() - self.first, outside))
        return positions

    def joined(self, h: Tensor) -> Tensor:
        """Own rows, and below them the halo."""
        if self._group.size == 1:
            return h
        out = h.new_empty(len(h) + len(self.ids), *h.shape[1:])
        out[: len(h)] = h
        self._group.exchange(out[len(h) :], h[self._rows], self._received, self._sent)
        return out


class DividedGraph(Graph):
    """The rows of one process of a graph; their columns are its own nodes and then the halo.

    Args:
        rows: `rowptr`, new ids of the columns, and weights.
        halo: What the columns mention.
        degree: Degrees of the rows.
        mean_degree: That of the whole graph.
        has_negative_weights: Whether the whole graph has any.
        transpose: The rows of the transposed graph; None where it is the same.
    """

    def __init__(
        self,
        rows: tuple[Tensor, Tensor, Tensor | None],
        halo: Halo,
        degree: Tensor,
        *,
        mean_degree: float,
        has_negative_weights: bool,
        transpose: "DividedGraph | None" = None,
    ) -> None:
        rowptr, col, value = rows
        own = len(rowptr) - 1
        shape = (own, own + len(halo.ids))
        pattern = Pattern(rowptr, halo.positions(col), shape, copy=False, ascending=False)
        object.__setattr__(self, "adjacency", CSR(pattern, value))
        object.__setattr__(self, "halo", halo)
        # What a graph would find out by itself is known of the whole.
        self.__dict__.update(
            degree=degree,
            mean_degree=mean_degree,
            has_negative_weights=has_negative_weights,
            is_symmetric=transpose is None,
            transpose=self if transpose is None else transpose,
        )
        if transpose is not None:
            transpose.__dict__.update(transpose=self, is_symmetric=False)

    halo: Halo

    @property
    def is_whole(self) -> bool:
        """Its columns are not its rows."""
        return False

    def gather(self, h: Tensor) -> Tensor:
        """Own rows of a signal, and below them those of the halo."""
        return self.halo.joined(h)
