"""Temperature scaling: class scores divided by one number, so that probabilities can be believed.

From "On Calibration of Modern Neural Networks" (ICML 2017). It changes no prediction.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph

# Beyond these a model knows nothing, or all; the loss hardly changes any more.
_LOWEST, _HIGHEST = 0.05, 20.0
_STEPS = 60


@torch.no_grad()
def temperature_of(logits: Tensor, y: Tensor) -> float:
    """The temperature T at which softmax(logits / T) has the lowest loss on these nodes.

    In 1 / T the loss is convex, so a bisection of its slope finds it. Nodes of fewer than two
    classes cannot tell it; then it is 1.

    Args:
        logits: Class scores, shape (nodes, classes).
        y: The true classes.
    """
    if y.unique().numel() < 2:
        return 1.0
    scores = logits.double()
    own = scores.gather(1, y.unsqueeze(1)).squeeze(1)
    low, high = 1 / _HIGHEST, 1 / _LOWEST
    for _ in range(_STEPS):
        middle = (low + high) / 2
        expected = ((middle * scores).softmax(1) * scores).sum(1)
        # The slope of the loss: what the scores are expected to be, less what they are.
        if float((expected - own).mean()) > 0:
            high = middle
        else:
            low = middle
    return 2 / (low + high)


def calibrated_loss(logits: Tensor, y: Tensor) -> float:
    """The cross-entropy of these nodes at the temperature that suits them best."""
    return float(F.cross_entropy(logits.double() / temperature_of(logits, y), y))


class Calibrated(nn.Module):
    """A trained model whose class scores are those that its probabilities are made of.

    Args:
        model: The model.
        temperature: What its scores are divided by, such as `FitResult.temperature`.
    """

    def __init__(self, model: nn.Module, temperature: float) -> None:
        super().__init__()
        self.model, self.temperature = model, temperature

    def forward(self, x: Tensor | CSR, graph: Graph) -> Tensor:
        """Class scores, shape (nodes, classes)."""
        scores: Tensor = self.model(x, graph)
        return scores / self.temperature


def checked_temperature(value: float) -> float:
    """A temperature that was read from a file.

    Raises:
        ValueError: It is none.
    """
    if not _LOWEST <= value <= _HIGHEST:
        raise ValueError(f"temperature must be from {_LOWEST} to {_HIGHEST}, got {value}")
    return value
