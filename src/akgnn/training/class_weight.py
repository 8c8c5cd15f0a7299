"""Weights of classes in the training loss, for labels of which some are rare."""

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from akgnn.data.node_data import NodeData


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
