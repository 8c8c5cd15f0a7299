"""Temperature scaling: class scores divided by one number, so that probabilities can be believed.

From "On Calibration of Modern Neural Networks" (ICML 2017). It changes no prediction.
"""

import math

import torch
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph

# Beyond these a model knows nothing, or all; the loss hardly changes any more.
_LOWEST, _HIGHEST = 0.05, 20.0
_STEPS = 60
# How far log T is expected to be from 0: its standard deviation before any node is seen.
_SPREAD = 0.5


@torch.no_grad()
def temperature_of(logits: Tensor, y: Tensor) -> float:
    """The temperature T at which softmax(logits / T) suits these nodes best.

    Few nodes that all happen to be right would ask for T near 0, so log T has a prior: a normal
    distribution around 0, which hundreds of nodes outweigh. Nodes of fewer than two classes cannot
    tell T; then it is 1.

    Args:
        logits: Class scores, shape (nodes, classes).
        y: The true classes.
    """
    if y.unique().numel() < 2:
        return 1.0
    scores = logits.double()
    own = scores.gather(1, y.unsqueeze(1)).squeeze(1)
    low, high = math.log(_LOWEST), math.log(_HIGHEST)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        scaled = scores * math.exp(-middle)
        # The slope of the loss by log T, what scores are less what they are expected to be, and
        # that of the prior.
        expected = (scaled.softmax(1) * scaled).sum(1)
        slope = float((own * math.exp(-middle) - expected).sum()) + middle / _SPREAD**2
        low, high = (low, middle) if slope > 0 else (middle, high)
    return math.exp((low + high) / 2)


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
