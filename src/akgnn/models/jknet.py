"""JKNet: a GCN whose layers' outputs all reach the classifier."""

from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.dropout import Dropout
from akgnn.layers.gcn_conv import GCNConv
from akgnn.layers.linear import Linear
from akgnn.ops.dropout import Noise
from akgnn.settings import Settings, count, rate


@dataclass(frozen=True, kw_only=True)
class JKNetSettings(Settings):
    """Settings of JKNet.

    Attributes:
        hidden_channels: Width of the hidden signals.
        num_layers: Number of GCN layers.
        dropout: Rate on the input of every layer.
        readout: How the layers' outputs become one.
    """

    hidden_channels: int = count(32, most=1_000_000)
    num_layers: int = count(4, most=1000)
    dropout: float = rate(0.5)
    readout: Literal["concat", "max"] = "concat"


class JKNet(nn.Module):
    """H^(l) = relu(Â H^(l-1) W^(l)); the classifier sees H^(1) … H^(L) together.

    From "Representation Learning on Graphs with Jumping Knowledge Networks" (ICML 2018).

    Args:
        in_channels: Number of features.
        hidden_channels: Width of the hidden signals.
        out_channels: Number of classes.
        generator: Source of the initial weights.
        options: The other fields of `JKNetSettings`.
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
        self.settings = JKNetSettings.from_mapping({"hidden_channels": hidden_channels, **options})
        depth = self.settings.num_layers
        self.layers = nn.ModuleList(
            GCNConv(hidden_channels if k else in_channels, hidden_channels, generator=generator)
            for k in range(depth)
        )
        self.drops = nn.ModuleList(Dropout(self.settings.dropout, k) for k in range(depth + 1))
        width = hidden_channels * (depth if self.settings.readout == "concat" else 1)
        self.classifier = Linear(width, out_channels, generator=generator)

    def forward(self, x: Tensor | CSR, graph: Graph, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes)."""
        h: Tensor | CSR = x
        outputs: list[Tensor] = []
        for layer, drop in zip(self.layers, self.drops[:-1], strict=True):
            h = F.relu(layer(drop(h, noise), graph))
            outputs.append(h)
        if self.settings.readout == "concat":
            together = torch.cat(outputs, dim=-1)
        else:
            together = torch.stack(outputs).amax(0)
        out: Tensor = self.classifier(self.drops[-1](together, noise))
        return out
