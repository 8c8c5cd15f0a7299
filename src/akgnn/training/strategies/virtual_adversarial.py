"""Batch virtual adversarial training: predictions should not change when features do, a little."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.errors import SettingsError
from akgnn.graph import Graph
from akgnn.layers.dropout import Dropout, DropoutKey
from akgnn.models.gcn import GCN, GCNConv
from akgnn.ops.adaptive import adaptive_propagate
from akgnn.ops.dropout import Noise, dropout
from akgnn.settings import Settings, count, needs, non_negative, positive
from akgnn.training.strategies.perturbations import (
    random_directions,
    small_numbers,
    spread_nodes,
    unit_fields,
)
from akgnn.training.strategies.supervised import training_loss

Adversary = Literal["sampled", "optimised"]


@dataclass(frozen=True, kw_only=True)
class VirtualAdversarialSettings(Settings):
    """Settings of batch virtual adversarial training.

    Attributes:
        alpha: Weight of the adversarial loss.
        beta: Weight of the mean entropy of all predictions.
        adversary: How the perturbation is found: for some nodes by one power iteration (`sampled`),
            or for all nodes by steps of Adam (`optimised`).
        num_nodes: Sampled: the most nodes that are perturbed in one step.
        hops: Sampled: radius of a node's receptive field; those of perturbed nodes do not overlap.
        radius: Sampled: length of the perturbation of a node's features.
        probe: Sampled: length of the random step that finds its direction.
        steps: Optimised: number of Adam's steps.
        step_size: Optimised: Adam's learning rate.
        penalty: Optimised: weight of half the squared length of the whole perturbation.
        deviation: Optimised: standard deviation of the normal numbers that it starts at, of which
            those beyond twice that are left out.
    """

    alpha: float = non_negative(0.9)
    beta: float = non_negative(0.7)
    adversary: Adversary = "sampled"
    num_nodes: int = needs(count(100), adversary=("sampled",))
    hops: int = needs(count(2), adversary=("sampled",))
    radius: float = needs(positive(0.03), adversary=("sampled",))
    probe: float = needs(positive(1e-6), adversary=("sampled",))
    steps: int = needs(count(10, most=1000), adversary=("optimised",))
    step_size: float = needs(positive(1e-3), adversary=("optimised",))
    penalty: float = needs(non_negative(1.0), adversary=("optimised",))
    deviation: float = needs(positive(0.01), adversary=("optimised",))


class VirtualAdversarial:
    """Cross-entropy + α KL(p(X) ‖ p(X + R)) + β mean entropy.

    From "Batch Virtual Adversarial Training for Graph Convolutional Networks" (2019). Of the
    divergence no gradient flows through p(X) or R.

    Sampled, R is the direction that changes the predictions of sampled nodes most, found by one
    power iteration. Their receptive fields do not overlap, so each finds its own direction. All
    passes share their dropout masks, so that only R tells them apart.

    Optimised, R has a row for every node. It starts at small normal numbers, and some steps of Adam
    minimise penalty · ‖R‖² / 2 - KL, where KL is the mean over all nodes. Every pass has dropout
    masks of its own, in the steps too, so that the loss asks for predictions that masks do not
    change either. The authors' code carries Adam's moments over from epoch to epoch; here they
    start anew, as nothing but weights outlasts an epoch. It also has a pass for the cross-entropy
    and another for entropy and p(X), which are one here. Its GCN has no biases, by which entropy
    can draw too many nodes to one class.
    """

    def __init__(self, settings: VirtualAdversarialSettings | None = None) -> None:
        self.settings = settings or VirtualAdversarialSettings()

    def losses(self, model: nn.Module, data: NodeData, noise: Noise) -> Iterator[Tensor]:
        """One loss."""
        if not isinstance(model, GCN):
            raise SettingsError("Virtual adversarial training is written for a GCN.")
        settings = self.settings
        find = _sampled if settings.adversary == "sampled" else _optimised
        logits, adversarial = find(model, data, noise, settings)
        entropy = -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()
        yield training_loss(logits, data) + settings.alpha * adversarial + settings.beta * entropy


def _sampled(
    model: GCN, data: NodeData, noise: Noise, settings: VirtualAdversarialSettings
) -> tuple[Tensor, Tensor]:
    """The logits, and their divergence from those of perturbed features, on sampled nodes."""
    order = noise.key(DropoutKey.NODE_ORDER)
    nodes, field = spread_nodes(data.graph, settings.num_nodes, settings.hops, order)
    # Nothing outside the receptive fields moves a prediction inside, so R has their rows only.
    rows = (field >= 0).nonzero().squeeze(1)
    transformed = _transformed(model, data, noise)
    logits = _from_first(model, transformed, data.graph, noise)
    target = logits.detach()[nodes]

    def divergence(perturbation: Tensor, unmoved: Tensor) -> Tensor:
        own = _moved(model, perturbation, noise, rows)
        moved = _from_first(model, unmoved.index_add(0, rows, own), data.graph, noise)
        return _divergence(target, moved[nodes])

    weight = cast(GCNConv, model.layers[0]).linear.weight
    direction = random_directions(
        rows, data.graph.num_nodes, weight, noise.key(DropoutKey.DIRECTIONS)
    ).mul_(settings.probe)
    (gradient,) = torch.autograd.grad(
        divergence(direction.requires_grad_(), transformed.detach()), direction
    )
    unit = unit_fields(gradient, field[rows], len(nodes))
    return logits, divergence(settings.radius * unit, transformed)


def _optimised(
    model: GCN, data: NodeData, noise: Noise, settings: VirtualAdversarialSettings
) -> tuple[Tensor, Tensor]:
    """The logits, and their divergence from those of perturbed features, on all nodes."""
    weight = cast(GCNConv, model.layers[0]).linear.weight
    perturbation = small_numbers(
        data.graph.num_nodes, weight, settings.deviation, noise.key(DropoutKey.DIRECTIONS)
    ).requires_grad_()
    # Adam adds its weight decay, penalty · R, after it has turned the gradient of KL round.
    adam = torch.optim.Adam(
        [perturbation],
        lr=settings.step_size,
        weight_decay=settings.penalty,
        maximize=True,
        fused=True,
    )
    for step in range(settings.steps):
        with torch.no_grad():
            target = model(data.x, data.graph, _noise_of_pass(noise, 2 * step))
        moved = _perturbed(model, data, perturbation, _noise_of_pass(noise, 2 * step + 1))
        (perturbation.grad,) = torch.autograd.grad(_divergence(target, moved), perturbation)
        adam.step()
    logits = model(data.x, data.graph, noise)
    last = _noise_of_pass(noise, 2 * settings.steps)
    moved = _perturbed(model, data, perturbation.detach(), last)
    return logits, _divergence(logits.detach(), moved)


def _noise_of_pass(noise: Noise, number: int) -> Noise:
    """Noise that gives a pass of the epoch masks of its own."""
    return Noise(noise.key(DropoutKey.PASS_SEED + number), noise.step)


def _divergence(target: Tensor, moved: Tensor) -> Tensor:
    """Mean KL(target ‖ moved) of predictions that are given by their logits."""
    return F.kl_div(moved.log_softmax(1), target.softmax(1), reduction="batchmean")


def _perturbed(model: GCN, data: NodeData, perturbation: Tensor, noise: Noise) -> Tensor:
    """The logits where all nodes' features are perturbed."""
    transformed = _transformed(model, data, noise) + _moved(model, perturbation, noise)
    return _from_first(model, transformed, data.graph, noise)


def _transformed(model: GCN, data: NodeData, noise: Noise) -> Tensor:
    """X W of the first layer; sparse features stay sparse."""
    transformed: Tensor = cast(GCNConv, model.layers[0]).linear(model.drops[0](data.x, noise))
    return transformed


def _moved(model: GCN, perturbation: Tensor, noise: Noise, rows: Tensor | None = None) -> Tensor:
    """R W of the first layer, with R under the mask that the features of its rows have."""
    drop = cast(Dropout, model.drops[0])
    dropped = dropout(perturbation, drop.rate, noise.key(drop.key), rows)
    return dropped @ cast(GCNConv, model.layers[0]).linear.weight


def _from_first(model: GCN, transformed: Tensor, graph: Graph, noise: Noise) -> Tensor:
    """The logits, from the features after the first layer's weights."""
    first, *later = (cast(GCNConv, layer) for layer in model.layers)
    h = first.shifted(adaptive_propagate(graph, transformed, 1.0))
    for layer, drop in zip(later, model.drops[1:], strict=True):
        h = layer(drop(F.relu(h), noise), graph)
    return h
