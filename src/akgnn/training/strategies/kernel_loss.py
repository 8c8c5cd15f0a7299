"""A loss for the kernels' scalars alone: cross-entropy in a pass that drops nothing."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.training.strategies.supervised import loss_of


def learning_phi(model: nn.Module) -> list[nn.Parameter]:
    """The kernels' scalars φ that are learned."""
    named = model.named_parameters()
    return [p for name, p in named if name.rpartition(".")[2] == "phi" and p.requires_grad]


@contextmanager
def held(parameters: Sequence[nn.Parameter]) -> Iterator[None]:
    """Parameters that get no gradient from what is computed meanwhile."""
    for parameter in parameters:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in parameters:
            parameter.requires_grad_(True)


def kernel_loss(model: nn.Module, data: NodeData) -> Tensor:
    """Training loss in evaluation mode, as a function of φ; of several replicas one each.

    Every other parameter counts as a constant. The model is left in training mode.
    """
    phi = {id(parameter) for parameter in learning_phi(model)}
    others = [p for p in model.parameters() if p.requires_grad and id(p) not in phi]
    model.eval()
    with held(others):
        loss = loss_of(model, data, data.graph)
    model.train()
    return loss
