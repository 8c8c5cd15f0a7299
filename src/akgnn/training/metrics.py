"""Scores of predictions. All but the losses are in per cent, as the paper's tables are."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from akgnn.errors import SettingsError

# Bins of the calibration error.
CALIBRATION_BINS = 15
# The normal distribution has 95 % of its mass within so many standard deviations.
_DEVIATIONS = 1.959964
# A narrower interval, in per cent, is told with one decimal.
_NARROW = 10.0


def cross_entropy(logits: Tensor, y: Tensor, class_weight: Tensor | None = None) -> Tensor:
    """The mean over nodes.

    Args:
        logits: Shape (nodes, classes), or (replicas, nodes, classes) for one mean each.
        y: The classes.
        class_weight: Multiplies the loss of each class's nodes; the mean is still over their
            number, so that a batch of a rare class counts for more.
    """
    # A mean over many nodes needs more digits than bfloat16 has.
    logits = logits.float() if logits.element_size() < 4 else logits
    if logits.dim() == 2 and class_weight is None:
        return F.cross_entropy(logits, y)
    return cross_entropies(logits, y, class_weight).mean(-1)


def cross_entropies(logits: Tensor, y: Tensor, class_weight: Tensor | None = None) -> Tensor:
    """As `cross_entropy`, for each node."""
    logits = logits.float() if logits.element_size() < 4 else logits
    number = 1 if logits.dim() == 2 else len(logits)
    weight = None if class_weight is None else class_weight.to(logits.dtype)
    losses = F.cross_entropy(logits.flatten(0, -2), y.repeat(number), weight, reduction="none")
    return losses.view(logits.shape[:-1])


def accuracy(predicted: Tensor, y: Tensor) -> float:
    """Share of nodes whose class is predicted, in per cent; NaN where there are no nodes."""
    hits = int((predicted == y).sum())
    return 100 * hits / y.numel() if y.numel() else math.nan


def share_interval(percent: float, nodes: int) -> tuple[float, float]:
    """The 95 % interval of a share of nodes, in per cent, as Wilson has it.

        (p + z²/2n ± z √(p (1 - p) / n + z²/4n²)) / (1 + z²/n)

    with the share p of n nodes and z = 1.96. It says how far other test nodes of the same kind
    could move the share, as if each were drawn by itself; not what other seeds or splits could.
    Unlike p ± 2 deviations it stays within 0 and 100 and has a width where p is 0 or 1.

    Args:
        percent: The share, in per cent.
        nodes: Of how many nodes it is; without any there is no interval, and both ends are NaN.
    """
    if nodes < 1 or math.isnan(percent):
        return math.nan, math.nan
    share, weight = min(max(percent / 100, 0.0), 1.0), _DEVIATIONS**2 / nodes
    middle = (share + weight / 2) / (1 + weight)
    half = math.sqrt(share * (1 - share) * weight + weight**2 / 4) / (1 + weight)
    return max(0.0, 100 * (middle - half)), min(100.0, 100 * (middle + half))


def interval_words(percent: float, nodes: int) -> str:
    """The interval of a share for readers: `61 to 85 with 48 nodes`; empty without nodes."""
    low, high = share_interval(percent, nodes)
    if math.isnan(low):
        return ""
    digits = 1 if high - low < _NARROW else 0
    return f"{low:.{digits}f} to {high:.{digits}f} with {nodes} node{'s' * (nodes != 1)}"


def balanced_accuracy(predicted: Tensor, y: Tensor, num_classes: int) -> float:
    """Share of each class's nodes that are predicted, averaged over the classes that occur.

    In per cent; NaN where there are no nodes.
    """
    table = confusion_matrix(predicted, y, num_classes).double()
    wanted = table.sum(1)
    occurs = wanted > 0
    return 100 * float((table.diag()[occurs] / wanted[occurs]).mean())


def calibration_error(logits: Tensor, y: Tensor) -> float:
    """How far the probability of the predicted class is from how often it is right, in per cent.

    The expected calibration error: nodes are put into 15 bins of equal width by that probability,
    and the distances between a bin's mean probability and its accuracy are averaged over nodes.
    NaN where there are no nodes.
    """
    probability, predicted = logits.double().softmax(1).max(1)
    # Mean distance times number of nodes is the sum of the surplus.
    sums = sums_by_bin(probability, probability - (predicted == y).double())
    return 100 * float(sums.abs().sum()) / y.numel() if y.numel() else math.nan


def sums_by_bin(probability: Tensor, values: Tensor) -> Tensor:
    """The sum of the nodes' values in each bin of the calibration error."""
    edges = torch.linspace(0, 1, CALIBRATION_BINS + 1, dtype=torch.float64, device=values.device)
    # A probability on an edge belongs to the bin below it.
    bins = torch.bucketize(probability, edges[1:-1])
    return values.new_zeros(CALIBRATION_BINS).index_add_(0, bins, values)


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


