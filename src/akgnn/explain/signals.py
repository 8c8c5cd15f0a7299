"""How smooth labels, features and hidden signals are along the edges of a graph.

With L = I - D^-1/2 A D^-1/2, whose frequencies run from 0 (constant along edges) to 2 (changes sign
at every edge), the share of high-frequency energy of a signal is

    xᵀ L x / (2 xᵀ x)

from 0 to 1, added up over the channels of x before the division. Twice that is the Dirichlet
energy, by which over-smoothing is measured. Nodes without edges have no frequency and are left out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from akgnn.csr import CSR
from akgnn.data.node_data import Homophily, NodeData, homophily_among
from akgnn.graph import Graph
from akgnn.ops.products import matmul

# Rows of a product that are held at a time.
_ROWS = 2**12
# A matrix of more entries takes long enough to be worth less precision.
_MANY_ENTRIES = 2_000_000


@dataclass(frozen=True)
class EnergyShare:
    """How much of a signal changes from node to neighbour.

    Attributes:
        share: Share of high-frequency energy, from 0 to 1; NaN where no node has edges, all values
            are 0, or edges have negative weights, which leave no frequencies.
        expected: The mean share if the same values were dealt out to the nodes at random. Below it
            a signal is smooth along edges, above it rough.
        num_nodes: Nodes that have edges and so were counted.
    """

    share: float
    expected: float
    num_nodes: int


@dataclass(frozen=True)
class Signals:
    """Whether edges of a graph join nodes that are alike.

    Attributes:
        train_homophily: Homophily of the edges between training nodes: all that may be known before
            the test.
        homophily: Homophily of the edges between labelled nodes, those of the test among them.
        labels: Signal of the classes, one channel each, on the graph of the labelled nodes; test
            labels count too.
        features: Signal of the features, on the whole graph; needs no labels.
    """

    train_homophily: Homophily
    homophily: Homophily
    labels: EnergyShare
    features: EnergyShare


def signals_of(data: NodeData) -> Signals:
    """What the graph says of labels and features; for reading a finished run, not for choosing."""
    labelled = (data.y >= 0).nonzero().view(-1)
    classes = F.one_hot(data.y[labelled], data.num_classes)
    return Signals(
        train_homophily=data.train_homophily,
        homophily=homophily_among(data.graph, data.y, labelled),
        labels=high_frequency_share(data.graph, classes, labelled),
        features=high_frequency_share(data.graph, data.x),
    )


def high_frequency_share(graph: Graph, x: Tensor | CSR, nodes: Tensor | None = None) -> EnergyShare:
    """The share of high-frequency energy of a signal; a directed graph counts as undirected.

    Args:
        graph: The graph.
        x: A signal, dense or sparse, one row a node, or one row for each of `nodes`.
        nodes: Take these nodes and the edges between them; all nodes if not given.
    """
    return high_frequency_shares(graph, [x], nodes)[0]


def high_frequency_shares(
    graph: Graph, signals: Sequence[Tensor | CSR], nodes: Tensor | None = None
) -> list[EnergyShare]:
    """The share of each of several signals, as `high_frequency_share`; the graph is read once."""
    nothing = EnergyShare(math.nan, math.nan, 0)
    if graph.has_negative_weights:
        return [nothing for _ in signals]
    matrix = adjacency_of(graph)
    if nodes is not None and len(nodes) < graph.num_nodes:
        chosen = nodes.cpu().numpy()
        matrix = matrix[chosen][:, chosen]
    linked = np.flatnonzero(matrix.sum(1) > 0)
    if not len(linked):
        return [nothing for _ in signals]
    if len(linked) < matrix.shape[0]:
        matrix = matrix[linked][:, linked]
    matrix = normalised(matrix)
    many = _as_csr(matrix) if matrix.nnz > _MANY_ENTRIES else None
    return [
        _energy_share(matrix, _as_array(x), linked)
        if many is None or isinstance(x, CSR)
        else _energy_share_of_many(many, x, torch.from_numpy(linked))
        for x in signals
    ]


def _energy_share(
    matrix: "sparse.csr_array[np.float64]", values: Any, linked: NDArray[np.intp]
) -> EnergyShare:
    """The share of a signal on the linked nodes, whose D^-1/2 A D^-1/2 is given."""
    values = values[linked] if len(linked) < values.shape[0] else values
    energy = float((values * values).sum())
    if energy == 0:
        return EnergyShare(math.nan, math.nan, 0)
    along_edges = 0.0
    for start in range(0, len(linked), _ROWS):
        rows = slice(start, start + _ROWS)
        along_edges += float((values[rows] * (matrix[rows] @ values)).sum())
    sums = values.sum(0)
    of_sums = float((sums * sums).sum())
    return _shares(energy, along_edges, of_sums, float(matrix.sum()), len(linked))


def _energy_share_of_many(matrix: CSR, x: Tensor, linked: Tensor) -> EnergyShare:
    """The same for a large graph, several times as fast: products of single precision."""
    h = x.detach().float().cpu()
    h = h[linked] if len(linked) < len(h) else h
    energy = float(torch.linalg.vector_norm(h, dtype=torch.float64)) ** 2
    if energy == 0:
        return EnergyShare(math.nan, math.nan, 0)
    along_edges = float(matmul(matrix, h).mul_(h).sum(dtype=torch.float64))
    of_sums = float(h.sum(0, dtype=torch.float64).square().sum())
    assert matrix.value is not None
    total = float(matrix.value.sum(dtype=torch.float64))
    return _shares(energy, along_edges, of_sums, total, len(linked))


def _shares(
    energy: float, along_edges: float, of_sums: float, total: float, nodes: int
) -> EnergyShare:
    """The shares of a signal.

    Args:
        energy: Its sum of squares.
        along_edges: Its products over edges, each times the entry of the normalised matrix.
        of_sums: Sum of squares of its sums over the nodes.
        total: Sum of the matrix's entries.
        nodes: How many nodes there are.
    """
    # Dealt out at random, two nodes have the mean product of two different rows in common.
    by_chance = total * (of_sums - energy) / (nodes * (nodes - 1))
    return EnergyShare(
        share=(1 - along_edges / energy) / 2,
        expected=(1 - by_chance / energy) / 2,
        num_nodes=nodes,
    )


def dirichlet_energy(graph: Graph, x: Tensor | CSR) -> float:
    """The Dirichlet energy of a signal over its size, tr(Hᵀ L H) / ‖H‖², from 0 to 2.

    L = I - D^-1/2 A D^-1/2, and ‖H‖² is the sum of squares. Layers that smooth too much bring it
    close to 0: then a node's signal says its degree and no more. "A Note on Over-Smoothing for
    Graph Neural Networks" (2020) has it without the division, which a factor on H would change.
    NaN where `high_frequency_share`, half of it, has none.

    Args:
        graph: The graph; a directed one counts as undirected.
        x: A signal H, dense or sparse, one row a node.
    """
    return 2 * high_frequency_share(graph, x).share


def adjacency_of(graph: Graph) -> "sparse.csr_array[np.float64]":
    """The matrix A of the graph without directions."""
    return _as_matrix(graph.to("cpu").symmetrised().adjacency)


def normalised(matrix: "sparse.csr_array[np.float64]") -> "sparse.csr_array[np.float64]":
    """D^-1/2 A D^-1/2; rows of isolated nodes stay empty."""
    degree: NDArray[np.float64] = np.asarray(matrix.sum(1))
    scale = 1 / np.sqrt(np.where(degree > 0, degree, 1))
    return sparse.csr_array(matrix * scale[:, None] * scale)


def _as_array(x: Tensor | CSR) -> Any:
    """A signal in float64, sparse if it was."""
    return _as_matrix(x.to("cpu")) if isinstance(x, CSR) else x.detach().cpu().double().numpy()


def _as_csr(matrix: "sparse.csr_array[np.float64]") -> CSR:
    """A matrix in single precision, for products."""
    matrix.sort_indices()
    rowptr, col = (torch.from_numpy(part).long() for part in (matrix.indptr, matrix.indices))
    value = torch.from_numpy(matrix.data.astype(np.float32))
    return CSR.from_arrays(rowptr, col, value, matrix.shape)


def _as_matrix(x: CSR) -> "sparse.csr_array[np.float64]":
    matrix: sparse.csr_array[np.float64] = x.to_scipy().astype(np.float64)
    return matrix
