"""Calibration: class scores scaled node by node, so that probabilities can be believed.

It is the temperature scaling of "On Calibration of Modern Neural Networks" (ICML 2017), with a
temperature that grows or falls with the size of a node's scores. It changes no prediction.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph

# Least and most of T. Beyond them a model knows nothing, or all, and the loss hardly changes.
_TEMPERATURES = (0.05, 20.0)
# Least and most of p. From 1 on larger scores would make a node less sure.
_POWERS = (-1.0, 0.9)
# How far log T and p are expected to be from 0: their standard deviation before any node is seen.
_SPREAD = 0.5
# Smaller sizes count as this; and as this part of the typical one.
_LEAST_SIZE, _LEAST_RATIO = 1e-18, 1e-6
# Steps of the search, halvings of one, and the gain in nats below which it ends.
_STEPS, _HALVINGS, _GAIN = 60, 12, 1e-8


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What class scores are divided by before they become probabilities.

        T_i = T (s_i / s)^p,   s_i² = the mean over classes of (z_ic - mean of z_i)²

    where z_i are the scores of node i. With p = 0 all nodes have the temperature T; with p = 1 the
    size of its scores would not matter to how sure a node is. As p < 1, a node with larger scores
    of the same kind is surer, so that of two classes the order of nodes stays too.

    Attributes:
        temperature: T, that of a node of typical size; 1 leaves scores as they are.
        power: p.
        size: s, the typical size: the geometric mean over the nodes that chose T and p.

    Raises:
        ValueError: A number is out of its range.
    """

    temperature: float = 1.0
    power: float = 0.0
    size: float = 1.0

    def __post_init__(self) -> None:
        ranges = {"temperature": _TEMPERATURES, "power": _POWERS}
        for name, (low, high) in ranges.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} must be from {low} to {high}, got {value}")
        if not 0 < self.size < math.inf:
            raise ValueError(f"size must be above 0 and finite, got {self.size}")

    def scaled(self, logits: Tensor) -> Tensor:
        """The scores whose softmax are the probabilities, of class scores (nodes, classes)."""
        if self.power == 0:
            return logits / self.temperature
        ratio = (_sizes(logits) / self.size).clamp_min(_LEAST_RATIO)
        # A class of no probability at all has the score -inf, and tells no size.
        ratio = torch.where(ratio.isfinite(), ratio, 1)
        return logits / (self.temperature * ratio**self.power).to(logits.dtype).unsqueeze(-1)


UNCALIBRATED = Calibration()
"""Leaves class scores as they are."""


def _within(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def _sizes(logits: Tensor) -> Tensor:
    """Root mean square of each node's scores around their mean."""
    scores = logits.float() if logits.element_size() < 4 else logits
    variance = (scores - scores.mean(-1, keepdim=True)).square().mean(-1)
    # The square root has no gradient at 0.
    return variance.clamp_min(_LEAST_SIZE**2).sqrt()


@torch.no_grad()
def calibration_of(logits: Tensor, y: Tensor) -> Calibration:
    """The calibration that suits these nodes best.

    Their loss is lowest, with a prior: log T and p are expected around 0, so that few nodes that
    all happen to be right do not make everything certain. Hundreds of nodes outweigh it. Nodes of
    fewer than two classes cannot tell anything; then scores stay as they are.

    Args:
        logits: Class scores, shape (nodes, classes). Nodes with one that is not finite do not
            count.
        y: The true classes.
    """
    scores, y = _usable(logits, y)
    if y.unique().numel() < 2:
        return UNCALIBRATED
    sizes = _sizes(scores)
    typical = float(sizes.log().mean().exp())
    level = (sizes / typical).clamp_min(_LEAST_RATIO).log()
    temperature, power = _lowest(scores, y, level)
    return Calibration(temperature=temperature, power=power, size=typical)


@torch.no_grad()
def calibrated_loss(logits: Tensor, y: Tensor) -> float:
    """The cross-entropy of these nodes at the one temperature that suits them best."""
    scores, y = _usable(logits, y)
    if y.unique().numel() < 2:
        return float(F.cross_entropy(scores, y))
    temperature, _ = _lowest(scores, y, torch.zeros_like(scores[:, 0]))
    return float(F.cross_entropy(scores / temperature, y))


def _usable(logits: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    is_finite = logits.isfinite().all(1)
    return logits[is_finite].double(), y[is_finite]


def _lowest(scores: Tensor, y: Tensor, level: Tensor) -> tuple[float, float]:
    """The T and the p at which z_i / exp(log T + p · level_i) have the lowest loss with prior.

    Found by Fisher scoring: Newton's method with the curvature that is expected of calibrated
    scores, whose steps are halved until the loss falls.
    """
    factors = torch.stack([torch.ones_like(level), level], 1)

    def cost(numbers: Tensor) -> tuple[float, Tensor]:
        scaled = scores * (factors @ -numbers).exp().unsqueeze(1)
        prior = numbers.square().sum() / (2 * _SPREAD**2)
        return float(F.cross_entropy(scaled, y, reduction="sum") + prior), scaled

    numbers = factors.new_zeros(2)
    least, scaled = cost(numbers)
    for _ in range(_STEPS):
        step = _scoring_step(scaled, y, factors, numbers)
        for halving in range(_HALVINGS):
            there = numbers - step / 2**halving
            found, scaled_there = cost(there)
            if found < least - _GAIN:
                break
        else:
            break
        numbers, least, scaled = there, found, scaled_there
    log_temperature, power = numbers.tolist()
    return _within(math.exp(log_temperature), *_TEMPERATURES), _within(power, *_POWERS)


def _scoring_step(scaled: Tensor, y: Tensor, factors: Tensor, numbers: Tensor) -> Tensor:
    """The slope of the loss and the prior, divided by their expected curvature."""
    p = scaled.softmax(1)
    expected = (p * scaled).sum(1)
    variance = (p * (scaled - expected.unsqueeze(1)).square()).sum(1)
    own = scaled.gather(1, y.unsqueeze(1)).squeeze(1)
    slope = factors.T @ (own - expected) + numbers / _SPREAD**2
    curvature = factors.T @ (variance.unsqueeze(1) * factors)
    curvature.diagonal().add_(1 / _SPREAD**2)
    step: Tensor = torch.linalg.solve(curvature, slope)
    return step


class Calibrated(nn.Module):
    """A trained model whose class scores are those that its probabilities are made of.

    Args:
        model: The model.
        calibration: What its scores are divided by, such as `FitResult.calibration`.
    """

    def __init__(self, model: nn.Module, calibration: Calibration) -> None:
        super().__init__()
        self.model, self.calibration = model, calibration

    def forward(self, x: Tensor | CSR, graph: Graph) -> Tensor:
        """Class scores, shape (nodes, classes)."""
        return self.calibration.scaled(self.model(x, graph))
