"""Models with AKConv layers, made ready for PyG's explainers; importing this needs PyG."""

from copy import deepcopy

from torch import Tensor, nn

from akgnn.errors import MissingExtraError
from akgnn.layers.ak_conv import AKConv

try:
    from torch_geometric.nn import MessagePassing
except ImportError as error:
    raise MissingExtraError("Explaining a model with PyG", "pyg") from error


def explainable(model: nn.Module) -> nn.Module:
    """A copy of a model in which PyG's explainers see the messages of every `AKConv`.

    The model must take PyG's `edge_index`, as `AKConv` and `AKGNN` do. The copy gives the same
    results, edge by edge and so more slowly:

        explainer = Explainer(explainable(model), algorithm=GNNExplainer(), …)
        explanation = explainer(x, edge_index, index=5)

    Args:
        model: Any module; one `AKConv` alone too.
    """
    copy = deepcopy(model)
    if isinstance(copy, AKConv):
        return AKMessagePassing(copy)
    for parent in list(copy.modules()):
        for name, child in parent.named_children():
            if isinstance(child, AKConv):
                setattr(parent, name, AKMessagePassing(child))
    return copy


class AKMessagePassing(MessagePassing):  # type: ignore[misc]
    """The same layer with every message in the open, so that PyG's explainers can mask them.

    A mask scales what an edge passes on. As with PyG's own layers it leaves the degrees, and with
    them the normalisation, as they are. The scalars are the layer's own.
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
