"""PGSO: a GCN whose graph shift operator has seven learned scalars."""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.dropout import Dropout
from akgnn.layers.linear import Linear
from akgnn.ops.dropout import Noise
from akgnn.ops.neighbour_sum import neighbour_sum
from akgnn.settings import Settings, count, rate

# m1, m2, m3, e1, e2, e3, a at the point where the operator is GCN's.
_GCN_POINT = (0.0, 1.0, 0.0, 0.0, -0.5, -0.5, 1.0)
# Degrees are kept above this before they are raised to a power.
_SMALLEST_DEGREE = 1e-3


@dataclass(frozen=True, kw_only=True)
class PGSOSettings(Settings):
    """Settings of PGSO.

    Attributes:
        hidden_channels: Width of the hidden signals.
        num_layers: Number of layers.
        dropout: Rate on the input of every layer.
    """

    hidden_channels: int = count(16, most=1_000_000)
    num_layers: int = count(2, most=1000)
    dropout: float = rate(0.5)


class PGSO(nn.Module):
    """GCN with m1 D_a^e1 + m2 D_a^e2 A_a D_a^e3 + m3 I in place of Â, where A_a = A + a I.

    From "Learning Parametrised Graph Shift Operators" (ICLR 2021), Eq. 2. D_a holds the row sums
    of A_a. The seven scalars, `phi`, are shared by all layers and start at GCN's point. The
    adaptive kernel is the same operator with only a learned, one for each layer.

    Args:
        in_channels: Number of features.
        hidden_channels: Width of the hidden signals.
        out_channels: Number of classes.
        generator: Source of the initial weights.
        options: The other fields of `PGSOSettings`.
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
        self.settings = PGSOSettings.from_mapping({"hidden_channels": hidden_channels, **options})
        depth = self.settings.num_layers
        widths = [in_channels, *[hidden_channels] * (depth - 1), out_channels]
        self.layers = nn.ModuleList(
            Linear(widths[k], widths[k + 1], generator=generator) for k in range(depth)
        )
        self.drops = nn.ModuleList(Dropout(self.settings.dropout, k) for k in range(depth))
        self.phi = nn.Parameter(torch.tensor(_GCN_POINT))

    def forward(self, x: Tensor | CSR, graph: Graph, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes)."""
        h: Tensor = self.shift(self.layers[0](self.drops[0](x, noise)), graph)
        for layer, drop in zip(self.layers[1:], self.drops[1:], strict=True):
            h = self.shift(layer(drop(F.relu(h), noise)), graph)
        return h

    def shift(self, h: Tensor, graph: Graph) -> Tensor:
        """Apply the operator: one product with the fixed A, and scalings."""
        m1, m2, m3, e1, e2, e3, a = self.phi[..., None, None].unbind(-3)
        degree = (graph.degree.to(h.dtype).unsqueeze(1) + a).clamp_min(_SMALLEST_DEGREE)
        u = degree**e3 * h
        mixed: Tensor = m2 * degree**e2 * (neighbour_sum(graph, u) + a * u)
        return (m1 * degree**e1 + m3) * h + mixed
