"""ChebyNet's layer, which transforms first and then sums the polynomials by Clenshaw's rule."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.linear import Linear
from akgnn.ops.adaptive import adaptive_propagate


class ChebConv(nn.Module):
    """Σ_k T_k(L̃) X W_k + b for k below K, with L̃ = 2 L / λ_max - I.

    From "Convolutional Neural Networks on Graphs with Fast Localized Spectral Filtering" (NeurIPS
    2016), Eq. 4. T_k are Chebyshev's polynomials, L = I - D^-1/2 A D^-1/2 is the Laplacian without
    self-loops and λ_max its largest eigenvalue.

    Args:
        in_channels: Width of X.
        out_channels: Width of the result.
        order: Number K of polynomials.
        generator: Source of the initial weights.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        order: int,
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.linears = nn.ModuleList(
            Linear(in_channels, out_channels, bias=False, generator=generator) for _ in range(order)
        )
        self.bias = nn.Parameter(torch.zeros(out_channels))

    def forward(self, x: Tensor | CSR, graph: Graph) -> Tensor:
        """Transform, then filter: the result is narrower than the features in every model here."""
        out = chebyshev_sum(graph, [linear(x) for linear in self.linears])
        return out + self.bias.unsqueeze(-2)


def chebyshev_sum(graph: Graph, signals: Sequence[Tensor]) -> Tensor:
    """Σ_k T_k(L̃) z_k for the signals z_0, z_1, …, with one product with L̃ for each after the first.

    Clenshaw's rule: from b_k = 0 beyond the last signal, b_k = z_k + 2 L̃ b_(k+1) - b_(k+2), and the
    sum is z_0 + L̃ b_1 - b_2.
    """
    first, *others = signals
    if not others:
        return first
    nearer, *rest = reversed(others)
    farther: Tensor | None = None
    for z in rest:
        b = z + 2 * _shifted_laplacian(graph, nearer)
        nearer, farther = b if farther is None else b - farther, nearer
    out = first + _shifted_laplacian(graph, nearer)
    return out if farther is None else out - farther


def _shifted_laplacian(graph: Graph, h: Tensor) -> Tensor:
    """L̃ h = (2 / λ_max - 1) h - 2 / λ_max D^-1/2 A D^-1/2 h."""
    share = 2 / graph.largest_frequency
    # Propagation leaves an isolated node its signal, where the row of D^-1/2 A D^-1/2 is zero.
    isolated = (graph.degree == 0).unsqueeze(1)
    neighbours = adaptive_propagate(graph, h.masked_fill(isolated, 0), 0.0)
    return (share - 1) * h - share * neighbours
