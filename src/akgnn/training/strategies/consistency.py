"""Consistency training: several passes with different masks should predict the same."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.hashing import Key
from akgnn.layers.dropout import DropoutKey
from akgnn.ops.divided import node_mean, node_sum
from akgnn.ops.dropout import Noise
from akgnn.settings import Settings, count, non_negative, positive, whole
from akgnn.training.strategies.kernel_loss import held, kernel_loss, learning_phi
from akgnn.training.strategies.supervised import training_loss

Distance = Literal["squared", "cross-entropy"]


@dataclass(frozen=True, kw_only=True)
class ConsistencySettings(Settings):
    """Settings of consistency training.

    Attributes:
        passes: Number S of passes with masks of their own.
        temperature: T of the sharpening; 1 leaves the mean as it is, towards 0 it becomes certain.
        weight: Weight of the consistency loss beside the cross-entropy.
        warm_up: Over how many epochs the weight rises to that, in equal steps; 0 for at once.
        distance: How far a pass is from the sharpened mean: `squared`, or `cross-entropy`.
        confidence: Nodes count where the largest probability of the mean is above so many times
            1 / classes; 0 for all nodes.
        phi_sees_masks: Whether the kernels' scalars φ learn from the loss of the passes, as all
            other parameters do. False lets them learn from the cross-entropy of one more pass that
            drops nothing, which takes less time too.
    """

    passes: int = count(4, most=1000)
    temperature: float = positive(0.5)
    weight: float = non_negative(1.0)
    warm_up: int = whole(0)
    distance: Distance = "squared"
    confidence: float = non_negative(0.0)
    phi_sees_masks: bool = True


class Consistency:
    r"""Cross-entropy + weight · the distance of each pass from the sharpened mean of all.

    From "Graph Random Neural Networks for Semi-Supervised Learning on Graphs" (GRAND, NeurIPS
    2020). With p_s the predictions of pass s and c a class:

    .. math::
        \bar p = \frac1S \sum_s p_s, \qquad
        \bar p'_c = \bar p_c^{1/T} \Big/ \sum_{c'} \bar p_{c'}^{1/T}, \qquad
        L_{con} = \frac{1}{S N} \sum_s \sum_i \lVert \bar p'_i - p_{s,i} \rVert^2

    over all N nodes, labelled or not; no gradient flows through the sharpened mean.

    "GRAND+: Scalable Graph Random Neural Networks" (WWW 2022) lets the weight rise at first, takes
    the mean over those nodes alone whose mean :math:`\bar p_i` is confident, and may replace the
    squared distance by the cross-entropy :math:`-\sum_c \bar p'_{i,c} \log p_{s,i,c}`.

    φ may learn from a pass without masks instead. On CiteSeer the two differ: the passes draw the
    first λ towards 1, the training loss without masks has it rise.
    """

    takes_replicas: ClassVar[bool] = True

    def __init__(self, settings: ConsistencySettings | None = None) -> None:
        self.settings = settings or ConsistencySettings()

    def losses(self, model: nn.Module, data: NodeData, noise: Noise) -> Iterator[Tensor]:
        """One loss."""
        phi = [] if self.settings.phi_sees_masks else learning_phi(model)
        with held(phi):
            loss = self._loss_of_passes(model, data, noise)
        # Only φ has a gradient of what is added.
        yield loss + kernel_loss(model, data) if phi else loss

    def _loss_of_passes(self, model: nn.Module, data: NodeData, noise: Noise) -> Tensor:
        settings = self.settings
        passes = [
            # Other masks in every pass of the epoch.
            model(data.x, data.graph, Noise(noise.key(DropoutKey.PASS_SEED + number), noise.step))
            for number in range(settings.passes)
        ]
        supervised = torch.stack([training_loss(logits, data) for logits in passes]).mean(0)
        weight = settings.weight * risen(noise.step, settings.warm_up)
        return supervised + weight * inconsistency(torch.stack(passes), settings)


def risen(step: Key, warm_up: int) -> Tensor | float:
    """The share of the weight at a step counted from 0: it rises to 1 over so many steps.

    Several replicas have one each, on their device: a recorded epoch reads them anew.
    """
    if not warm_up:
        return 1.0
    share = (step + 1) / warm_up
    return share.clamp(max=1) if isinstance(share, Tensor) else min(share, 1.0)


def inconsistency(logits: Tensor, settings: ConsistencySettings) -> Tensor:
    """Mean distance from the sharpened mean; of several replicas one each.

    Args:
        logits: Shape (passes, nodes, classes), or (passes, replicas, nodes, classes).
        settings: How distances are measured, and which nodes count.
    """
    predictions = logits.softmax(-1)
    mean = predictions.detach().mean(0)
    target = sharpened(mean, settings.temperature)
    if settings.distance == "squared":
        distances = (predictions - target).square().sum(-1)
    else:
        distances = -(target * logits.log_softmax(-1)).sum(-1)
    if not settings.confidence:
        return node_mean(distances.mean(0))
    # Weights in place of a selection, whose size a GPU would have to tell.
    counts = mean.amax(-1) > settings.confidence / mean.size(-1)
    total = node_sum(distances.mean(0) * counts)
    return total / node_sum(counts.to(total.dtype)).clamp_min(1)


def sharpened(p: Tensor, temperature: float) -> Tensor:
    """p_c^(1/T), scaled to a sum of 1 over the last dimension."""
    # By logarithms: the powers themselves underflow at low temperatures.
    return (p.log() / temperature).softmax(-1)
