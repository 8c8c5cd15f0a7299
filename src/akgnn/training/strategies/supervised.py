"""Plain cross-entropy, and what a strategy is."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Protocol, cast

import torch
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.data.node_data import NodeData
from akgnn.graph import Graph
from akgnn.ops.divided import node_mean
from akgnn.ops.dropout import Noise
from akgnn.ops.rows import at_nodes, current_division
from akgnn.settings import Settings
from akgnn.training.metrics import cross_entropies, cross_entropy


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
        yield loss_of(model, data, data.graph, noise)


def takes_labels(strategy: Strategy) -> bool:
    """Whether a strategy wants the labels of training nodes among the features."""
    return bool(getattr(strategy, "takes_labels", False))


def scores_at(
    model: nn.Module, x: Tensor | CSR, graph: Graph, nodes: Tensor, noise: Noise | None = None
) -> Tensor:
    """Class scores of some nodes, shape (nodes, classes); of several replicas one such block each.

    A model whose class says `takes_nodes = True` does not classify the others.
    """
    step = () if noise is None else (noise,)
    if getattr(model, "takes_nodes", False):
        scores: Tensor = model(x, graph, *step, nodes=nodes)
        return scores
    return cast(Tensor, model(x, graph, *step))[..., nodes, :]


def loss_of(model: nn.Module, data: NodeData, graph: Graph, noise: Noise | None = None) -> Tensor:
    """The training loss of a model on this graph, with no scores but those of training nodes."""
    nodes = data.split.train
    return loss_at(scores_at(model, data.x, graph, nodes, noise), data, nodes)


def training_loss(logits: Tensor, data: NodeData) -> Tensor:
    """Cross-entropy of the training nodes, weighted by class; of several replicas one each.

    Args:
        logits: Class scores of all nodes.
        data: Their labels and the weights of the classes.
    """
    nodes = data.split.train
    return loss_at(logits[..., nodes, :], data, nodes)


def loss_at(scores: Tensor, data: NodeData, nodes: Tensor) -> Tensor:
    """As `training_loss`, of any nodes, whose scores are given."""
    y, weight = data.y[nodes], data.class_weight
    if current_division() is None:
        return cross_entropy(scores, y, weight)
    with at_nodes(nodes):
        return node_mean(cross_entropies(scores, y, weight))


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
    return weight_of_counts(torch.bincount(y, minlength=num_classes))


def weight_of_counts(counts: Tensor) -> Tensor:
    """As `balanced_weight`, from the number of nodes of each class."""
    occurring = int((counts > 0).sum())
    weight = int(counts.sum()) / (occurring * counts.clamp_min(1).double())
    return torch.where(counts > 0, weight, 0).float()
