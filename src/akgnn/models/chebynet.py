"""ChebyNet: Chebyshev polynomials of the Laplacian, summed by Clenshaw's rule."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.dropout import input_dropouts, noise_in
from akgnn.layers.linear import Linear
from akgnn.ops.adaptive import adaptive_propagate
from akgnn.ops.dropout import Noise
from akgnn.ops.inputs import as_graph
from akgnn.settings import Settings, count, rate, takes


class ChebConv(nn.Module):
    """Σ_k T_k(L̃) X W_k + b for k below K, the order, with L̃ = 2 L / λ_max - I.

    From "Convolutional Neural Networks on Graphs with Fast Localized Spectral Filtering" (NeurIPS
    2016), Eq. 4. T_k are Chebyshev's polynomials, L = I - D^-1/2 A D^-1/2 is the Laplacian without
    self-loops and λ_max its largest eigenvalue.
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


@dataclass(frozen=True, kw_only=True)
class ChebyNetSettings(Settings):
    """Settings of ChebyNet.

    Attributes:
        hidden_channels: Width of the hidden signals.
        order: Number K of polynomials, T_0 to T_(K-1).
        dropout: Rate on the input of both layers.
    """

    hidden_channels: int = count(16, most=1_000_000)
    order: int = count(3, most=1_000_000)
    dropout: float = rate(0.5)


@takes(ChebyNetSettings)
class ChebyNet(nn.Module):
    """Two layers `ChebConv`, Σ_k T_k(2 L / λ_max - I) X W_k, with ReLU between.

    From "Convolutional Neural Networks on Graphs with Fast Localized Spectral Filtering" (NeurIPS
    2016).
    """

    is_stackable = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        order: int = 3,
        dropout: float = 0.5,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.settings = ChebyNetSettings.of_call(locals())
        self.first_layer = ChebConv(in_channels, hidden_channels, order, generator=generator)
        self.second_layer = ChebConv(hidden_channels, out_channels, order, generator=generator)
        self.drops = input_dropouts(dropout, 2)

    def forward(self, x: Tensor | CSR, graph: Graph | Tensor, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes)."""
        graph, noise = as_graph(graph, x), noise_in(self, noise)
        h = self.first_layer(self.drops[0](x, noise), graph)
        out: Tensor = self.second_layer(self.drops[1](F.relu(h), noise), graph)
        return out
