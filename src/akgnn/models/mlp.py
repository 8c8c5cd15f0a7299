"""MLP: each node classified by its own features; what the edges add is measured against it."""

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
from akgnn.settings import Settings, count, rate


@dataclass(frozen=True, kw_only=True)
class MLPSettings(Settings):
    """Settings of the MLP.

    Attributes:
        hidden_channels: Width of the hidden signals.
        num_layers: Number of layers.
        dropout: Rate on the input of every layer.
    """

    hidden_channels: int = count(64, most=1_000_000)
    num_layers: int = count(2, most=1000)
    dropout: float = rate(0.5)


class MLP(nn.Module):
    """H^(l+1) = relu(H^(l) W^(l) + b^(l)) with H^(0) = X, the last layer without relu.

    Args:
        in_channels: Number of features.
        hidden_channels: Width of the hidden signals.
        out_channels: Number of classes.
        generator: Source of the initial weights.
        options: The other fields of `MLPSettings`.
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
        self.settings = MLPSettings.from_mapping({"hidden_channels": hidden_channels, **options})
        depth = self.settings.num_layers
        widths = [in_channels, *[hidden_channels] * (depth - 1), out_channels]
        self.layers = nn.ModuleList(
            Linear(widths[k], widths[k + 1], generator=generator) for k in range(depth)
        )
        self.drops = nn.ModuleList(Dropout(self.settings.dropout, k) for k in range(depth))

    @property
    def first_layer(self) -> nn.Module:
        """The layer that weight decay may be confined to."""
        return self.layers[0]

    def forward(self, x: Tensor | CSR, graph: Graph, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes); `graph` is not looked at."""
        h: Tensor = self.layers[0](self.drops[0](x, noise))
        for layer, drop in zip(self.layers[1:], self.drops[1:], strict=True):
            h = layer(drop(F.relu(h), noise))
        return h
