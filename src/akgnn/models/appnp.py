"""APPNP: predict each node, then propagate the predictions by personalised PageRank."""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.dropout import Dropout
from akgnn.layers.linear import Linear
from akgnn.ops.adaptive import adaptive_propagate
from akgnn.ops.dropout import Noise
from akgnn.ops.sparse_linear import sparse_linear
from akgnn.settings import Settings, count, rate

# Places of dropout: the two layers of the MLP, then every propagation.
_PROPAGATION = 2


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


class APPNP(nn.Module):
    """Z^(k+1) = (1 - α) Â Z^(k) + α H with Z^(0) = H = MLP(X).

    From "Predict then Propagate" (ICLR 2019), Eq. 4.

    Args:
        in_channels: Number of features.
        hidden_channels: Width of the MLP.
        out_channels: Number of classes.
        generator: Source of the initial weights.
        options: The other fields of `APPNPSettings`.
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
        self.settings = settings = APPNPSettings.from_mapping(
            {"hidden_channels": hidden_channels, **options}
        )
        self.first_layer = Linear(in_channels, hidden_channels, generator=generator)
        self.second_layer = Linear(hidden_channels, out_channels, generator=generator)
        self.drop_input = Dropout(settings.dropout, 0)
        self.drop_hidden = Dropout(settings.dropout, 1)
        self.drop_edges = nn.ModuleList(
            Dropout(settings.edge_dropout, _PROPAGATION + k) for k in range(settings.num_layers)
        )

    def forward(self, x: Tensor | CSR, graph: Graph, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes)."""
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
