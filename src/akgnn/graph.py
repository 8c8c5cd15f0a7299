"""The graph: an immutable, checked adjacency matrix with its degrees.

One policy holds for every way of building a graph:

- **Direction.** An edge runs from its source to its target, as in PyG: `edge_index[0]` to
  `edge_index[1]`, and entry (i, j) of a SciPy matrix or edge (i, j) of a NetworkX graph is
  i → j. A node sums over the sources of the edges that end in it. Directed input stays
  directed; `symmetrised()` adds the missing directions.
- **Self-loops are dropped.** The kernel adds its own with the weight it learns; a second one
  would give the same λ another meaning at that node.
- **Repeated edges are one edge.** Without weights an edge said twice is said once; given
  weights add up.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.linalg import eigsh
from torch import Tensor

from akgnn.csr import (
    CSR,
    Pattern,
    check_integers,
    check_range,
    check_scipy,
    check_tensor,
    check_values,
    first_not_finite,
    is_device,
    rowptr_from_rows,
)
from akgnn.errors import GraphError
from akgnn.hashing import words_
from akgnn.notebook import card

# An edge is sorted by row · nodes + column, which has to be an int64.
_MOST_NODES = 3_000_000_000
# Degrees of a graph with more edges are not counted merely to show it.
_QUICK = 10_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A graph as the matrix A that multiplies node signals: row i holds i's in-neighbours.

    Attributes:
        adjacency: A, with no diagonal. `adjacency.value` holds the edge weights, or None.
    """

    adjacency: CSR

    def __post_init__(self) -> None:
        if not isinstance(self.adjacency, CSR):
            raise GraphError(
                f"A graph is made of its adjacency as CSR, got {type(self.adjacency).__name__}; "
                "Graph.from_edge_index, from_scipy, from_networkx and from_pyg make one of others."
            )
        rows, columns = self.adjacency.shape
        if rows != columns:
            raise GraphError(f"An adjacency matrix must be square, got {rows} × {columns}.")
        if rows == 0:
            raise GraphError("A graph needs at least one node.")
        if self.adjacency.value is not None:
            check_values("edge_weight", self.adjacency.value, self.adjacency.num_entries)
        pattern = self.adjacency.pattern
        if any(bool((row == pattern.col[part]).any()) for part, row in pattern.blocks()):
            raise GraphError("The adjacency holds self-loops; Graph.from_edge_index drops them.")

    @classmethod
    def from_edge_index(
        cls, edge_index: Tensor, edge_weight: Tensor | None = None, *, num_nodes: int | None = None
    ) -> "Graph":
        """Build from PyG's `edge_index`, shape (2, edges), sources in the first row.

        Args:
            edge_index: Source and target of every edge. An undirected graph lists both
                directions.
            edge_weight: One finite number an edge.
            num_nodes: Needed where the last nodes have no edge; otherwise the largest index
                tells.
        """
        check_tensor("edge_index", edge_index)
        if edge_index.dim() != 2 or edge_index.size(0) != 2:
            raise GraphError(
                f"edge_index must have shape (2, edges), got {list(edge_index.shape)}."
            )
        check_integers("edge_index", edge_index)
        if num_nodes is not None and (not isinstance(num_nodes, int) or num_nodes < 0):
            raise GraphError(f"num_nodes must be an integer from 0 on, got {num_nodes!r}.")
        if num_nodes is None:
            num_nodes = int(edge_index.max()) + 1 if edge_index.numel() else 0
        if num_nodes > _MOST_NODES:
            raise GraphError(f"A graph has at most {_MOST_NODES:,} nodes, got {num_nodes:,}.")
        if edge_index.numel():
            check_range("edge_index mentions node", edge_index, "num_nodes", num_nodes)
        if edge_weight is not None:
            check_values("edge_weight", edge_weight, edge_index.size(1))
        source, target = edge_index
        return cls(_adjacency(target, source, edge_weight, num_nodes))

    @classmethod
    def from_scipy(cls, matrix: Any) -> "Graph":
        """Build from a square SciPy sparse matrix; entry (i, j) is the edge i → j."""
        if sparse.issparse(matrix):
            check_scipy("The adjacency matrix", matrix)
        try:
            coo = sparse.coo_array(matrix)
        except (TypeError, ValueError) as error:
            kind = type(matrix).__name__
            raise GraphError(f"A SciPy sparse matrix is expected, got {kind}.") from error
        if coo.ndim != 2 or coo.shape[0] != coo.shape[1]:
            raise GraphError(f"An adjacency matrix must be square, got {coo.shape}.")
        index = torch.stack([torch.as_tensor(ends, dtype=torch.int64) for ends in coo.coords])
        if np.iscomplexobj(coo.data):
            raise GraphError("Edge weights must be real numbers, got a complex matrix.")
        exact = coo.data.dtype in (np.float32, np.float64)
        weight = torch.as_tensor(coo.data if exact else coo.data.astype(np.float64))
        return cls.from_edge_index(index, weight, num_nodes=int(coo.shape[0]))

    @classmethod
    def from_networkx(cls, graph: Any, *, weight: str = "weight") -> "Graph":
        """Build from a NetworkX graph; node i is the i-th of `graph.nodes`.

        Args:
            graph: Directed or not; the edges of an undirected one count both ways.
            weight: The edge attribute that holds weights, 1 where an edge lacks it.
        """
        if not (hasattr(graph, "nodes") and hasattr(graph, "is_directed")):
            raise GraphError(f"A NetworkX graph is expected, got {type(graph).__name__}.")
        position = {node: index for index, node in enumerate(graph.nodes)}
        edges = list(graph.edges(data=weight))
        ends = [(position[source], position[target]) for source, target, _ in edges]
        index = torch.tensor(ends, dtype=torch.int64).view(-1, 2).T
        is_weighted = any(value is not None for _, _, value in edges)
        try:
            numbers = [1.0 if value is None else float(value) for _, _, value in edges]
        except (TypeError, ValueError) as error:
            raise GraphError(
                f"The edge attribute {weight!r} must hold numbers: {error}."
            ) from error
        values = torch.tensor(numbers, dtype=torch.float64)
        if not graph.is_directed():
            # A self-loop would be listed twice here, but it is dropped anyway.
            index, values = torch.cat([index, index.flip(0)], dim=1), values.repeat(2)
        weights = values if is_weighted else None
        return cls.from_edge_index(index, weights, num_nodes=len(position))

    @classmethod
    def from_pyg(cls, data: Any) -> "Graph":
        """Build from a PyG `Data`: its `edge_index`, `edge_weight` if any, and `num_nodes`."""
        edge_index = getattr(data, "edge_index", None)
        if edge_index is None:
            raise GraphError(f"{type(data).__name__} has no edge_index.")
        weight = getattr(data, "edge_weight", None)
        return cls.from_edge_index(edge_index, weight, num_nodes=data.num_nodes)

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self.adjacency.shape[0]

    @property
    def num_edges(self) -> int:
        """Number of stored directions: an undirected edge counts twice."""
        return self.adjacency.num_entries

    @property
    def edge_weight(self) -> Tensor | None:
        """Weight of every stored direction, or None where all are 1."""
        return self.adjacency.value

    @property
    def edge_index(self) -> Tensor:
        """The edges as PyG writes them, sorted by target."""
        return torch.stack([self.adjacency.pattern.col, self.adjacency.pattern.row]).long()

    @property
    def device(self) -> torch.device:
        """Where the graph lies."""
        return self.adjacency.device

    @cached_property
    def degree(self) -> Tensor:
        """The weighted number of in-neighbours, d = A 1.

        Raises:
            GraphError: Weights add up to more than their type holds.
        """
        counts = self.adjacency.pattern.rowptr.diff()
        weight = self.edge_weight
        if weight is None:
            return counts.float()
        # In float32 the sum over a hub's many edges would lose digits.
        degree = torch.zeros(self.num_nodes, dtype=torch.float64, device=weight.device)
        for part, row in self.adjacency.pattern.blocks():
            degree.index_add_(0, row, weight[part].double())
        degree = degree.to(weight.dtype)
        node = first_not_finite(degree)
        if node is not None:
            # It would count as a node that sees nothing.
            largest = torch.finfo(weight.dtype).max
            raise GraphError(
                f"The edge weights of node {node} add up to more than {largest:.2g}; rescale the "
                "weights."
            )
        return degree

    @cached_property
    def degrees(self) -> tuple[Tensor, Tensor]:
        """The degrees that occur, each once, and which of them every node has."""
        found: tuple[Tensor, Tensor] = torch.unique(self.degree, return_inverse=True)
        return found

    @cached_property
    def mean_degree(self) -> float:
        """The mean of the degrees above 0; 1 where there are none.

        Isolated nodes do not count, so that adding one changes nothing for the others.
        """
        connected = self.degree[self.degree > 0]
        return float(connected.double().mean()) if connected.numel() else 1.0

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether A equals its transpose exactly: an undirected graph.

        Two sums of 64-bit hashes are compared, one over all edges (i, j) with their weights and
        one over the transposed edges. Equal matrices have equal sums; a directed graph is
        taken for undirected with a probability of about 2^-64.
        """
        pattern, weight = self.adjacency.pattern, self.edge_weight
        difference = torch.zeros((), dtype=torch.int64, device=self.device)
        for part, row in pattern.blocks():
            i, j = row.long(), pattern.col[part].long()
            # -0 has the bits of 0 then, which it equals.
            bits = None if weight is None else (weight[part].double() + 0.0).view(torch.int64)
            difference += _fingerprint(i, j, bits, self.num_nodes)
            difference -= _fingerprint(j, i, bits, self.num_nodes)
        return int(difference) == 0

    @cached_property
    def has_negative_weights(self) -> bool:
        """Whether any edge weighs less than 0."""
        weight = self.edge_weight
        return weight is not None and weight.numel() > 0 and float(weight.min()) < 0

    @cached_property
    def transpose(self) -> "Graph":
        """The graph with every edge transposed; itself where it is symmetric."""
        return self if self.is_symmetric else Graph(self.adjacency.transpose)

    @property
    def is_whole(self) -> bool:
        """Whether the columns of the adjacency are its rows; part of a graph has others' too."""
        return True

    def row_blocks(self) -> Iterator[tuple[slice, CSR]]:
        """The adjacency, some rows at a time; of a whole graph all at once."""
        yield slice(0, self.num_nodes), self.adjacency

    def gathered(self, h: Tensor, scale: Tensor | None) -> Iterator[tuple[slice, Tensor]]:
        """The signal, scaled, at the columns of the adjacency, some channels at a time.

        Of a whole graph it is the signal itself, all at once.
        """
        yield slice(0, h.size(-1)), h if scale is None else (scale * h).to(h.dtype)

    @cached_property
    def renormalised(self) -> CSR:
        """GCN's matrix (D + I)^-1/2 (A + I) (D + I)^-1/2, for what needs its single entries."""
        nodes = torch.arange(self.num_nodes, device=self.device)
        row = torch.cat([self.adjacency.pattern.row.long(), nodes])
        col = torch.cat([self.adjacency.pattern.col.long(), nodes])
        weight = self.edge_weight
        ones = torch.ones(len(row), dtype=self.degree.dtype, device=self.device)
        value = ones if weight is None else torch.cat([weight, ones[: self.num_nodes]])
        scale = (self.degree + 1).rsqrt()
        order = torch.argsort(row * self.num_nodes + col)
        row, col = row[order], col[order]
        pattern = Pattern(rowptr_from_rows(row, self.num_nodes), col, self.adjacency.shape)
        return CSR(pattern, scale[row] * value[order] * scale[col])

    @cached_property
    def largest_frequency(self) -> float:
        """The largest eigenvalue of the normalised Laplacian I - D^-1/2 A D^-1/2."""
        shape = self.adjacency.shape
        source, target = self.edge_index.cpu().numpy()
        degree = self.degree.cpu().numpy().astype(np.float64)
        scale = np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1)), 0)
        weight = 1.0 if self.edge_weight is None else self.edge_weight.cpu().numpy()
        matrix = sparse.coo_array((weight * scale[source] * scale[target], (target, source)), shape)
        laplacian = sparse.eye_array(self.num_nodes) - matrix
        if self.num_nodes < 20:
            return float(np.linalg.eigvalsh(laplacian.toarray())[-1])
        # A fixed start makes the iteration, and with it every run, repeat.
        start = np.random.default_rng(0).standard_normal(self.num_nodes)
        return float(eigsh(laplacian, k=1, v0=start, return_eigenvectors=False)[0])

    def symmetrised(self) -> "Graph":
        """The undirected graph max(A, Aᵀ): an edge wherever there was one in either direction."""
        if self.is_symmetric:
            return self
        both = torch.cat([self.edge_index, self.edge_index.flip(0)], dim=1)
        if self.edge_weight is None:
            return Graph.from_edge_index(both, num_nodes=self.num_nodes)
        keys, place = torch.unique(both[1] * self.num_nodes + both[0], return_inverse=True)
        absent = self.edge_weight.new_full((len(keys),), -torch.inf)
        there, back = (absent.index_copy(0, half, self.edge_weight) for half in place.chunk(2))
        index = torch.stack([keys % self.num_nodes, keys // self.num_nodes])
        return Graph.from_edge_index(index, torch.maximum(there, back), num_nodes=self.num_nodes)

    def to(self, device: torch.device | str) -> "Graph":
        """The same graph on another device; itself if it lies there already."""
        return self if is_device(self.device, device) else Graph(self.adjacency.to(device))

    def __repr__(self) -> str:
        kind = "weighted" if self.edge_weight is not None else "unweighted"
        return f"Graph(num_nodes={self.num_nodes}, num_edges={self.num_edges}, {kind})"

    def _repr_html_(self) -> str:
        """Its size and degrees, for notebooks."""
        return card("Graph", self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        """What can be told of it without much work, by name."""
        facts = [("nodes", f"{self.num_nodes:,}")]
        kind = "unweighted" if self.edge_weight is None else "weighted"
        if self.num_edges > _QUICK:
            return [*facts, ("stored directions", f"{self.num_edges:,}, {kind}")]
        pattern = self.adjacency.pattern
        into = pattern.rowptr.diff()
        out = torch.bincount(pattern.col.long(), minlength=self.num_nodes)
        alone = int(((into == 0) & (out == 0)).sum())
        mean = self.num_edges / self.num_nodes
        edges, direction, side = self.num_edges, "directed", "in-"
        if self.is_symmetric:
            edges, direction, side = edges // 2, "undirected", ""
        return [
            *facts,
            ("edges", f"{edges:,}, {direction}, {kind}"),
            (f"{side}neighbours of a node", f"{mean:.1f} on average, {int(into.max()):,} at most"),
            ("nodes without edges", f"{alone:,}"),
        ]


def _adjacency(row: Tensor, col: Tensor, weight: Tensor | None, num_nodes: int) -> CSR:
    """Sort the edges, without self-loops and with repeats joined, into rows."""
    kept = row != col
    key = row[kept].long().mul_(num_nodes).add_(col[kept])
    key, value = join_repeats(key, None if weight is None else weight[kept])
    if value is not None and bool((value == 1).all()):
        value = None
    rowptr = rowptr_from_rows(key // max(num_nodes, 1), num_nodes)
    columns = key.remainder_(max(num_nodes, 1))
    return CSR(Pattern(rowptr, columns, (num_nodes, num_nodes), copy=False), value)


def join_repeats(key: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """The keys of edges, ascending and each once, and the weights of each key added up."""
    if weight is None:
        return torch.unique(key), None
    weight = weight if weight.dtype == torch.float64 else weight.float()
    # Ascending and in float64, so that both directions of an edge add up to the same.
    order = torch.argsort(weight)
    key, place = torch.unique(key[order], return_inverse=True)
    value = torch.zeros(len(key), dtype=torch.float64, device=weight.device)
    return key, value.index_add_(0, place, weight[order].double()).to(weight.dtype)


def _fingerprint(i: Tensor, j: Tensor, bits: Tensor | None, num_nodes: int) -> Tensor:
    """The sum of a hash of each entry (i, j), wrapped around at 64 bits."""
    words = words_(i * num_nodes + j, 0)
    return words.sum() if bits is None else words_(words ^ bits, 0).sum()
