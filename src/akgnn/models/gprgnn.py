"""GPRGNN: predict each node, then mix 0 to K propagations with learned weights."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.dropout import Dropout
from akgnn.models.mlp import MLP
from akgnn.ops.adaptive import adaptive_propagate
from akgnn.ops.dropout import Noise
from akgnn.settings import Settings, count, rate, share

_MLP_LAYERS = 2


@dataclass(frozen=True, kw_only=True)
class GPRGNNSettings(Settings):
    """Settings of GPRGNN.

    Attributes:
        hidden_channels: Width of the MLP.
        num_layers: Number K of propagations.
        alpha: Teleport probability of the personalised PageRank where γ starts.
        dropout: Rate on the input of both layers of the MLP.
        propagation_dropout: Rate on the MLP's result, before it is propagated.
    """

    hidden_channels: int = count(64, most=1_000_000)
    num_layers: int = count(10, most=1000)
    alpha: float = share(0.1)
    dropout: float = rate(0.5)
    propagation_dropout: float = rate(0.5)


class GPRGNN(nn.Module):
    """Z = Σ_k γ_k Â^k H with H = MLP(X), k from 0 to K, and Â GCN's matrix.

    From "Adaptive Universal Generalized PageRank Graph Neural Network" (ICLR 2021). The scalars γ,
    `gamma`, are learned and may become negative. They start at personalised PageRank,
    γ_k = α (1 - α)^k and γ_K = (1 - α)^K, whose sum is 1: at its start this is APPNP.

    Args:
        in_channels: Number of features.
        hidden_channels: Width of the MLP.
        out_channels: Number of classes.
        generator: Source of the initial weights.
        options: The other fields of `GPRGNNSettings`.
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
        self.settings = settings = GPRGNNSettings.from_mapping(
            {"hidden_channels": hidden_channels, **options}
        )
        self.mlp = MLP(
            in_channels,
            hidden_channels,
            out_channels,
            num_layers=_MLP_LAYERS,
            dropout=settings.dropout,
            generator=generator,
        )
        # The layers of the MLP have the places before.
        self.drop_propagation = Dropout(settings.propagation_dropout, _MLP_LAYERS)
        self.gamma = nn.Parameter(
            torch.tensor(pagerank_weights(settings.alpha, settings.num_layers))
        )

    @property
    def first_layer(self) -> nn.Module:
        """The layer that weight decay may be confined to."""
        return self.mlp.first_layer

    def forward(self, x: Tensor | CSR, graph: Graph, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes)."""
        h = self.drop_propagation(self.mlp(x, graph, noise), noise)
        first, *others = self.gamma[..., None, None].unbind(-3)
        z: Tensor = first * h
        for weight in others:
            h = adaptive_propagate(graph, h, 1.0)
            z = z + weight * h
        return z


def pagerank_weights(alpha: float, steps: int) -> list[float]:
    """Weights of 0 to K propagations in personalised PageRank cut off after K."""
    return [alpha * (1 - alpha) ** k for k in range(steps)] + [(1 - alpha) ** steps]
