"""What a cut costs: how evenly it divides the work, and how many rows processes send each other.

The halo of some rows is the nodes beside them: those of other parts whose values are needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from akgnn.distributed.division import spans_of
from akgnn.distributed.exchange import channels_at_once
from akgnn.distributed.parts import Part
from akgnn.hashing import signed

_FLOAT, _INDEX, _LONG = 4, 4, 8
# Signals that a step holds at its peak, in the backward pass of a layer, beside one a layer: what
# enters the layers, and the transform's before dropout; the gradients of the readout, of the layer
# and that behind its mask, and the product. Of the last layer the first two are one, but the
# result of that layer is there still.
_MORE_SIGNALS = 5
# Numbers a node that every layer keeps for its backward pass: its scalings c⁻¹, a c⁻¹ and c^(-½).
_SCALINGS = 3
# Beside the entries: where rows begin and degrees, 4 bytes each; original ids and classes, 8 each.
_NODE = 2 * _INDEX + 2 * _LONG
# A row of the halo: its id here, and its number where it is sent from.
_HALO_IDS = 2 * _LONG
# Signals of bfloat16 go through the fused operations of a GPU, which keep no scalings and gather
# nothing in one process. This many of them beside one a layer, 8 bytes a node of the graph, and
# two places for the halo, are supposed.
_FUSED_SIGNALS, _FUSED_NODE, _FUSED_HALOS = 6, 8, 2
MOST_PROCESSES = 64
"""For more processes halos are not counted: there is a bit of a word for each."""


@dataclass(frozen=True)
class Memory:
    """Bytes that a step takes beside the interpreter.

    Attributes:
        graph: Entries and rows.
        features: What the nodes come with.
        signals: What a step keeps of each layer, and beside that.
        halo: Rows of other processes.
    """

    graph: int
    features: int
    signals: int
    halo: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.graph + self.features + self.signals + self.halo


@dataclass(frozen=True)
class Share:
    """What the process that has the most of each has, where parts are shared out in their order.

    Attributes:
        processes: Number of processes.
        nodes: Number of nodes.
        edges: Number of entries, those of the transpose among them.
        feature_bytes: Size of the features.
        halo: Rows of other processes that a product needs.
        transpose_halo: The same of the transposed graph.
    """

    processes: int
    nodes: int
    edges: int
    feature_bytes: int
    halo: int
    transpose_halo: int

    def bytes_received(
        self,
        *,
        num_layers: int,
        channels: int,
        number_bytes: int = _FLOAT,
        forward: int = 1,
    ) -> int:
        """The rows of the halo that a step receives: for each layer, forward and backward.

        An evaluation goes forward once more, and so does a step that computes signals again.
        """
        rows = forward * self.halo + self.transpose_halo
        return num_layers * rows * channels * number_bytes

    def memory(self, *, num_layers: int, channels: int, number_bytes: int = _FLOAT) -> Memory:
        """Bytes that a step takes beside the interpreter, where so many channels are at once."""
        row, halo = channels * number_bytes, max(self.halo, self.transpose_halo)
        if number_bytes < _FLOAT:
            return Memory(
                graph=_INDEX * self.edges + _FUSED_NODE * self.nodes,
                features=self.feature_bytes,
                signals=(num_layers + _FUSED_SIGNALS) * self.nodes * row,
                halo=_FUSED_HALOS * halo * row,
            )
        # Own rows and those of the halo lie in one place, of several processes a few channels at a
        # time; rows that others ask for, about as many, are put together before they are sent.
        is_alone = self.processes == 1
        width = channels_at_once(self.nodes * self.processes, channels, is_alone=is_alone)
        place = width * number_bytes
        node = (num_layers + _MORE_SIGNALS) * row + num_layers * _SCALINGS * _FLOAT + place
        return Memory(
            graph=_INDEX * self.edges + _NODE * self.nodes,
            features=self.feature_bytes,
            signals=node * self.nodes,
            halo=(2 * place + _HALO_IDS) * halo,
        )


@dataclass(frozen=True)
class CutCosts:
    """What a cut comes to.

    Attributes:
        cut: Its name, such as `metis`.
        work_balance: Largest work of a part, degrees plus a mean degree for each node, divided by
            the mean over parts; 1 is even.
        edge_cut: Share of the entries whose ends lie in different parts.
        largest_halo: Most rows of other parts that a part needs.
        shares: What processes have, for 1, 2, 4 … of them.
    """

    cut: str
    work_balance: float
    edge_cut: float
    largest_halo: int
    shares: tuple[Share, ...]


class Survey:
    """Looks at the parts one after another, and then knows what the cut costs.

    Of each node it keeps which of 64 groups of parts need it, a bit a group. The parts of fewer
    processes are those of several such groups.

    Args:
        starts: The first node of each part, and the number of nodes.
        num_groups: At most 64, for other numbers of processes than powers of two.
    """

    def __init__(self, starts: Sequence[int], num_groups: int | None = None) -> None:
        self._starts = tuple(starts)
        self._parts: list[tuple[int, int, int]] = []
        self._largest_halo = 0
        power = 1 << min(self.num_parts, MOST_PROCESSES).bit_length() - 1
        self._num_groups = power if num_groups is None else num_groups
        self._groups = spans_of(self.num_parts, self._num_groups)
        self._needed = torch.zeros(self._starts[-1], dtype=torch.int64)
        self._needed_back: Tensor | None = None
        self._entries = self._outside = 0

    @property
    def num_parts(self) -> int:
        """Number of parts."""
        return len(self._starts) - 1

    def add(self, part: Part) -> None:
        """Look at the next part."""
        self._mark(self._needed, part.index, part.col)
        edges = len(part.col)
        if part.transpose is not None:
            if self._needed_back is None:
                self._needed_back = torch.zeros_like(self._needed)
            col = part.transpose[1]
            self._mark(self._needed_back, part.index, col)
            edges += len(col)
        self._parts.append((part.num_nodes, edges, _feature_bytes(part)))

    def _mark(self, needed: Tensor, index: int, col: Tensor) -> None:
        """Set the bit of the part's group at the nodes in its halo."""
        low, high = self._starts[index : index + 2]
        is_outside = (col < low) | (col >= high)
        self._entries += len(col)
        self._outside += int(is_outside.sum())
        halo = torch.unique(col[is_outside])
        group = next(g for g, (_, stop) in enumerate(self._groups) if index < stop)
        needed[halo.long()] |= signed(1 << group)
        self._largest_halo = max(self._largest_halo, len(halo))

    def costs(self, cut: str) -> CutCosts:
        """What the cut of this name comes to, once all parts were added."""
        nodes, edges, _ = zip(*self._parts, strict=True)
        mean = sum(edges) / sum(nodes)
        work = [e + n * mean for n, e in zip(nodes, edges, strict=True)]
        # Without edges all that is left is the nodes.
        work = work if mean else [float(n) for n in nodes]
        numbers = [1 << power for power in range(self._num_groups.bit_length())]
        return CutCosts(
            cut=cut,
            work_balance=max(work) * len(work) / sum(work),
            edge_cut=self._outside / self._entries if self._entries else 0.0,
            largest_halo=self._largest_halo,
            shares=tuple(self.share(number) for number in numbers),
        )

    def share(self, processes: int) -> Share:
        """What the process with most has, of so many, which divide the number of groups."""
        groups = [range(*span) for span in spans_of(self.num_parts, processes)]
        nodes, edges, features = (
            max(sum(self._parts[p][n] for p in group) for group in groups) for n in range(3)
        )
        halo = self._most_halo(self._needed, processes)
        back = halo if self._needed_back is None else self._most_halo(self._needed_back, processes)
        return Share(processes, nodes, edges, features, halo, back)

    def _most_halo(self, needed: Tensor, processes: int) -> int:
        """The most nodes of other processes that one of them needs."""
        each, most = self._num_groups // processes, 0
        for first in range(0, self._num_groups, each):
            low = self._starts[self._groups[first][0]]
            high = self._starts[self._groups[first + each - 1][1]]
            is_needed = (needed & signed(((1 << each) - 1) << first)) != 0
            most = max(most, int(is_needed[:low].sum()) + int(is_needed[high:].sum()))
        return most


def _feature_bytes(part: Part) -> int:
    if isinstance(part.x, Tensor):
        return part.x.numel() * part.x.element_size()
    return part.x.num_entries * (_INDEX + (0 if part.x.value is None else _FLOAT))
