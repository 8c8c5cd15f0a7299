"""The halo: rows of other processes that the edges of this one ask for."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from akgnn.csr import CSR, Pattern, index_dtype
from akgnn.distributed.group import Group
from akgnn.distributed.parts import Rows
from akgnn.graph import Graph

# Columns that are renumbered at a time.
_BLOCK = 2**21
# Of a graph with more nodes so many channels are gathered at a time, where rows of others are
# among them: these take half of the memory or less.
_SMALL_GRAPH, _CHANNELS_AT_ONCE = 2**17, 32
# And so many rows are multiplied at a time: what is made of them until it is scaled stays small.
_ROWS_AT_ONCE = 2**15


def channels_at_once(num_nodes: int, channels: int, *, is_alone: bool) -> int:
    """How many channels of a signal are gathered at a time, in a graph of so many nodes.

    A process that has all nodes gathers all channels: a step of 300,000 nodes on 24 parts takes
    1.00 of that of the whole graph then, with 32 of 64 at a time 1.10.
    """
    few = num_nodes > _SMALL_GRAPH and not is_alone
    return min(channels, _CHANNELS_AT_ONCE) if few else channels


class Halo:
    """Which rows come from other processes, and which go to them.

    Args:
        columns: Nodes that the rows of this process mention, by their new ids, for each part.
        starts: The first new id of each process, and the number of nodes.
        group: The processes.
    """

    def __init__(self, columns: Sequence[Tensor], starts: Sequence[int], group: Group) -> None:
        self._group = group
        self.first, self.last, self.num_nodes = *starts[group.rank : group.rank + 2], starts[-1]
        device = columns[0].device
        self.ids = torch.empty(0, dtype=torch.int64, device=device)
        self._received, self._sent = [0] * group.size, [0] * group.size
        self._rows = self.ids
        if group.size == 1:
            return
        outside = [torch.unique(part[~self._is_own(part)]) for part in columns]
        self.ids = torch.unique(torch.cat(outside).long())
        bounds = torch.searchsorted(self.ids, torch.tensor(starts, device=device))
        self._received = bounds.diff().tolist()
        everyone = torch.stack(group.gather(torch.tensor(self._received)))
        self._sent = everyone[:, group.rank].tolist()
        wanted = torch.empty(sum(self._sent), dtype=torch.int64, device=device)
        group.exchange(wanted, self.ids, self._sent, self._received)
        self._rows = wanted - self.first

    def _is_own(self, columns: Tensor) -> Tensor:
        return (columns >= self.first) & (columns < self.last)

    def positions(self, columns: Tensor) -> Tensor:
        """Where the columns stand: own rows first, then the halo."""
        if self._group.size == 1:
            return columns
        own = self.last - self.first
        dtype = index_dtype(own + len(self.ids))
        positions = torch.empty(len(columns), dtype=dtype, device=columns.device)
        # Block by block: what is needed for a while is far more than the result.
        for block, column in zip(positions.split(_BLOCK), columns.split(_BLOCK), strict=True):
            outside = own + torch.searchsorted(self.ids, column.long())
            block.copy_(torch.where(self._is_own(column), column.long() - self.first, outside))
        return positions

    @property
    def num_processes(self) -> int:
        """How many share the nodes."""
        return self._group.size

    @property
    def num_columns(self) -> int:
        """How many rows a signal has with those of the halo."""
        return self.last - self.first + len(self.ids)

    def join(self, h: Tensor, scale: Tensor | None, out: Tensor) -> None:
        """Put own rows of a signal, scaled, into `out`, and below them the halo."""
        own = out[: len(h)]
        if scale is None:
            own.copy_(h)
        else:
            torch.mul(scale, h, out=own)
        if self._group.size > 1:
            self._group.exchange(out[len(h) :], own[self._rows], self._received, self._sent)


class DividedGraph(Graph):
    """The rows of one process of a graph; their columns are its own nodes and then the halo.

    Args:
        parts: `rowptr`, new ids of the columns, and weights, for each part.
        halo: What the columns mention.
        degree: Degrees of the rows.
        mean_degree: That of the whole graph.
        has_negative_weights: Whether the whole graph has any.
        transpose: The rows of the transposed graph; None where it is the same.
        at_once: Of how many parts a product takes the rows at a time; of all if None. These lie in
            one array for as long as they are needed; a part alone stays where it is.
    """

    def __init__(
        self,
        parts: Sequence[Rows],
        halo: Halo,
        degree: Tensor,
        *,
        mean_degree: float,
        has_negative_weights: bool,
        transpose: "DividedGraph | None" = None,
        at_once: int | None = None,
    ) -> None:
        size = at_once or len(parts)
        groups = [parts[first : first + size] for first in range(0, len(parts), size)]
        if len(groups) == 1:
            # Put together once, and not for every product.
            groups = [[_below_each_other(parts)]]
        blocks = [
            [
                _matrix(rowptr, halo.positions(col), value, halo.num_columns)
                for rowptr, col, value in group
            ]
            for group in groups
        ]
        if halo.num_nodes > _SMALL_GRAPH:
            blocks = [
                piece
                for group in blocks
                for piece in ([[p] for p in _pieces(*group)] if len(group) == 1 else [group])
            ]
        object.__setattr__(self, "_blocks", blocks)
        object.__setattr__(self, "halo", halo)
        # The transposed graph takes turns with this one.
        object.__setattr__(self, "_places", [] if transpose is None else transpose._places)
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
    _blocks: list[list[CSR]]
    _places: list[Tensor]

    @property
    def num_nodes(self) -> int:
        """Number of rows."""
        return self.halo.last - self.halo.first

    @property
    def num_edges(self) -> int:
        """Number of stored directions of these rows."""
        return sum(matrix.num_entries for group in self._blocks for matrix in group)

    @property
    def device(self) -> torch.device:
        """Where the rows lie."""
        return self._blocks[0][0].device

    @property
    def is_whole(self) -> bool:
        """Its columns are not its rows."""
        return False

    def row_blocks(self) -> Iterator[tuple[slice, CSR]]:
        """The rows, those of a few parts at a time."""
        first = 0
        for group in self._blocks:
            last = first + sum(matrix.shape[0] for matrix in group)
            yield slice(first, last), group[0] if len(group) == 1 else _joined(group)
            first = last

    def gathered(self, h: Tensor, scale: Tensor | None) -> Iterator[tuple[slice, Tensor]]:
        """Own rows of a signal, scaled, and below them those of the halo; some channels a time."""
        # On a GPU long rows are added up in an order that depends on the number of channels.
        is_alone = self.halo.num_processes == 1 and h.device.type == "cpu"
        width = channels_at_once(self.halo.num_nodes, h.size(-1), is_alone=is_alone)
        rows = self.halo.num_columns
        place = self._place_for(h, rows * width)
        for part in range(0, h.size(-1), width):
            channels = slice(part, min(part + width, h.size(-1)))
            out = place[: rows * (channels.stop - part)].view(rows, -1)
            own = scale
            if scale is not None and scale.size(-1) > 1:
                own = scale[:, channels]
            self.halo.join(h[:, channels], own, out)
            yield channels, out

    def _place_for(self, h: Tensor, size: int) -> Tensor:
        """So many numbers like those of `h`: one place for all signals, one after the other.

        It stays for the next product: the system would have to fill a new one with zeros.
        """
        places = self._places
        if not places or places[0].dtype != h.dtype or len(places[0]) < size:
            # Let go of it before there is a larger one.
            places.clear()
            places.append(h.new_empty(size))
        return places[0]


def _matrix(rowptr: Tensor, col: Tensor, value: Tensor | None, columns: int) -> CSR:
    shape = (len(rowptr) - 1, columns)
    return CSR(Pattern(rowptr, col, shape, copy=False, ascending=False), value)


def _pieces(matrix: CSR) -> Iterator[CSR]:
    """A few rows of a matrix at a time, with the entries where they are."""
    rowptr, col, value = matrix.pattern.rowptr, matrix.pattern.col, matrix.value
    for first in range(0, matrix.shape[0], _ROWS_AT_ONCE):
        own = rowptr[first : first + _ROWS_AT_ONCE + 1]
        entries = slice(int(own[0]), int(own[-1]))
        own_value = None if value is None else value[entries]
        yield _matrix(own - own[0], col[entries], own_value, matrix.shape[1])


def _joined(group: Sequence[CSR]) -> CSR:
    """Matrices one below the other."""
    rows = [(matrix.pattern.rowptr, matrix.pattern.col, matrix.value) for matrix in group]
    return _matrix(*_below_each_other(rows), group[0].shape[1])


def _below_each_other(parts: Sequence[Rows]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    counts = torch.cat([rowptr.diff() for rowptr, _, _ in parts])
    rowptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    values = [value for _, _, value in parts if value is not None]
    return rowptr, torch.cat([col for _, col, _ in parts]), torch.cat(values) if values else None
