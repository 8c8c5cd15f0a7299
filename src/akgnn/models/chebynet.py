"""ChebyNet: Chebyshev polynomials of the Laplacian."""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.cheb_conv import ChebConv
from akgnn.layers.dropout import Dropout
from akgnn.ops.dropout import Noise
from akgnn.settings import Settings, count, rate


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


class ChebyNet(nn.Module):
    """Two layers of Σ_k T_k(2 L / λ_max - I) X W_k with ReLU between.

    From "Convolutional Neural Networks on Graphs with Fast Localized Spectral Filtering" (NeurIPS
    2016). L is the normalised Laplacian without self-loops and λ_max its largest eigenvalue.

    Args:
        in_channels: Number of features.
        hidden_channels: Width of the hidden signals.
        out_channels: Number of classes.
        generator: Source of the initial weights.
        options: The other fields of `ChebyNetSettings`.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        generator: torch.Generator | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.settings = settings = ChebyNetSettings.from_mapping(
            {"hidden_channels": hidden_channels, **options}
        )
        self.first_layer = ChebConv(
            in_channels, hidden_channels, settings.order, generator=generator
        )
        self.second_layer = ChebConv(
            hidden_channels, out_channels, settings.order, generator=generator
        )
        self.drops = nn.ModuleList(Dropout(settings.dropout, k) for k in range(2))

    def forward(self, x: Tensor | CSR, graph: Graph, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes)."""
        h = self.first_layer(self.drops[0](x, noise), graph)
        out: Tensor = self.second_layer(self.drops[1](F.relu(h), noise), graph)
        return out
