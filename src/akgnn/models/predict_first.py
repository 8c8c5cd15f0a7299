"""MLP, which predicts each node by its own features, and APPNP and GPRGNN, which propagate that.

What the edges add is measured against the MLP. APPNP mixes the steps of the propagation as
personalised PageRank does; GPRGNN begins there and learns the weights.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.dropout import Dropout, DropoutKey, input_dropouts, noise_in
from akgnn.layers.linear import Linear, check_input
from akgnn.layers.norms import NORMS, Norm
from akgnn.ops.adaptive import adaptive_propagate
from akgnn.ops.dropout import Noise
from akgnn.ops.inputs import as_graph
from akgnn.ops.products import sparse_linear
from akgnn.settings import Settings, count, rate, share, takes


@dataclass(frozen=True, kw_only=True)
class MLPSettings(Settings):
    """Settings of the MLP.

    Attributes:
        hidden_channels: Width of the hidden signals.
        num_layers: Number of layers.
        dropout: Rate on the input of every layer.
        norm: What every layer but the last normalises before relu: each channel over the nodes
            (`batch`), each node over its channels (`layer`), each node to length 1 (`length`), or
            nothing.
    """

    hidden_channels: int = count(64, most=1_000_000)
    num_layers: int = count(2, most=1000)
    dropout: float = rate(0.5)
    norm: Norm = "none"


@takes(MLPSettings)
class MLP(nn.Module):
    """H^(l+1) = relu(norm(H^(l) W^(l) + b^(l))) with H^(0) = X; the last layer is linear."""

    is_stackable = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 2,
        dropout: float = 0.5,
        norm: Norm = "none",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.settings = MLPSettings.of_call(locals())
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        self.layers = nn.ModuleList(Linear(*pair, generator=generator) for pair in pairwise(widths))
        self.norms = nn.ModuleList(NORMS[norm](hidden_channels) for _ in range(num_layers - 1))
        self.drops = input_dropouts(dropout, num_layers)

    @property
    def first_layer(self) -> nn.Module:
        """The layer that weight decay may be confined to."""
        return self.layers[0]

    def forward(self, x: Tensor | CSR, graph: Graph | Tensor, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes); `graph` is not looked at."""
        if not isinstance(x, CSR):
            check_input(x, cast(Tensor, self.layers[0].weight))
        noise = noise_in(self, noise)
        h: Tensor = self.layers[0](self.drops[0](x, noise))
        for norm, layer, drop in zip(self.norms, self.layers[1:], self.drops[1:], strict=True):
            h = layer(drop(F.relu(norm(h)), noise))
        return h


@dataclass(frozen=True, kw_only=True)
class APPNPSettings(Settings):
    """Settings of APPNP.

    Attributes:
        hidden_channels: Width of the MLP.
        num_layers: Number K of propagations.
        alpha: Probability of teleporting back to the node.
        dropout: Rate on the input of both layers of the MLP.
        edge_dropout: Rate on the entries of Â, drawn anew in every propagation.
    """

    hidden_channels: int = count(64, most=1_000_000)
    num_layers: int = count(10, most=1000)
    alpha: float = rate(0.1)
    dropout: float = rate(0.5)
    edge_dropout: float = rate(0.5)


@takes(APPNPSettings)
class APPNP(nn.Module):
    """Z^(k+1) = (1 - α) Â Z^(k) + α H with Z^(0) = H = MLP(X).

    From "Predict then Propagate" (ICLR 2019), Eq. 4.
    """

    is_stackable = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 10,
        alpha: float = 0.1,
        dropout: float = 0.5,
        edge_dropout: float = 0.5,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.settings = APPNPSettings.of_call(locals())
        self.first_layer = Linear(in_channels, hidden_channels, generator=generator)
        self.second_layer = Linear(hidden_channels, out_channels, generator=generator)
        self.drop_input = Dropout(dropout, DropoutKey.LAYER_INPUT)
        self.drop_hidden = Dropout(dropout, DropoutKey.LAYER_INPUT + 1)
        self.drop_edges = nn.ModuleList(
            Dropout(edge_dropout, DropoutKey.PROPAGATION + k) for k in range(num_layers)
        )

    def forward(self, x: Tensor | CSR, graph: Graph | Tensor, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes)."""
        graph, noise = as_graph(graph, x), noise_in(self, noise)
        hidden = F.relu(self.first_layer(self.drop_input(x, noise)))
        h: Tensor = self.second_layer(self.drop_hidden(hidden, noise))
        alpha, z = self.settings.alpha, h
        for drop in self.drop_edges:
            z = (1 - alpha) * self._propagate(z, graph, drop, noise) + alpha * h
        return z

    def _propagate(self, z: Tensor, graph: Graph, drop: nn.Module, noise: Noise | None) -> Tensor:
        """Â Z, with entries of Â dropped in training."""
        if noise is None or not self.settings.edge_dropout:
            return adaptive_propagate(graph, z, 1.0)
        return sparse_linear(drop(graph.renormalised, noise), z)


@dataclass(frozen=True, kw_only=True)
class GPRGNNSettings(Settings):
    """Settings of GPRGNN.

    Attributes:
        hidden_channels: Width of the MLP.
        num_layers: Number K of propagations.
        alpha: Teleport probability of the personalised PageRank that γ is at initially.
        dropout: Rate on the input of both layers of the MLP.
        propagation_dropout: Rate on the MLP's result, before it is propagated.
    """

    hidden_channels: int = count(64, most=1_000_000)
    num_layers: int = count(10, most=1000)
    alpha: float = share(0.1)
    dropout: float = rate(0.5)
    propagation_dropout: float = rate(0.5)


@takes(GPRGNNSettings)
class GPRGNN(nn.Module):
    """Z = Σ_k γ_k Â^k H with H = MLP(X), k from 0 to K, and Â GCN's matrix.

    From "Adaptive Universal Generalized PageRank Graph Neural Network" (ICLR 2021). The scalars γ,
    `gamma`, are learned and may become negative. Initially they are personalised
    PageRank's, γ_k = α (1 - α)^k and γ_K = (1 - α)^K, whose sum is 1: then this is APPNP.
    """

    is_stackable = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 10,
        alpha: float = 0.1,
        dropout: float = 0.5,
        propagation_dropout: float = 0.5,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.settings = GPRGNNSettings.of_call(locals())
        sizes = in_channels, hidden_channels, out_channels
        self.mlp = MLP(*sizes, num_layers=2, dropout=dropout, generator=generator)
        self.drop_propagation = Dropout(propagation_dropout, DropoutKey.PROPAGATION)
        alpha = self.settings.alpha
        before_last = [alpha * (1 - alpha) ** k for k in range(num_layers)]
        self.gamma = nn.Parameter(torch.tensor([*before_last, (1 - alpha) ** num_layers]))

    @property
    def first_layer(self) -> nn.Module:
        """The layer that weight decay may be confined to."""
        return self.mlp.first_layer

    def forward(self, x: Tensor | CSR, graph: Graph | Tensor, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes)."""
        graph, noise = as_graph(graph, x), noise_in(self, noise)
        h = self.drop_propagation(self.mlp(x, graph, noise), noise)
        first, *others = self.gamma[..., None, None].unbind(-3)
        z: Tensor = first * h
        for weight in others:
            h = adaptive_propagate(graph, h, 1.0)
            z = z + weight * h
        return z
