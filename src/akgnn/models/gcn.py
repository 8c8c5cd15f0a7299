"""GCN, layers of Â H W with ReLU between, and two of its kin.

Â is the adaptive kernel at λ = 2. JKNet shows the classifier the results of all layers, PGSO learns
seven scalars of Â.
"""

from dataclasses import dataclass
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.dropout import input_dropouts, noise_in
from akgnn.layers.linear import Linear
from akgnn.layers.readouts import find_readout
from akgnn.ops.adaptive import adaptive_propagate
from akgnn.ops.dropout import Noise
from akgnn.ops.inputs import as_graph
from akgnn.ops.products import neighbour_sum
from akgnn.settings import Settings, count, rate, takes

# m1, m2, m3, e1, e2, e3, a at the point where the operator is GCN's.
_GCN_POINT = (0.0, 1.0, 0.0, 0.0, -0.5, -0.5, 1.0)
# Degrees are kept above this before they are raised to a power.
_SMALLEST_DEGREE = 1e-3


class GCNConv(nn.Module):
    """Â X W + b with Â = (D + I)^-1/2 (A + I) (D + I)^-1/2.

    From "Semi-Supervised Classification with Graph Convolutional Networks" (ICLR 2017), Eq. 2.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        bias: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.linear = Linear(in_channels, out_channels, bias=False, generator=generator)
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None

    def forward(self, x: Tensor | CSR, graph: Graph) -> Tensor:
        """Transform, then propagate: the narrower of the two orders in every model here."""
        return self.shifted(adaptive_propagate(graph, self.linear(x), 1.0))

    def shifted(self, h: Tensor) -> Tensor:
        """`h` with the bias added, if there is one."""
        return h if self.bias is None else h + self.bias.unsqueeze(-2)


@dataclass(frozen=True, kw_only=True)
class GCNSettings(Settings):
    """Settings of GCN, and of PGSO.

    Attributes:
        hidden_channels: Width of the hidden signals.
        num_layers: Number of layers.
        dropout: Rate on the input of every layer.
        bias: Whether layers have biases.
    """

    hidden_channels: int = count(16, most=1_000_000)
    num_layers: int = count(2, most=1000)
    dropout: float = rate(0.5)
    bias: bool = True


@takes(GCNSettings)
class GCN(nn.Module):
    """H^(l+1) = relu(Â H^(l) W^(l)), the last layer without relu.

    From "Semi-Supervised Classification with Graph Convolutional Networks" (ICLR 2017).
    """

    is_stackable = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 2,
        dropout: float = 0.5,
        bias: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.settings = GCNSettings.of_call(locals())
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        self.layers = nn.ModuleList(
            GCNConv(*pair, bias=bias, generator=generator) for pair in pairwise(widths)
        )
        self.drops = input_dropouts(dropout, num_layers)

    @property
    def first_layer(self) -> nn.Module:
        """The layer that weight decay may be confined to."""
        return self.layers[0]

    def forward(self, x: Tensor | CSR, graph: Graph | Tensor, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes)."""
        graph, noise = as_graph(graph, x), noise_in(self, noise)
        h: Tensor = self.layers[0](self.drops[0](x, noise), graph)
        for layer, drop in zip(self.layers[1:], self.drops[1:], strict=True):
            h = layer(drop(F.relu(h), noise), graph)
        return h


@dataclass(frozen=True, kw_only=True)
class JKNetSettings(Settings):
    """Settings of JKNet.

    Attributes:
        hidden_channels: Width of the hidden signals.
        num_layers: Number of GCN layers.
        dropout: Rate on the input of every layer.
        readout: How the layers' outputs become one; a name in `READOUTS`. The paper has `concat`
            and `max`.
    """

    hidden_channels: int = count(32, most=1_000_000)
    num_layers: int = count(4, most=1000)
    dropout: float = rate(0.5)
    readout: str = "concat"

    def __post_init__(self) -> None:
        super().__post_init__()
        find_readout(self.readout)


@takes(JKNetSettings)
class JKNet(nn.Module):
    """H^(l) = relu(Â H^(l-1) W^(l)); the classifier sees H^(1) … H^(L) together.

    From "Representation Learning on Graphs with Jumping Knowledge Networks" (ICML 2018).
    """

    is_stackable = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 4,
        dropout: float = 0.5,
        readout: str = "concat",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.settings = JKNetSettings.of_call(locals())
        self.layers = nn.ModuleList(
            GCNConv(hidden_channels if k else in_channels, hidden_channels, generator=generator)
            for k in range(num_layers)
        )
        self.drops = input_dropouts(dropout, num_layers + 1)
        width = find_readout(readout).width(num_layers, hidden_channels)
        self.classifier = Linear(width, out_channels, generator=generator)

    def forward(self, x: Tensor | CSR, graph: Graph | Tensor, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes)."""
        graph, noise = as_graph(graph, x), noise_in(self, noise)
        h: Tensor | CSR = x
        outputs: list[Tensor] = []
        for layer, drop in zip(self.layers, self.drops[:-1], strict=True):
            h = F.relu(layer(drop(h, noise), graph))
            outputs.append(h)
        together = find_readout(self.settings.readout).reduce(outputs)
        out: Tensor = self.classifier(self.drops[-1](together, noise))
        return out


@takes(GCNSettings)
class PGSO(nn.Module):
    """GCN with m1 D_a^e1 + m2 D_a^e2 A_a D_a^e3 + m3 I in place of Â, where A_a = A + a I.

    From "Learning Parametrised Graph Shift Operators" (ICLR 2021), Eq. 2. D_a holds the row sums
    of A_a. The seven scalars, `phi`, are shared by all layers and are initially at GCN's point. The
    adaptive kernel is the same operator with only a learned, one for each layer.
    """

    is_stackable = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 2,
        dropout: float = 0.5,
        bias: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.settings = GCNSettings.of_call(locals())
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        self.layers = nn.ModuleList(
            Linear(*pair, bias=bias, generator=generator) for pair in pairwise(widths)
        )
        self.drops = input_dropouts(dropout, num_layers)
        self.phi = nn.Parameter(torch.tensor(_GCN_POINT))

    def forward(self, x: Tensor | CSR, graph: Graph | Tensor, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes)."""
        graph, noise = as_graph(graph, x), noise_in(self, noise)
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
