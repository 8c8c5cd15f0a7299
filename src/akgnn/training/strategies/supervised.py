"""Plain cross-entropy, and what a strategy is."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Protocol

import torch
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.ops.dropout import Noise
from akgnn.settings import Settings
from akgnn.training.metrics import cross_entropy


class Strategy(Protocol):
    """How one epoch of training is made of losses.

    A strategy may have the class attribute `takes_replicas = True`: it takes stacked models, and
    gives one loss for each replica. With `takes_labels = True` it wants data that have label
    inputs, whose labels it hides from the nodes that learn to predict them.
    """

    def losses(self, model: nn.Module, data: NodeData, noise: Noise) -> Iterator[Tensor]:
        """The losses of one epoch, one for each step of the optimiser, each on fresh weights."""
        ...


@dataclass(frozen=True, kw_only=True)
class SupervisedSettings(Settings):
    """Plain cross-entropy has no settings."""


class Supervised:
    """Cross-entropy of the training nodes, one step an epoch."""

    takes_replicas: ClassVar[bool] = True

    def __init__(self, settings: SupervisedSettings | None = None) -> None:
        self.settings = settings or SupervisedSettings()

    def losses(self, model: nn.Module, data: NodeData, noise: Noise) -> Iterator[Tensor]:
        """One loss."""
        yield training_loss(model(data.x, data.graph, noise), data)


def takes_labels(strategy: Strategy) -> bool:
    """Whether a strategy wants the labels of training nodes among the features."""
    return bool(getattr(strategy, "takes_labels", False))


def training_loss(logits: Tensor, data: NodeData) -> Tensor:
    """Cross-entropy of the training nodes, weighted by class; of several replicas one each."""
    nodes = data.split.train
    return cross_entropy(logits[..., nodes, :], data.y[nodes], data.class_weight)


def with_class_weight(data: NodeData, kind: Literal["none", "balanced"]) -> NodeData:
    """The data with the weights of their classes; as they are for `none`."""
    if kind == "none" or data.class_weight is not None:
        return data
    y = data.y[data.split.train]
    return replace(data, class_weight=balanced_weight(y, data.num_classes))


def balanced_weight(y: Tensor, num_classes: int) -> Tensor:
    """Nodes / (classes · count) of each class, so that every class weighs the same in sum.

    Only classes that occur are counted, and others weigh 0: the weights of all nodes have mean 1.
    """
    counts = torch.bincount(y, minlength=num_classes)
    occurring = int((counts > 0).sum())
    weight = y.numel() / (occurring * counts.clamp_min(1).double())
    return torch.where(counts > 0, weight, 0).float()
