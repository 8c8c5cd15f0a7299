"""How much the features of every node within reach add to the class of one.

One backward pass: gradient times input, Σ_f x_if ∂(log-odds) / ∂x_if for node i. It is exact where
the model is linear in the features, and what a small change would add elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.data.node_data import NodeData
from akgnn.explain.neighbours import log_odds
from akgnn.explain.nodes import NodeFacts


@dataclass(frozen=True)
class FarNode:
    """A node that no edge joins to the explained one.

    Attributes:
        facts: About it.
        distance: How many edges lie between.
        effect: What its features add to the log-odds, to the first order.
    """

    facts: NodeFacts
    distance: int
    effect: float


def feature_effects(model: nn.Module, data: NodeData, node: int, chosen: int) -> Tensor:
    """What the features of each node add to the log-odds of one node's class, to the first order.

    Args:
        model: In evaluation mode.
        data: The data; sparse features are written out with their zeros for the gradient.
        node: The explained node.
        chosen: The class.
    """
    weight = next((p for p in model.parameters() if p.is_floating_point()), None)
    dtype = torch.float32 if weight is None else weight.dtype
    x = data.x.to_dense(dtype) if isinstance(data.x, CSR) else data.x.clone()
    with torch.enable_grad():
        x.requires_grad_()
        score = log_odds(model(x, data.graph)[node], chosen)
        (grad,) = torch.autograd.grad(score, x)
    return (grad * x.detach()).sum(1)


def by_distance(effects: Tensor, distance: Tensor) -> list[float]:
    """The effects of nodes added up by their distance; those without a path have none.

    It ends with the furthest node that has an effect.
    """
    is_felt = (effects != 0) & (distance >= 0)
    last = int(distance[is_felt].max()) if bool(is_felt.any()) else 0
    near = (distance >= 0) & (distance <= last)
    total = torch.zeros(last + 1, dtype=torch.float64, device=effects.device)
    sums: Sequence[float] = total.index_add_(0, distance[near], effects[near].double()).tolist()
    return list(sums)
