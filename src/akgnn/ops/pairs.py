"""Pairs of nodes that may become edges: every pair, or a list of them.

A value a pair, in a vector, stands for a symmetric matrix without a diagonal. Both kinds have their
pairs i < j in ascending order, all edges of a graph among them, at the positions `edges`, and offer
the same three functions; with every pair these are dense products, with a list sparse ones.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from akgnn.csr import CSR, Pattern, rowptr_from_rows
from akgnn.errors import GraphError
from akgnn.graph import Graph
from akgnn.hashing import Key
from akgnn.ops.dropout import hashed
from akgnn.ops.products import matmul

_ROWS_AT_ONCE = 512
_PAIRS_AT_ONCE = 2048


class AllPairs:
    """Every pair of nodes: N (N - 1) / 2 of them, so for graphs of some thousand nodes.

    Args:
        graph: Undirected; its weights are not looked at.
    """

    def __init__(self, graph: Graph) -> None:
        self.num_nodes = graph.num_nodes
        row, col = torch.triu_indices(*graph.adjacency.shape, 1, device=graph.device)
        self.index = row * graph.num_nodes + col
        self.edges = torch.searchsorted(self.index, _edge_keys(graph))

    def inner(self, z: Tensor) -> Tensor:
        """⟨z_i, z_j⟩ of each pair."""
        return (z @ z.T).view(-1).index_select(0, self.index)

    def softplus_sum(self, z: Tensor, inner: Tensor, key: Key) -> Tensor:
        """Σ log(1 + exp ⟨z_i, z_j⟩) over all i and j: each pair twice, and the diagonal once."""
        return 2 * F.softplus(inner).sum() + F.softplus(z.square().sum(1)).sum()

    def symmetric(self, values: Tensor) -> Tensor:
        """The symmetric matrix with these values at the pairs and zeros elsewhere, written out."""
        out: Tensor = _Mirrored.apply(values, self.index, self.num_nodes)
        return out


class _Mirrored(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, index: Tensor, num_nodes: int) -> Tensor:
        ctx.index = index
        upper = values.new_zeros(num_nodes * num_nodes).scatter_(0, index, values)
        upper = upper.view(num_nodes, num_nodes)
        return upper + upper.T

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return (grad + grad.T).view(-1).index_select(0, ctx.index), None, None


@dataclass(frozen=True, eq=False)
class ListedPairs:
    """The edges of a graph, at the positions `edges`, and some other pairs; row is below col."""

    row: Tensor
    col: Tensor
    edges: Tensor
    num_nodes: int

    @classmethod
    def most_similar(cls, graph: Graph, signal: Tensor, number: int) -> "ListedPairs":
        """The edges, and for each node the `number` others most like it that it has no edge to.

        Args:
            graph: Undirected; its weights are not looked at.
            signal: Nodes are alike where the cosine between their rows is high.
            number: Candidates a node.
        """
        if number < 1:
            raise GraphError(f"A node needs at least one candidate, got {number}.")
        nodes = graph.num_nodes
        edges = _edge_keys(graph)
        keys = torch.unique(torch.cat([edges, _similar_keys(graph, signal, number)]))
        return cls(keys // nodes, keys % nodes, torch.searchsorted(keys, edges), nodes)

    @cached_property
    def pattern(self) -> Pattern:
        """Where the entries of the symmetric matrix stand."""
        row = torch.cat([self.row, self.col])[self.order]
        col = torch.cat([self.col, self.row])[self.order]
        return Pattern(rowptr_from_rows(row, self.num_nodes), col, (self.num_nodes, self.num_nodes))

    @cached_property
    def order(self) -> Tensor:
        """Which of the pairs, each listed twice, each entry of the symmetric matrix is."""
        both = torch.cat(
            [self.row * self.num_nodes + self.col, self.col * self.num_nodes + self.row]
        )
        return torch.argsort(both)

    def inner(self, z: Tensor) -> Tensor:
        """⟨z_i, z_j⟩ of each pair."""
        return (z.index_select(0, self.row) * z.index_select(0, self.col)).sum(1)

    def softplus_sum(self, z: Tensor, inner: Tensor, key: Key) -> Tensor:
        """The same, estimated without bias from as many random pairs of all as are listed."""
        drawn = hashed(2 * len(self.row), key, z.device).remainder_(self.num_nodes)
        one, other = z.index_select(0, drawn).chunk(2)
        return self.num_nodes**2 * F.softplus((one * other).sum(1)).mean()

    def symmetric(self, values: Tensor) -> "ListedMatrix":
        """The same matrix, in sparse rows."""
        return ListedMatrix(self, values)


@dataclass(frozen=True, eq=False)
class ListedMatrix:
    """A symmetric matrix with learned values at listed pairs."""

    pairs: ListedPairs
    values: Tensor

    def __matmul__(self, h: Tensor) -> Tensor:
        out: Tensor = _ListedProduct.apply(self.pairs, self.values, h)
        return out


class _ListedProduct(torch.autograd.Function):
    """Forward: out = (S + Sᵀ) h. Backward: grad_s = ⟨grad_i, h_j⟩ + ⟨grad_j, h_i⟩ at (i, j)."""

    @staticmethod
    def forward(ctx: Any, pairs: ListedPairs, values: Tensor, h: Tensor) -> Tensor:
        ctx.pairs = pairs
        ctx.save_for_backward(values, h)
        return matmul(_csr(pairs, values), h)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor]:
        values, h = ctx.saved_tensors
        grad_values = _pair_dots(ctx.pairs, grad, h)
        return None, grad_values, matmul(_csr(ctx.pairs, values), grad)


Pairs = AllPairs | ListedPairs
Matrix = Tensor | ListedMatrix


def _pair_dots(pairs: ListedPairs, x: Tensor, y: Tensor) -> Tensor:
    """⟨x_i, y_j⟩ + ⟨x_j, y_i⟩ of each pair, block by block to stay in the cache."""
    blocks = zip(pairs.row.split(_PAIRS_AT_ONCE), pairs.col.split(_PAIRS_AT_ONCE), strict=True)
    dots = [(x[i] * y[j]).addcmul_(x[j], y[i]).sum(1) for i, j in blocks]
    return torch.cat(dots) if dots else x.new_zeros(0)


def _csr(pairs: ListedPairs, values: Tensor) -> CSR:
    return CSR(pairs.pattern, values.repeat(2).index_select(0, pairs.order))


def _edge_keys(graph: Graph) -> Tensor:
    """The number i N + j of every edge i < j, ascending."""
    col, row = graph.adjacency.pattern.col.long(), graph.adjacency.pattern.row.long()
    keys = row * graph.num_nodes + col
    return keys[row < col]


def _similar_keys(graph: Graph, signal: Tensor, number: int) -> Tensor:
    """The numbers i N + j of pairs i < j, one node among the most similar to the other."""
    unit = F.normalize(signal, dim=1)
    nodes = torch.arange(graph.num_nodes, device=graph.device)
    keys = []
    for rows in nodes.split(_ROWS_AT_ONCE):
        alike = unit[rows] @ unit.T
        alike[rows - rows[0], rows] = -torch.inf
        inside = (graph.edge_index[1] >= rows[0]) & (graph.edge_index[1] <= rows[-1])
        source, target = graph.edge_index[:, inside]
        alike[target - rows[0], source] = -torch.inf
        value, col = alike.topk(min(number, graph.num_nodes), dim=1)
        row = rows.unsqueeze(1).expand_as(col)[value > -torch.inf]
        col = col[value > -torch.inf]
        keys.append(torch.minimum(row, col) * graph.num_nodes + torch.maximum(row, col))
    return torch.cat(keys)
