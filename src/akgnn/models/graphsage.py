"""GraphSAGE: the mean of sampled neighbours beside the node itself, with PyG's layers."""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.dropout import Dropout
from akgnn.models.pyg_layers import mapped, pyg_layer, take_out
from akgnn.ops.dropout import Noise
from akgnn.ops.sampling import sample_neighbours
from akgnn.settings import Settings, count, rate

# Places of randomness: dropout of the two inputs, then the two samples.
_SAMPLES = 2


@dataclass(frozen=True, kw_only=True)
class GraphSAGESettings(Settings):
    """Settings of GraphSAGE.

    Attributes:
        hidden_channels: Width of the hidden signals.
        dropout: Rate on the input of both layers.
        first_fan_out: The most neighbours that a node of the first layer draws in training.
        second_fan_out: The same for the second layer.
    """

    hidden_channels: int = count(64, most=1_000_000)
    dropout: float = rate(0.5)
    first_fan_out: int = count(25)
    second_fan_out: int = count(10)


class GraphSAGE(nn.Module):
    """Two layers of W_1 h_v + W_2 mean of h_u over sampled neighbours u of v, ReLU between.

    From "Inductive Representation Learning on Large Graphs" (NeurIPS 2017). Training draws
    neighbours anew in every step; evaluation takes all of them.

    Args:
        in_channels: Number of features.
        hidden_channels: Width of the hidden signals.
        out_channels: Number of classes.
        generator: Source of the initial weights.
        options: The other fields of `GraphSAGESettings`.
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
        self.settings = settings = GraphSAGESettings.from_mapping(
            {"hidden_channels": hidden_channels, **options}
        )
        self.first_layer = pyg_layer("SAGEConv", in_channels, hidden_channels, generator=generator)
        self.neighbours = take_out(self.first_layer, "lin_l")
        self.itself = take_out(self.first_layer, "lin_r")
        self.second_layer = pyg_layer(
            "SAGEConv", hidden_channels, out_channels, generator=generator
        )
        self.drops = nn.ModuleList(Dropout(settings.dropout, k) for k in range(2))

    def forward(self, x: Tensor | CSR, graph: Graph, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes)."""
        fan_outs = (self.settings.first_fan_out, self.settings.second_fan_out)
        if noise is None:
            first = second = graph.edge_index
        else:
            first, second = (
                sample_neighbours(graph, fan_out, noise.key(_SAMPLES + k))
                for k, fan_out in enumerate(fan_outs)
            )
        x = self.drops[0](x, noise)
        signals = mapped(x, self.neighbours), mapped(x, self.itself)
        h = F.relu(self.first_layer(signals, first) + self.neighbours.bias)
        out: Tensor = self.second_layer(self.drops[1](h, noise), second)
        return out
