"""Scores of predictions. Accuracies and F1 are in per cent, as the paper's tables are."""

import math

import torch
from torch import Tensor


def accuracy(predicted: Tensor, y: Tensor) -> float:
    """Share of nodes whose class is predicted, in per cent; NaN where there are no nodes."""
    hits = int((predicted == y).sum())
    return 100 * hits / y.numel() if y.numel() else math.nan


def confusion_matrix(predicted: Tensor, y: Tensor, num_classes: int) -> Tensor:
    """How often class i (row) was predicted as class j (column)."""
    pairs = torch.bincount(y * num_classes + predicted, minlength=num_classes**2)
    return pairs.view(num_classes, num_classes)


def macro_f1(predicted: Tensor, y: Tensor, num_classes: int) -> float:
    """F1 averaged over the classes that occur, in per cent; NaN where there are no nodes."""
    table = confusion_matrix(predicted, y, num_classes).double()
    hits, wanted, found = table.diag(), table.sum(1), table.sum(0)
    occurs = wanted + found > 0
    scores = 2 * hits[occurs] / (wanted + found)[occurs]
    return 100 * float(scores.mean())
