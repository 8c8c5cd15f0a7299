"""Consistency training: several passes with different masks should predict the same."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.layers.dropout import DropoutKey
from akgnn.ops.dropout import Noise
from akgnn.settings import Settings, count, non_negative, positive
from akgnn.training.strategies.supervised import training_loss


@dataclass(frozen=True, kw_only=True)
class ConsistencySettings(Settings):
    """Settings of consistency training.

    Attributes:
        passes: Number S of passes with masks of their own.
        temperature: T of the sharpening; 1 leaves the mean as it is, towards 0 it becomes certain.
        weight: Weight of the consistency loss beside the cross-entropy.
    """

    passes: int = count(4, most=1000)
    temperature: float = positive(0.5)
    weight: float = non_negative(1.0)


class Consistency:
    r"""Cross-entropy + weight · the distance of each pass from the sharpened mean of all.

    From "Graph Random Neural Networks for Semi-Supervised Learning on Graphs" (GRAND, NeurIPS
    2020). With p_s the predictions of pass s and c a class:

    .. math::
        \bar p = \frac1S \sum_s p_s, \qquad
        \bar p'_c = \bar p_c^{1/T} \Big/ \sum_{c'} \bar p_{c'}^{1/T}, \qquad
        L_{con} = \frac{1}{S N} \sum_s \sum_i \lVert \bar p'_i - p_{s,i} \rVert^2

    over all N nodes, labelled or not; no gradient flows through the sharpened mean.
    """

    takes_replicas: ClassVar[bool] = True

    def __init__(self, settings: ConsistencySettings | None = None) -> None:
        self.settings = settings or ConsistencySettings()

    def losses(self, model: nn.Module, data: NodeData, noise: Noise) -> Iterator[Tensor]:
        """One loss."""
        settings = self.settings
        passes = [
            # Other masks in every pass of the epoch.
            model(data.x, data.graph, Noise(noise.key(DropoutKey.PASS_SEED + number), noise.step))
            for number in range(settings.passes)
        ]
        supervised = torch.stack([training_loss(logits, data) for logits in passes]).mean(0)
        predictions = torch.stack(passes).softmax(-1)
        yield supervised + settings.weight * inconsistency(predictions, settings.temperature)


def inconsistency(predictions: Tensor, temperature: float) -> Tensor:
    """Mean squared distance from the sharpened mean; of several replicas one each.

    Args:
        predictions: Probabilities, shape (passes, nodes, classes), or (passes, replicas, nodes,
            classes).
        temperature: T of the sharpening.
    """
    target = sharpened(predictions.detach().mean(0), temperature)
    return (predictions - target).square().sum(-1).mean((0, -1))


def sharpened(p: Tensor, temperature: float) -> Tensor:
    """p_c^(1/T), scaled to a sum of 1 over the last dimension."""
    # By logarithms: the powers themselves underflow at low temperatures.
    return (p.log() / temperature).softmax(-1)
