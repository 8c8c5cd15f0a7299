"""GAT: neighbours weighed by learned attention, with PyG's layers."""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.dropout import Dropout
from akgnn.models.pyg_layers import global_noise, mapped, pyg_layer, take_out
from akgnn.ops.dropout import Noise
from akgnn.settings import Settings, count, rate

# Places of dropout: the two inputs, then the attention of the two layers.
_ATTENTION = 2


@dataclass(frozen=True, kw_only=True)
class GATSettings(Settings):
    """Settings of GAT.

    Attributes:
        hidden_channels: Width of one attention head.
        heads: Heads of the first layer, concatenated.
        output_heads: Heads of the second layer, averaged.
        dropout: Rate on the input of both layers.
        attention_dropout: Rate on the attention coefficients.
    """

    hidden_channels: int = count(8, most=1_000_000)
    heads: int = count(8, most=1_000_000)
    output_heads: int = count(1, most=1_000_000)
    dropout: float = rate(0.6)
    attention_dropout: float = rate(0.6)


class GAT(nn.Module):
    """Two layers of multi-head attention over neighbours and the node itself, ELU between.

    From "Graph Attention Networks" (ICLR 2018).

    Args:
        in_channels: Number of features.
        hidden_channels: Width of one attention head.
        out_channels: Number of classes.
        generator: Source of the initial weights.
        options: The other fields of `GATSettings`.
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
        self.settings = settings = GATSettings.from_mapping(
            {"hidden_channels": hidden_channels, **options}
        )
        width = hidden_channels * settings.heads
        drop = settings.attention_dropout
        self.first_layer = pyg_layer(
            "GATConv",
            in_channels,
            hidden_channels,
            heads=settings.heads,
            dropout=drop,
            generator=generator,
        )
        self.transform = take_out(self.first_layer, "lin")
        self.second_layer = pyg_layer(
            "GATConv",
            width,
            out_channels,
            heads=settings.output_heads,
            concat=False,
            dropout=drop,
            generator=generator,
        )
        self.drops = nn.ModuleList(Dropout(settings.dropout, k) for k in range(2))

    def forward(self, x: Tensor | CSR, graph: Graph, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes)."""
        edge_index = graph.edge_index
        h = mapped(self.drops[0](x, noise), self.transform)
        with global_noise(noise, _ATTENTION):
            h = F.elu(self.first_layer(h, edge_index))
        h = self.drops[1](h, noise)
        with global_noise(noise, _ATTENTION + 1):
            out: Tensor = self.second_layer(h, edge_index)
        return out
