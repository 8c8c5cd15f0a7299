"""Models with AKConv layers, made ready for PyG's explainers."""

from copy import deepcopy

from torch import nn

from akgnn.errors import MissingExtraError
from akgnn.layers.ak_conv import AKConv


def explainable(model: nn.Module) -> nn.Module:
    """A copy of a model in which PyG's explainers see the messages of every `AKConv`.

    The model must take PyG's `edge_index`, as `AKConv` and `AKGNN` do. The copy gives the same
    results, edge by edge and so more slowly:

        explainer = Explainer(explainable(model), algorithm=GNNExplainer(), …)
        explanation = explainer(x, edge_index, index=5)

    Args:
        model: Any module; one `AKConv` alone too.
    """
    try:
        from akgnn.layers.message_passing import AKMessagePassing
    except ImportError as error:
        raise MissingExtraError("Explaining a model with PyG", "pyg") from error

    copy = deepcopy(model)
    if isinstance(copy, AKConv):
        return AKMessagePassing(copy)
    for parent in list(copy.modules()):
        for name, child in parent.named_children():
            if isinstance(child, AKConv):
                setattr(parent, name, AKMessagePassing(child))
    return copy
