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
        data: The data; sparse features stay sparse.
        node: The explained node.
        chosen: The class.
    """
    x = data.x
    if isinstance(x, CSR):
        # Zeros add nothing, so the entries tell all.
        ones = torch.ones(x.num_entries, device=x.device)
        value = (ones if x.value is None else x.value.detach().clone()).requires_grad_()
        parts = value.detach() * _gradient(model, CSR(x.pattern, value), value, data, node, chosen)
        return parts.new_zeros(x.shape[0]).index_add_(0, x.pattern.row, parts)
    features = x.detach().clone().requires_grad_()
    return (features.detach() * _gradient(model, features, features, data, node, chosen)).sum(1)


def _gradient(
    model: nn.Module, x: Tensor | CSR, wanted: Tensor, data: NodeData, node: int, chosen: int
) -> Tensor:
    with torch.enable_grad():
        score = log_odds(model(x, data.graph)[node], chosen)
        (grad,) = torch.autograd.grad(score, wanted)
    return grad


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
