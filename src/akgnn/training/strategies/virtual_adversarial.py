"""Batch virtual adversarial training: predictions should not change when features do, a little."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.data.transforms import dense_features
from akgnn.graph import Graph
from akgnn.ops.dropout import Noise, hashed
from akgnn.settings import Settings, count, non_negative, positive
from akgnn.training.strategies.supervised import training_loss

_ORDER, _DIRECTIONS = 13_000_000, 14_000_000


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
        settings = self.settings
        x = dense_features(data).x
        assert isinstance(x, Tensor)
        logits: Tensor = model(x, data.graph, noise)
        order = noise.key(_ORDER)
        nodes, field = spread_nodes(data.graph, settings.num_nodes, settings.hops, order)
        target = logits.detach()[nodes].softmax(1)

        def divergence(perturbation: Tensor) -> Tensor:
            moved = model(x + perturbation, data.graph, noise)[nodes].log_softmax(1)
            return F.kl_div(moved, target, reduction="batchmean")

        direction = _random_directions(x, noise.key(_DIRECTIONS), settings.probe)
        (gradient,) = torch.autograd.grad(divergence(direction.requires_grad_()), direction)
        adversarial = divergence(settings.radius * _unit_fields(gradient, field, len(nodes)))
        entropy = -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()
        yield training_loss(logits, data) + settings.alpha * adversarial + settings.beta * entropy


def spread_nodes(graph: Graph, number: int, hops: int, key: int) -> tuple[Tensor, Tensor]:
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


def _unit_fields(gradient: Tensor, field: Tensor, number: int) -> Tensor:
    """The gradient scaled to length 1 within each receptive field, and 0 outside of all."""
    inside = field >= 0
    squares = gradient.square().sum(1)[inside]
    length = squares.new_zeros(number).index_add_(0, field[inside], squares).sqrt()
    scale = torch.zeros_like(gradient[:, :1])
    scale[inside] = (1 / length.clamp_min(1e-30))[field[inside]].unsqueeze(1)
    return scale * gradient


def _random_directions(x: Tensor, key: int, length: float) -> Tensor:
    """A random direction for each node's features, from two hashes by Box and Muller's formula."""
    words = hashed(2 * x.numel(), key, x.device).bitwise_and(2**24 - 1).to(x.dtype)
    first, second = ((words + 0.5) / 2**24).view(2, *x.shape)
    normal = (-2 * first.log()).sqrt() * (2 * torch.pi * second).cos()
    return length * F.normalize(normal, dim=1)
