"""GCN's layer, which is the adaptive kernel at λ = 2."""

import torch
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.linear import Linear
from akgnn.ops.adaptive import adaptive_propagate


class GCNConv(nn.Module):
    """Â X W + b with Â = (D + I)^-1/2 (A + I) (D + I)^-1/2.

    From "Semi-Supervised Classification with Graph Convolutional Networks" (ICLR 2017), Eq. 2.

    Args:
        in_channels: Width of X.
        out_channels: Width of the result.
        generator: Source of the initial weights.
    """

    def __init__(
        self, in_channels: int, out_channels: int, *, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.linear = Linear(in_channels, out_channels, bias=False, generator=generator)
        self.bias = nn.Parameter(torch.zeros(out_channels))

    def forward(self, x: Tensor | CSR, graph: Graph) -> Tensor:
        """Transform, then propagate: the narrower of the two orders in every model here."""
        return adaptive_propagate(graph, self.linear(x), 1.0) + self.bias.unsqueeze(-2)
