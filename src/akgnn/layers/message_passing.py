"""AKConv as one of PyG's message-passing layers; importing this needs PyG."""

from torch import Tensor
from torch_geometric.nn import MessagePassing

from akgnn.layers.ak_conv import AKConv


class AKMessagePassing(MessagePassing):  # type: ignore[misc]
    """The same layer with every message in the open, so that PyG's explainers can mask them.

    A mask scales what an edge passes on. As with PyG's own layers it leaves the degrees, and with
    them the normalisation, as they are.

    Args:
        conv: The layer, whose scalars are shared.
    """

    def __init__(self, conv: AKConv) -> None:
        super().__init__(aggr="sum")
        self.conv = conv

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Propagate the signals `x`, shape (nodes, channels), one step over the edges."""
        return self.conv.edgewise(x, edge_index, edge_weight, sum_over=self._sum_over)

    def _sum_over(self, edge_index: Tensor, edge_weight: Tensor, h: Tensor) -> Tensor:
        out: Tensor = self.propagate(edge_index, h=h, edge_weight=edge_weight)
        return out

    def message(self, h_j: Tensor, edge_weight: Tensor) -> Tensor:
        """What an edge passes on."""
        return edge_weight.unsqueeze(1) * h_j
