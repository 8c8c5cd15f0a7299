"""The spectrum of a graph: how many of its frequencies lie where between 0 and 2.

A frequency μ is an eigenvalue of the normalised Laplacian I - D^-1/2 A D^-1/2. An isolated node
has μ = 0: every kernel leaves it as it is.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from akgnn.errors import GraphError
from akgnn.explain.signals import adjacency_of, normalised
from akgnn.graph import Graph

# Up to here all eigenvalues are computed: 4000 nodes take some ten seconds on one core.
MOST_NODES = 4000
# Odd, so that one bin has its middle at 1, where many graphs have most of their frequencies.
_BINS = 81


@dataclass(frozen=True)
class Spectrum:
    """A histogram of the frequencies.

    Attributes:
        edges: Where the bins begin and end, from 0 to 2.
        share: Part of all frequencies in each bin; adds up to 1.
        is_exact: Whether all frequencies were computed, or their density estimated.
    """

    edges: tuple[float, ...]
    share: tuple[float, ...]
    is_exact: bool


def spectrum_of(graph: Graph, *, bins: int = _BINS, most_nodes: int = MOST_NODES) -> Spectrum:
    """The spectrum of an undirected graph; a directed one counts with both directions."""
    if graph.has_negative_weights:
        raise GraphError("Negative edge weights leave no frequencies between 0 and 2.")
    matrix = _normalised_adjacency(graph)
    edges = np.linspace(0, 2, bins + 1)
    is_exact = graph.num_nodes <= most_nodes
    share = exact_shares(matrix, edges) if is_exact else estimated_shares(matrix, edges)
    return Spectrum(tuple(edges.tolist()), tuple(share.tolist()), is_exact)


def exact_shares(
    matrix: "sparse.csr_array[np.float64]", edges: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Shares of the frequencies by bin, from all eigenvalues of D^-1/2 A D^-1/2."""
    frequencies = 1 - np.linalg.eigvalsh(matrix.toarray())
    # Rounding may leave 0 and 2 just outside, and many graphs have a frequency on an edge.
    counts, _ = np.histogram(np.clip(np.round(frequencies, 9), 0, 2), edges)
    return counts / matrix.shape[0]


def estimated_shares(
    matrix: "sparse.csr_array[np.float64]",
    edges: NDArray[np.float64],
    *,
    moments: int = 600,
    vectors: int = 16,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Shares of the frequencies by bin, by the kernel polynomial method.

    The density of the eigenvalues x = 1 - μ of D^-1/2 A D^-1/2, which lie in [-1, 1], is

        ρ(x) = (g_0 m_0 + 2 Σ_n g_n m_n T_n(x)) / (π √(1 - x²)),    m_n = trace(T_n) / N,

    with Chebyshev's polynomials T_n and Jackson's factors g_n, which damp the ripples of a finite
    sum. The traces are means of zᵀ T_n z over random z of ±1 (Hutchinson). With x = cos θ the
    integral over a bin has a closed form. Weiße et al., "The kernel polynomial method", 2006.
    A single frequency is smeared over about π / moments.
    """
    damped = jackson(moments) * _moments(matrix, moments, vectors, np.random.default_rng(seed))
    angle = np.arccos(np.clip(1 - edges, -1, 1))
    order = np.arange(1, moments)
    below = damped[0] * angle / np.pi
    below += 2 / np.pi * np.sin(np.outer(angle, order)) @ (damped[1:] / order)
    share = np.clip(np.diff(below), 0, None)
    normalised: NDArray[np.float64] = share / share.sum()
    return normalised


def jackson(moments: int) -> NDArray[np.float64]:
    """Jackson's damping factors, which fall from g_0 = 1 towards 0."""
    n, q = np.arange(moments), np.pi / (moments + 1)
    rising = (moments - n + 1) * np.cos(q * n) + np.sin(q * n) / np.tan(q)
    factors: NDArray[np.float64] = rising / (moments + 1)
    return factors


def _moments(
    matrix: "sparse.csr_array[np.float64]", moments: int, vectors: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Estimates of trace(T_n(matrix)) / N by T_{n+1} = 2 x T_n - T_{n-1}."""
    start = rng.choice([-1.0, 1.0], size=(matrix.shape[0], vectors))
    before, now = start, matrix @ start
    found = [1.0, float((start * now).mean())]
    for _ in range(2, moments):
        before, now = now, 2 * (matrix @ now) - before
        found.append(float((start * now).mean()))
    return np.array(found)


def _normalised_adjacency(graph: Graph) -> "sparse.csr_array[np.float64]":
    """D^-1/2 A D^-1/2, with a 1 on the diagonal where a node is isolated."""
    matrix = adjacency_of(graph)
    isolated: NDArray[np.bool_] = np.asarray(matrix.sum(1)) == 0
    return sparse.csr_array(normalised(matrix) + sparse.diags_array(isolated.astype(np.float64)))