def roc_auc(score: Tensor, y: Tensor) -> float:
    """Area under the ROC curve of two classes, in per cent.

    It is the share of pairs, one node of class 1 and one of class 0, in which the first has the
    higher score; an equal score is half a pair. NaN where a class is absent, or a score is NaN.

    Args:
        score: A number for each node, higher where class 1 is likelier.
        y: The classes, 0 or 1.
    """
    levels, level = score.unique(return_inverse=True)
    zeros, ones = (torch.bincount(level[y == k], minlength=levels.numel()) for k in (0, 1))
    pairs = int(zeros.sum()) * int(ones.sum())
    if pairs == 0 or bool(score.isnan().any()):
        return math.nan
    # In half pairs, which are integers: nothing is rounded before the division.
    won = int((ones * (2 * (zeros.cumsum(0) - zeros) + zeros)).sum())
    return 100 * won / (2 * pairs)


def logits_roc_auc(logits: Tensor, y: Tensor) -> float:
    """`roc_auc` of the scores of classes, in per cent.

    Of two classes that of the score of class 1 over that of class 0. Of more the mean over classes,
    each by its probability against all others; classes that do not occur are left out. NaN where
    that leaves none.
    """
    if logits.size(1) == 2:
        return roc_auc(logits[:, 1] - logits[:, 0], y)
    probability = logits.double().softmax(1)
    areas = [roc_auc(probability[:, k], (y == k).long()) for k in range(logits.size(1))]
    known = [area for area in areas if not math.isnan(area)]
    return sum(known) / len(known) if known else math.nan


@dataclass(frozen=True)
class Metric:
    """A score of predictions, and how it is shown and compared.

    Attributes:
        function: Gives the score from class scores (logits), shape (nodes, classes), and the
            classes of the nodes; NaN where it has no meaning.
        label: Its name for readers.
        digits: How many decimals are shown.
        lower_is_better: Whether lower values are better.
        is_percent: Whether it is a percentage.
        by_epoch: Whether validation nodes are scored after every epoch, and not only at the best:
            `always`, `two classes` or `never`. The metric that training stops on always is.
        of_probabilities: Whether it judges probabilities; then results have it at the temperature
            that calibrates them.
    """

    function: Callable[[Tensor, Tensor], float]
    label: str
    digits: int = 1
    lower_is_better: bool = False
    is_percent: bool = True
    by_epoch: Literal["always", "two classes", "never"] = "always"
    of_probabilities: bool = False

    def text(self, value: float) -> str:
        """A value for readers."""
        return f"{value:.{self.digits}f}{' %' * self.is_percent}"

    @property
    def heading(self) -> str:
        """The heading of a column of values."""
        return f"{self.label}{' %' * self.is_percent}"


METRICS: dict[str, Metric] = {
    "accuracy": Metric(lambda logits, y: accuracy(logits.argmax(1), y), "accuracy"),
    "balanced_accuracy": Metric(
        lambda logits, y: balanced_accuracy(logits.argmax(1), y, logits.size(1)),
        "balanced accuracy",
        by_epoch="never",
    ),
    "macro_f1": Metric(
        lambda logits, y: macro_f1(logits.argmax(1), y, logits.size(1)),
        "macro F1",
        by_epoch="never",
    ),
    # Of more than two classes it is worth its time at the best epoch only.
    "roc_auc": Metric(logits_roc_auc, "ROC-AUC", by_epoch="two classes"),
    "log_loss": Metric(
        lambda logits, y: float(cross_entropy(logits, y)),
        "log loss",
        digits=3,
        lower_is_better=True,
        is_percent=False,
        by_epoch="never",
        of_probabilities=True,
    ),
    "calibration_error": Metric(
        calibration_error,
        "calibration error",
        lower_is_better=True,
        by_epoch="never",
        of_probabilities=True,
    ),
}
"""Every metric by name. Results have `test_NAME` and `val_NAME` of each."""


def register_metric(name: str, metric: Metric) -> None:
    """Add a metric of one's own: results, early stopping, searches and tables then know it.

    Raises:
        SettingsError: The name is taken, or is no identifier.
    """
    if name in METRICS or name in ("loss", "either", "both") or not name.isidentifier():
        raise SettingsError(f"A metric needs a name that is free and an identifier, got {name!r}.")
    METRICS[name] = metric


def metrics_by_epoch(num_classes: int, stop_on: str) -> list[str]:
    """The metrics that validation nodes are scored by after every epoch."""
    shown = {"always", "two classes"} if num_classes == 2 else {"always"}
    return [name for name, metric in METRICS.items() if metric.by_epoch in shown or name == stop_on]
