"""DropEdge: every epoch trains on a random part of the edges."""

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.layers.dropout import DropoutKey
from akgnn.ops.dropout import Noise
from akgnn.ops.sampling import sample_edges
from akgnn.settings import Settings, positive
from akgnn.training.strategies.supervised import loss_of


@dataclass(frozen=True, kw_only=True)
class DropEdgeSettings(Settings):
    """Settings of DropEdge.

    Attributes:
        keep: Share of the undirected edges that an epoch keeps.
    """

    keep: float = positive(0.4)


class DropEdge:
    """Cross-entropy on a graph with a random share of its edges, renormalised.

    From "DropEdge: Towards Deep Graph Convolutional Networks on Node Classification" (ICLR 2020).
    """

    def __init__(self, settings: DropEdgeSettings | None = None) -> None:
        self.settings = settings or DropEdgeSettings()

    def losses(self, model: nn.Module, data: NodeData, noise: Noise) -> Iterator[Tensor]:
        """One loss; the model normalises the reduced graph by its own degrees."""
        graph = sample_edges(
            data.graph, min(self.settings.keep, 1.0), noise.key(DropoutKey.DROP_EDGE)
        )
        yield loss_of(model, data, graph, noise)
