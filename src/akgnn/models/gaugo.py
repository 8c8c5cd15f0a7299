"""GAugO's two nets: a GCN that classifies and an auto-encoder that predicts edges."""

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.dropout import Dropout, DropoutKey
from akgnn.models.gcn import GCN, GCNConv
from akgnn.ops.dropout import Noise
from akgnn.settings import Settings, count, rate, takes


@dataclass(frozen=True, kw_only=True)
class GAugOSettings(Settings):
    """Settings of GAugO's nets.

    Attributes:
        hidden_channels: Width of the hidden signals of both nets.
        edge_channels: Width of the signals whose inner products score edges.
        dropout: Rate on the input of both layers of the classifier.
        form: `gcn`, or the `public-code` of the paper, which does not drop the features, has no
            biases in the edge predictor, and penalises the whole classifier where decay is confined
            to a first layer.
    """

    hidden_channels: int = count(128, most=1_000_000)
    edge_channels: int = count(32, most=1_000_000)
    dropout: float = rate(0.5)
    form: Literal["gcn", "public-code"] = "gcn"


@takes(GAugOSettings)
class GAugO(nn.Module):
    """A two-layer GCN, and a graph auto-encoder that the strategy trains along with it.

    From "Data Augmentation for Graph Neural Networks" (AAAI 2021). Its predictions are the GCN's on
    the graph as it is; the auto-encoder changes the graphs that the GCN is trained on.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        edge_channels: int = 32,
        dropout: float = 0.5,
        form: Literal["gcn", "public-code"] = "gcn",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.settings = GAugOSettings.of_call(locals())
        sizes = in_channels, hidden_channels, out_channels
        self.classifier = GCN(*sizes, dropout=dropout, generator=generator)
        if form == "public-code":
            self.classifier.drops[0] = Dropout(0.0, DropoutKey.LAYER_INPUT)
        sizes = in_channels, hidden_channels, edge_channels
        self.encoder = EdgeEncoder(*sizes, bias=form == "gcn", generator=generator)

    @property
    def first_layer(self) -> nn.Module:
        """What weight decay may be confined to; the edge predictor never is penalised then."""
        is_public = self.settings.form == "public-code"
        return self.classifier if is_public else self.classifier.first_layer

    def forward(self, x: Tensor | CSR, graph: Graph | Tensor, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes)."""
        logits: Tensor = self.classifier(x, graph, noise)
        return logits


class EdgeEncoder(nn.Module):
    """Z = relu(Â Â X W_1 W_2); the more likely an edge, the higher ⟨z_i, z_j⟩.

    After "Variational Graph Auto-Encoders" (2016), the form without variance. The ReLU stands at
    the end, so that no score is negative and scores can serve as probabilities.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        bias: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.first = GCNConv(in_channels, hidden_channels, bias=bias, generator=generator)
        self.second = GCNConv(hidden_channels, out_channels, bias=bias, generator=generator)

    def forward(self, x: Tensor | CSR, graph: Graph) -> Tensor:
        """Z, shape (nodes, out_channels)."""
        return F.relu(self.second(self.first(x, graph), graph))
