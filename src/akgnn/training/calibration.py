"""Calibration: class scores changed node by node, so that probabilities can be believed.

It begins with the temperature scaling of "On Calibration of Modern Neural Networks" (ICML 2017).
The temperature grows or falls with the size of a node's scores, and no class is ruled out for
good. It changes no prediction.
"""

import math
from collections.abc import Callable
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
# What log T, p and the log-odds of ε are expected to be before any node is seen, and their
# standard deviations. Chosen by cross-validation within validation nodes (docs/seeing-why.md).
_EXPECTED, _SPREAD = (0.0, 0.0, -3.0), (0.5, 0.5, 2.0)
# Smaller sizes count as this; and as this part of the typical one.
_LEAST_SIZE, _LEAST_RATIO = 1e-18, 1e-6
# More nodes than these do not change three numbers.
_MOST_NODES = 20_000
DOUBTFUL_NODES = 2.0
"""What `calibration_of` is told of nodes that chose shares of a vote as well as epochs.

Of 0, 0.5, 1, 2 and 4 it has the lowest log loss over five graphs with about 60 validation nodes
each (docs/seeing-why.md).
"""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """How class scores become probabilities.

        probability of class c = (1 - ε) softmax(z_i / T_i)_c + ε / number of classes
        T_i = T (s_i / s)^p,   s_i² = the mean over classes of (z_ic - mean of z_i)²

    where z_i are the scores of node i. With p = 0 all nodes have the temperature T; with p = 1 the
    size of its scores would not matter to how sure a node is. As p < 1, a node with larger scores
    of the same kind is surer, so that of two classes the order of nodes stays too.

    Attributes:
        temperature: T, that of a node of typical size; 1 leaves scores as they are.
        power: p.
        size: s, the typical size: the geometric mean over the nodes that chose the rest.
        uniform_share: ε, how often any class is as likely as another.

    Raises:
        ValueError: A number is out of its range.
    """

    temperature: float = 1.0
    power: float = 0.0
    size: float = 1.0
    uniform_share: float = 0.0

    def __post_init__(self) -> None:
        ranges = {"temperature": _TEMPERATURES, "power": _POWERS, "uniform_share": (0.0, 1.0)}
        for name, (low, high) in ranges.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} must be from {low} to {high}, got {value}")
        if not 0 < self.size < math.inf:
            raise ValueError(f"size must be above 0 and finite, got {self.size}")

    def scaled(self, logits: Tensor) -> Tensor:
        """The scores whose softmax are the probabilities, of class scores (nodes, classes)."""
        temperature: Tensor | float = self.temperature
        if self.power != 0:
            ratio = (_sizes(logits) / self.size).clamp_min(_LEAST_RATIO)
            # A class of no probability at all has the score -inf, and tells no size.
            ratio = torch.where(ratio.isfinite(), ratio, 1)
            temperature = (temperature * ratio**self.power).to(logits.dtype).unsqueeze(-1)
        scores = logits / temperature
        return _mixed(scores, self.uniform_share) if self.uniform_share else scores


UNCALIBRATED = Calibration()
"""Leaves class scores as they are."""


def _sizes(logits: Tensor) -> Tensor:
    """Root mean square of each node's scores around their mean."""
    scores = logits.float() if logits.element_size() < 4 else logits
    variance = (scores - scores.mean(-1, keepdim=True)).square().mean(-1)
    # The square root has no gradient at 0.
    return variance.clamp_min(_LEAST_SIZE**2).sqrt()


def _mixed(scores: Tensor, share: Tensor | float) -> Tensor:
    """Logarithms of the probabilities, of which such a share is the same for all classes."""
    return ((1 - share) * scores.softmax(-1) + share / scores.size(-1)).log()


@torch.no_grad()
def calibration_of(logits: Tensor, y: Tensor, *, doubtful: float = 0.0) -> Calibration:
    """The calibration that suits these nodes best.

    Their loss is lowest, with a prior: T is expected around 1, p around 0 and ε around 0.05, so
    that few nodes that all happen to be right do not make everything certain. Hundreds of nodes
    outweigh it. Nodes of fewer than two classes cannot tell anything; then scores stay as they are.

    Args:
        logits: Class scores, shape (nodes, classes). Nodes with one that is not finite do not
            count.
        y: The true classes.
        doubtful: So many nodes more are taken to be like these, but of any class. Nodes that chose
            the model look better than others will, and few of them by more.
    """
    scores, y = _usable(logits, y)
    if y.unique().numel() < 2:
        return UNCALIBRATED
    sizes = _sizes(scores)
    typical = float(sizes.log().mean().exp())
    level = (sizes / typical).clamp_min(_LEAST_RATIO).log()

    def calibrated(numbers: Tensor) -> Tensor:
        log_temperature, power, odds = _bounded(numbers)
        scaled = scores * (-log_temperature - power * level).exp().unsqueeze(1)
        return _mixed(scaled, odds.sigmoid())

    log_temperature, power, odds = _lowest(calibrated, y, doubtful)
    return Calibration(
        temperature=_within(math.exp(log_temperature), _TEMPERATURES),
        power=power,
        size=typical,
        uniform_share=1 / (1 + math.exp(-odds)),
    )


def _usable(logits: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The nodes whose scores are numbers, or as many of them as are needed."""
    nodes = logits.isfinite().all(1).nonzero().squeeze(1)
    nodes = nodes[:: max(1, -(-nodes.numel() // _MOST_NODES))]
    return logits[nodes].double(), y[nodes]


def _bounded(numbers: Tensor) -> Tensor:
    """The numbers of `_lowest`, T and p within their bounds."""
    ranges = ([math.log(value) for value in _TEMPERATURES], _POWERS, (-30.0, 30.0))
    low, high = numbers.new_tensor(ranges).T
    return numbers.clamp(low, high)


def _within(value: float, bounds: tuple[float, float]) -> float:
    return min(max(value, bounds[0]), bounds[1])


def _lowest(calibrated: Callable[[Tensor], Tensor], y: Tensor, doubtful: float) -> list[float]:
    """Where the loss with the prior is lowest: log T, p and the log-odds of ε.

    Args:
        calibrated: Scores of all nodes at such numbers.
        y: The true classes.
        doubtful: Nodes of any class beside them.
    """
    expected = torch.tensor(_EXPECTED, dtype=torch.float64, device=y.device)
    spread = expected.new_tensor(_SPREAD)
    numbers = expected.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([numbers], max_iter=100, line_search_fn="strong_wolfe")

    def cost() -> Tensor:
        optimizer.zero_grad()
        prior = ((numbers - expected) / spread).square().sum() / 2
        log_probability = calibrated(numbers).log_softmax(-1)
        prior = prior - doubtful * log_probability.mean()
        loss = F.nll_loss(log_probability, y) + prior / y.numel()
        loss.backward()
        return loss

    with torch.enable_grad():
        optimizer.step(cost)
    return _bounded(numbers.detach()).tolist()


class Calibrated(nn.Module):
    """A trained model whose class scores are those that its probabilities are made of.

    Args:
        model: The model.
        calibration: How they become probabilities, such as `FitResult.calibration`.
    """

    def __init__(self, model: nn.Module, calibration: Calibration) -> None:
        super().__init__()
        self.model, self.calibration = model, calibration

    def forward(self, x: Tensor | CSR, graph: Graph) -> Tensor:
        """Class scores, shape (nodes, classes)."""
        return self.calibration.scaled(self.model(x, graph))
