"""The plain way, and what a strategy is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.ops.dropout import Noise
from akgnn.settings import Settings
from akgnn.training.metrics import cross_entropy


class Strategy(Protocol):
    """How one epoch of training is made of losses."""

    def losses(self, model: nn.Module, data: NodeData, noise: Noise) -> Iterator[Tensor]:
        """The losses of one epoch, one for each step of the optimiser, each on fresh weights.

        A strategy that takes stacked models gives one number for each replica.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class SupervisedSettings(Settings):
    """The plain way has no settings."""


class Supervised:
    """Cross-entropy of the training nodes, one step an epoch."""

    def __init__(self, settings: SupervisedSettings | None = None) -> None:
        self.settings = settings or SupervisedSettings()

    def losses(self, model: nn.Module, data: NodeData, noise: Noise) -> Iterator[Tensor]:
        """One loss."""
        yield training_loss(model(data.x, data.graph, noise), data)


def training_loss(logits: Tensor, data: NodeData) -> Tensor:
    """Cross-entropy of the training nodes, weighted by class; of several replicas one each."""
    nodes = data.split.train
    return cross_entropy(logits[..., nodes, :], data.y[nodes], data.class_weight)
