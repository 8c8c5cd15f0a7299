"""DropEdge's networks as its public code has them: a deep GCN, and JKNet with a GCN at its end."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, cast, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.dropout import input_dropouts, noise_in
from akgnn.layers.linear import Linear, multiply
from akgnn.layers.readouts import find_readout
from akgnn.models.gcn import GCNSettings
from akgnn.ops.adaptive import adaptive_propagate
from akgnn.ops.dropout import Noise
from akgnn.ops.inputs import Normalisation, as_graph
from akgnn.settings import needs, takes


@dataclass(frozen=True, kw_only=True)
class DropEdgeNetSettings(GCNSettings):
    """Settings of the networks that DropEdge trains.

    Attributes:
        form: A plain `gcn`, or the `public-code` of the paper, which the settings below are for. It
            does not drop features: `dropout` is on what leaves every layer but the last.
        normalisation: Symmetric, or by row.
        self_map: Whether every layer adds a linear map of its input to what it propagates.
        readout: What the last layer propagates: the `last` hidden signals, or those of all layers
            (`concat`), as in JKNet.
    """

    form: Literal["gcn", "public-code"] = "gcn"
    normalisation: Normalisation = needs("sym", form=("public-code",))
    self_map: bool = needs(False, form=("public-code",))
    readout: Literal["last", "concat"] = needs("last", form=("public-code",))


@final
@takes(DropEdgeNetSettings)
class DropEdgeNet(nn.Module):
    """H^(l) = relu(P H^(l-1) W_l + H^(l-1) U_l + b_l), dropped; the last layer without relu.

    From the public code of "DropEdge: Towards Deep Graph Convolutional Networks on Node
    Classification" (ICLR 2020). P has self-loops and is normalised symmetrically or by row; U_l may
    be left out. It is the model `dropedge` with `form="public-code"`.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 2,
        dropout: float = 0.5,
        bias: bool = True,
        normalisation: Normalisation = "sym",
        self_map: bool = False,
        readout: Literal["last", "concat"] = "last",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.settings = DropEdgeNetSettings.of_call({**locals(), "form": "public-code"})
        hidden = [hidden_channels] * (num_layers - 1)
        widths = list(pairwise([in_channels, *hidden, out_channels]))
        if hidden:
            seen = find_readout(readout).width(len(hidden), hidden_channels)
            widths[-1] = seen, out_channels
        self.layers = nn.ModuleList(_linear(*pair, bias, generator) for pair in widths)
        self.self_maps = nn.ModuleList(
            _linear(*pair, False, generator) for pair in widths if self_map
        )
        self.drops = input_dropouts(dropout, len(hidden))

    def forward(self, x: Tensor | CSR, graph: Graph | Tensor, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes)."""
        graph, noise = as_graph(graph, x), noise_in(self, noise)
        outputs: list[Tensor] = []
        for k, drop in enumerate(self.drops):
            h = F.relu(self._layer(k, outputs[-1] if outputs else x, graph))
            outputs.append(drop(h, noise))
        together = find_readout(self.settings.readout).reduce(outputs) if outputs else x
        return self._layer(len(outputs), together, graph)

    def _layer(self, k: int, h: Tensor | CSR, graph: Graph) -> Tensor:
        layer = cast(Linear, self.layers[k])
        kind = self.settings.normalisation
        mixed = adaptive_propagate(graph, multiply(h, layer.weight), 1.0, normalisation=kind)
        if len(self.self_maps):
            mixed = mixed + self.self_maps[k](h)
        return layer.shifted(mixed)


def _linear(
    in_channels: int, out_channels: int, bias: bool, generator: torch.Generator | None
) -> Linear:
    """A linear map drawn evenly between ±1 / sqrt(out_channels), its bias too."""
    linear = Linear(in_channels, out_channels, bias=bias)
    bound = 1 / math.sqrt(out_channels)
    for parameter in linear.parameters():
        nn.init.uniform_(parameter, -bound, bound, generator=generator)
    return linear
