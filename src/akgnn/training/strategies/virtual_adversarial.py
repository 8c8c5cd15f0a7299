"""Batch virtual adversarial training: predictions should not change when features do, a little."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.errors import SettingsError
from akgnn.graph import Graph
from akgnn.hashing import Key
from akgnn.layers.dropout import Dropout, DropoutKey
from akgnn.models.gcn import GCN, GCNConv
from akgnn.ops.adaptive import adaptive_propagate
from akgnn.ops.dropout import Noise, dropout, hashed, hashed_at
from akgnn.settings import Settings, count, non_negative, positive
from akgnn.training.strategies.supervised import training_loss

_NUMBERS_AT_ONCE = 2**16


@dataclass(frozen=True, kw_only=True)
class VirtualAdversarialSettings(Settings):
    """Settings of batch virtual adversarial training.

    Attributes:
        alpha: Weight of the adversarial loss.
        beta: Weight of the mean entropy of all predictions.
        num_nodes: The most nodes that are perturbed in one step.
        hops: Radius of a node's receptive field; those of perturbed nodes do not overlap.
        radius: Length of the perturbation of a node's features.
        probe: Length of the random step that finds its direction.
    """

    alpha: float = non_negative(0.9)
    beta: float = non_negative(0.7)
    num_nodes: int = count(100)
    hops: int = count(2)
    radius: float = positive(0.03)
    probe: float = positive(1e-6)


class VirtualAdversarial:
    """Cross-entropy + α KL(p(X) ‖ p(X + R)) on sampled nodes + β mean entropy.

    From "Batch Virtual Adversarial Training for Graph Convolutional Networks" (2019), the sampled
    form: R is the direction that changes the predictions of the sampled nodes most, found by one
    power iteration. Their receptive fields do not overlap, so each finds its own direction.
    """

    def __init__(self, settings: VirtualAdversarialSettings | None = None) -> None:
        self.settings = settings or VirtualAdversarialSettings()

    def losses(self, model: nn.Module, data: NodeData, noise: Noise) -> Iterator[Tensor]:
        """One loss. All passes share their dropout masks, so that only R tells them apart."""
        if not isinstance(model, GCN):
            raise SettingsError("Virtual adversarial training is written for a GCN.")
        settings = self.settings
        order = noise.key(DropoutKey.NODE_ORDER)
        nodes, field = spread_nodes(data.graph, settings.num_nodes, settings.hops, order)
        # Nothing outside the receptive fields moves a prediction inside, so R has their rows only.
        rows = (field >= 0).nonzero().squeeze(1)
        first = cast(GCNConv, model.layers[0])
        transformed = first.linear(model.drops[0](data.x, noise))
        logits = _from_first(model, transformed, data.graph, noise)
        target = logits.detach()[nodes].softmax(1)

        def divergence(perturbation: Tensor, unmoved: Tensor) -> Tensor:
            own = _dropped(model, perturbation, rows, noise) @ first.linear.weight
            moved = _from_first(model, unmoved.index_add(0, rows, own), data.graph, noise)
            return F.kl_div(moved[nodes].log_softmax(1), target, reduction="batchmean")

        direction = random_directions(
            rows, data.graph.num_nodes, first.linear.weight, noise.key(DropoutKey.DIRECTIONS)
        ).mul_(settings.probe)
        (gradient,) = torch.autograd.grad(
            divergence(direction.requires_grad_(), transformed.detach()), direction
        )
        unit = unit_fields(gradient, field[rows], len(nodes))
        adversarial = divergence(settings.radius * unit, transformed)
        entropy = -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()
        yield training_loss(logits, data) + settings.alpha * adversarial + settings.beta * entropy


def _from_first(model: GCN, transformed: Tensor, graph: Graph, noise: Noise) -> Tensor:
    """The logits, from the features after the first layer's weights."""
    first, *later = (cast(GCNConv, layer) for layer in model.layers)
    h = adaptive_propagate(graph, transformed, 1.0) + first.bias
    for layer, drop in zip(later, model.drops[1:], strict=True):
        h = layer(drop(F.relu(h), noise), graph)
    return h


def _dropped(model: GCN, perturbation: Tensor, rows: Tensor, noise: Noise) -> Tensor:
    """The perturbation under the mask that the features of its rows have."""
    drop = cast(Dropout, model.drops[0])
    return dropout(perturbation, drop.rate, noise.key(drop.key), rows)


def spread_nodes(graph: Graph, number: int, hops: int, key: Key) -> tuple[Tensor, Tensor]:
    """Random nodes whose receptive fields, the nodes within `hops` steps, do not overlap.

    A greedy draw that gives up after four times as many candidates as nodes are asked for.

    Returns:
        The nodes, and for every node of the graph the number of the field it lies in, or -1.
    """
    order = torch.argsort(hashed(graph.num_nodes, key, graph.device)).tolist()
    rowptr = graph.adjacency.pattern.rowptr.tolist()
    col = graph.adjacency.pattern.col.tolist()
    member_of = [-1] * graph.num_nodes
    chosen: list[int] = []
    for node in order[: 4 * number]:
        field = {node}
        frontier = {node}
        for _ in range(hops):
            frontier = {u for v in frontier for u in col[rowptr[v] : rowptr[v + 1]]} - field
            field |= frontier
        if all(member_of[member] < 0 for member in field):
            for member in field:
                member_of[member] = len(chosen)
            chosen.append(node)
        if len(chosen) == number:
            break
    device = graph.device
    return torch.tensor(chosen, device=device), torch.tensor(member_of, device=device)


def unit_fields(gradient: Tensor, field: Tensor, number: int) -> Tensor:
    """The gradient scaled to length 1 within each receptive field.

    Args:
        gradient: One row a node.
        field: The number of the field that each row lies in.
        number: Number of fields.
    """
    squares = gradient.square().sum(1)
    length = squares.new_zeros(number).index_add_(0, field, squares).sqrt()
    return (1 / length.clamp_min(1e-30))[field].unsqueeze(1) * gradient


def random_directions(rows: Tensor, num_nodes: int, weight: Tensor, key: Key) -> Tensor:
    """A random direction of length 1 for the features of each row's node.

    Two hashes make a normal number by Box and Muller's formula. A node has the same direction
    whatever other rows there are.

    Args:
        rows: Numbers of the nodes.
        num_nodes: Number of nodes of the graph.
        weight: Weight of the first layer, for the number of features and the dtype.
        key: From `Noise.key`.
    """
    width = weight.size(0)
    out = torch.empty(len(rows), width, dtype=weight.dtype, device=weight.device)
    channel = torch.arange(width, device=weight.device)
    # Block by block, so that words and numbers never leave the cache.
    size = max(1, _NUMBERS_AT_ONCE // width) if out.device.type == "cpu" else max(1, len(rows))
    for part, nodes in zip(out.split(size), rows.split(size), strict=True):
        indices = nodes.unsqueeze(1) * width + channel
        first, second = (
            hashed_at(half, key).bitwise_and_(2**24 - 1).to(out.dtype).add_(0.5).div_(2**24)
            for half in (indices, indices + num_nodes * width)
        )
        radius = first.log_().mul_(-2).sqrt_()
        part.copy_(F.normalize(radius.mul_(second.mul_(2 * torch.pi).cos_()), dim=1))
    return out
