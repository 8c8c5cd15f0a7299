"""The signal of a chain as whole numbers, as few bits as leave the model's answers as they are.

Most of what a page with sliders weighs is the signal S that enters the layers, shape (nodes,
channels). Its channels go together, so it is turned to the axes in which it varies, largest first
(principal components), and rounded there in steps of one size for all:

    S ≈ step · Q B + offset,   Q whole numbers, B orthogonal

Axes with little in them have small numbers, which compress well, or none at all. Where there are
fewer features than channels S is what the non-linearity is given, which has no more axes than there
are features. How fine the steps have to be is found by running the model with both signals.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from akgnn.graph import Graph
from akgnn.report.chain import Chain, Scalars, chain_scores
from akgnn.report.response import Kind
from akgnn.training.calibration import Calibration

CLOSE = 2e-5
"""How far log-probabilities may be off: effects, differences of log-odds, are right to 1e-4."""

# Numbers of the widest axis have so many bits at first, and at most: single precision has no more.
_FIRST_BITS, _MOST_BITS = 12, 24
# Where scalars are drawn from: what the sliders of the page reach.
_RANGES: dict[Kind, tuple[float, float]] = {"lambda": (1, 8), "tau": (-3, 8), "beta": (-1, 1)}
_DRAWN = 3


@dataclass(frozen=True)
class WholeNumbers:
    """A signal as `step · numbersᵀ basis + offset`.

    Attributes:
        step: What 1 stands for.
        numbers: Not negative, of 16 or 32 bits, shape (axes, nodes).
        basis: Shape (axes, channels).
        offset: Shape (channels,).
    """

    step: float
    numbers: NDArray[Any]
    basis: NDArray[np.float32]
    offset: NDArray[np.float32]

    @property
    def signal(self) -> Tensor:
        """The signal, shape (nodes, channels), in double precision."""
        numbers, basis, offset = (
            torch.from_numpy(part.astype(np.float64))
            for part in (self.numbers, self.basis, self.offset)
        )
        return self.step * numbers.T @ basis + offset

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a page holds of it beside the step."""
        return {"numbers": self.numbers, "basis": self.basis, "offset": self.offset}


def whole_numbers(chain: Chain, graph: Graph, calibration: Calibration) -> WholeNumbers:
    """What a page carries of a chain's signal, with as few bits as leave its answers as they are.

    Classes stay, and log-probabilities to `CLOSE`. That is looked at with the learned scalars,
    those of the page's buttons, all at 2, and some drawn at random.
    """

    def error_of(rounded: Tensor) -> float:
        signals = chain.signal_of(rounded), chain.signal.double()
        return max(
            _error(*(_answers(chain, graph, calibration, scalars, signal) for signal in signals))
            for scalars in _settings(chain, graph.mean_degree)
        )

    axes, bits = _Axes(chain.carried.double(), chain.rank), _FIRST_BITS
    while True:
        found = axes.rounded(bits)
        error = error_of(found.signal)
        if error <= CLOSE or bits >= _MOST_BITS:
            return found
        # A bit halves the error.
        more = math.ceil(math.log2(error / CLOSE)) if math.isfinite(error) else _MOST_BITS
        bits = min(_MOST_BITS, bits + max(1, more))


class _Axes:
    """The axes in which a signal varies, largest first, and the signal along them."""

    def __init__(self, signal: Tensor, rank: int) -> None:
        self._mean = signal.mean(0)
        centred = signal - self._mean
        _, vectors = torch.linalg.eigh(centred.T @ centred)
        # In single precision, as the page has them; beyond the rank there is rounding alone.
        self._basis = vectors.flip(1).T[:rank].float()
        self._along = centred @ self._basis.double().T
        self._range = float((self._along.amax(0) - self._along.amin(0)).max())

    def rounded(self, bits: int) -> WholeNumbers:
        """The signal in steps of which the widest axis has so many bits."""
        step = self._range / 2**bits or 1.0
        whole = torch.round(self._along / step)
        lowest = whole.amin(0)
        kept = whole.amax(0) > lowest
        basis = self._basis[kept]
        offset = self._mean + step * lowest @ self._basis.double()
        numbers = (whole - lowest)[:, kept].T.contiguous().numpy()
        kind = np.uint16 if numbers.max(initial=0) < 2**16 else np.uint32
        return WholeNumbers(step, numbers.astype(kind), basis.numpy(), offset.float().numpy())


def _settings(chain: Chain, mean_degree: float) -> Iterator[Scalars]:
    """Scalars to look at: the learned, all alike as on the buttons, and some drawn."""
    yield chain.scalars
    alike: dict[Kind, tuple[float, ...]] = {
        "lambda": (1, 2, math.inf),
        "tau": (0, 2, mean_degree, math.inf),
        "beta": (0, 1, mean_degree / (1 + mean_degree)),
    }
    for value in alike[chain.kind]:
        yield [[value for _ in layer] for layer in chain.scalars]
    random = np.random.default_rng(0)
    for _ in range(_DRAWN):
        yield [random.uniform(*_RANGES[chain.kind], len(layer)).tolist() for layer in chain.scalars]


def _answers(
    chain: Chain, graph: Graph, calibration: Calibration, scalars: Scalars, signal: Tensor
) -> Tensor:
    """Log-probabilities, shape (nodes, classes)."""
    return calibration.scaled(chain_scores(chain, graph, scalars, signal)).log_softmax(1)


def _error(found: Tensor, expected: Tensor) -> float:
    """The largest difference; above `CLOSE` too where a class is another one."""
    error = float((found - expected).abs().nan_to_num(math.inf).max())
    return error if torch.equal(found.argmax(1), expected.argmax(1)) else max(error, 1.5 * CLOSE)
