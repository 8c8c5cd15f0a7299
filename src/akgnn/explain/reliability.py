"""Whether a model is as often right as it is sure."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from akgnn.training.metrics import CALIBRATION_BINS


@dataclass(frozen=True)
class ReliabilityBin:
    """The nodes whose predicted class has a probability between two bounds.

    Attributes:
        low: Lower bound, which belongs to the bin before.
        high: Upper bound, included.
        count: How many nodes.
        confidence: Mean probability of the predicted class, in per cent; NaN without nodes.
        accuracy: Share of nodes whose class was predicted, in per cent; NaN without nodes.
    """

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


def reliability_bins(
    probability: Tensor, y: Tensor, *, bins: int = CALIBRATION_BINS
) -> list[ReliabilityBin]:
    """Nodes by how sure the model is of them, in bins of equal width from 0 to 1.

    Args:
        probability: Of each class, shape (nodes, classes).
        y: The classes.
        bins: How many.
    """
    sure, predicted = probability.double().max(1)
    place = (sure * bins).ceil().long().sub(1).clamp(0, bins - 1)
    count = torch.bincount(place, minlength=bins)
    hits = torch.bincount(place, (predicted == y).double(), minlength=bins)
    total = torch.bincount(place, sure, minlength=bins)
    return [
        ReliabilityBin(
            k / bins,
            (k + 1) / bins,
            int(count[k]),
            100 * float(total[k] / count[k]),
            100 * float(hits[k] / count[k]),
        )
        for k in range(bins)
    ]


def reliability_gap(bins: Sequence[ReliabilityBin]) -> float:
    """The expected calibration error: |accuracy - confidence|, averaged over nodes, in per cent.

    NaN where there are no nodes.
    """
    nodes = sum(part.count for part in bins)
    gaps = (part.count * abs(part.accuracy - part.confidence) for part in bins if part.count)
    return sum(gaps) / nodes if nodes else float("nan")
