"""SGC and SSGC: linear models on features that were propagated.

Both are linear, so propagating X W gives what W applied to the propagated X gives, with as many
channels as there are classes instead of features; nothing is precomputed or stored.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.linear import Linear
from akgnn.ops.adaptive import adaptive_propagate
from akgnn.ops.dropout import Noise
from akgnn.ops.inputs import as_graph
from akgnn.settings import Settings, count, rate, takes


@dataclass(frozen=True, kw_only=True)
class SGCSettings(Settings):
    """Settings of SGC.

    Attributes:
        num_layers: Number K of propagations.
    """

    num_layers: int = count(2, most=1000)


@dataclass(frozen=True, kw_only=True)
class SSGCSettings(Settings):
    """Settings of SSGC.

    Attributes:
        num_layers: Number K of propagations.
        alpha: Weight of a node's own features.
    """

    num_layers: int = count(16, most=1000)
    alpha: float = rate(0.05)


@takes(SGCSettings)
class SGC(nn.Module):
    """Â^K X W + b.

    From "Simplifying Graph Convolutional Networks" (ICML 2019).
    """

    is_stackable = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        num_layers: int = 2,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.settings = SGCSettings.of_call(locals())
        self.linear = Linear(in_channels, out_channels, bias=False, generator=generator)
        self.bias = nn.Parameter(torch.zeros(out_channels))

    def forward(self, x: Tensor | CSR, graph: Graph | Tensor, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes); nothing is dropped."""
        graph = as_graph(graph, x)
        h: Tensor = self.linear(x)
        for _ in range(self.settings.num_layers):
            h = adaptive_propagate(graph, h, 1.0)
        return h + self.bias.unsqueeze(-2)


@takes(SSGCSettings)
class SSGC(nn.Module):
    """(α X + (1 - α) / K Σ_k Â^k X) W + b, with k from 1 to K.

    From "Simple Spectral Graph Convolution" (ICLR 2021).
    """

    is_stackable = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        num_layers: int = 16,
        alpha: float = 0.05,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.settings = SSGCSettings.of_call(locals())
        self.linear = Linear(in_channels, out_channels, bias=False, generator=generator)
        self.bias = nn.Parameter(torch.zeros(out_channels))

    def forward(self, x: Tensor | CSR, graph: Graph | Tensor, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes); nothing is dropped."""
        graph = as_graph(graph, x)
        alpha, steps = self.settings.alpha, self.settings.num_layers
        h: Tensor = self.linear(x)
        out = alpha * h
        for _ in range(steps):
            h = adaptive_propagate(graph, h, 1.0)
            out = out + (1 - alpha) / steps * h
        return out + self.bias.unsqueeze(-2)
