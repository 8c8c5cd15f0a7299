"""The family of kernels: how one learned number weighs a node against its neighbours."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from akgnn.errors import SettingsError, UnknownNameError
from akgnn.ops.inputs import Weight

# Beyond this float32 has no numbers.
_LARGEST = 1e38


@dataclass(frozen=True)
class InitialValue:
    """The value that the scalar of a kernel has when training begins.

    Attributes:
        scalar: λ or τ, or `gcn`: the one at which the kernel is GCN's on the graph at hand.
        learns: False leaves it there.
        is_ratio: Whether the number is τ for every kernel: how much the neighbours of a node of
            mean degree weigh together, where the node itself weighs 1.
    """

    scalar: float | Literal["gcn"]
    learns: bool = True
    is_ratio: bool = False

    @property
    def text(self) -> str:
        """As people read it."""
        value = "GCN" if self.scalar == "gcn" else f"{self.scalar:g}"
        value = f"neighbours × {value}" if self.is_ratio else value
        return value if self.learns else f"{value}, fixed"

    def scalar_of(self, kernel: "Kernel", mean_degree: float) -> float:
        """The kernel's scalar on a graph of this mean degree."""
        if self.scalar == "gcn":
            return kernel.gcn(mean_degree)
        return kernel.scalar_of_ratio(self.scalar, mean_degree) if self.is_ratio else self.scalar


SAME_STARTS = (
    InitialValue("gcn", learns=False),
    InitialValue(1.0, is_ratio=True),
    InitialValue(0.01, is_ratio=True),
)
"""For every kernel alike, so that kernels can be compared: smoothing, even, and near all-pass."""


@dataclass(frozen=True)
class Learning:
    """How φ is best learned, where the settings of training leave it open.

    Attributes:
        rate: Learning rate; None for the one of the weights.
        decay: Penalty; None for the one of the weights.
        restarts: Initial values to train from, one after the other; validation keeps one. Empty
            for the kernel's own alone.
    """

    rate: float | None = None
    decay: float | None = None
    restarts: tuple[InitialValue, ...] = ()


class Kernel(ABC):
    """How a learned number φ becomes the two weights of a propagation step.

    A kernel is stated by its scalar, the number that people read, and by the self weight a and the
    neighbour weight w that it gives `adaptive_propagate`. Only their ratio matters. The rest
    follows from them.
    """

    symbol: ClassVar[str]
    """How the scalar is written."""
    initial: ClassVar[float]
    """The scalar of a layer before training."""
    search_space: ClassVar[tuple[float, float]]
    """Where a search looks for initial values, lowest and highest."""
    learning: ClassVar[Learning] = Learning()
    """How φ is best learned."""

    @abstractmethod
    def phi_of(self, scalar: float) -> float:
        """The φ that gives this scalar; a ValueError says which scalars there are."""

    @abstractmethod
    def scalar(self, phi: Tensor) -> Tensor:
        """The scalar that φ gives."""

    @abstractmethod
    def weights(self, phi: Tensor, mean_degree: float) -> tuple[Weight, Weight]:
        """The self weight a ≥ 0 and the neighbour weight w on a graph of this mean degree.

        φ may have any shape; a weight is one number or has that shape.
        """

    @abstractmethod
    def gcn(self, mean_degree: float) -> float:
        """The scalar at which the kernel is GCN's: a = w."""

    def scalar_of_ratio(self, ratio: float, mean_degree: float) -> float:
        """The scalar at which w d̄ / a is this ratio, for the mean degree d̄.

        Raises:
            SettingsError: The kernel does not say.
        """
        raise SettingsError(
            f"{type(self).__name__} does not say where neighbours weigh {ratio:g} times as much as "
            "a node itself: scalar_of_ratio is missing, which same_starts needs."
        )

    def checked_phi(self, scalar: float) -> float:
        """As `phi_of`, for a scalar that a user gave.

        Raises:
            SettingsError: The kernel cannot have this scalar.
        """
        if not abs(scalar) <= _LARGEST:
            raise SettingsError(f"{self.symbol} must be finite, got {scalar}.")
        try:
            return self.phi_of(scalar)
        except ValueError as error:
            raise SettingsError(f"{error}, got {scalar}.") from error

    def lambda_max(self, phi: Tensor) -> Tensor | None:
        """The paper's λ; None for a kernel that has none."""
        return None

    def scalar_of_share(self, neighbours: float, own: float) -> float | None:
        """The scalar at which neighbours and the node itself have these shares of a new signal.

        None where that takes the mean degree to say.
        """
        return None

    def filter_weights(self, phi: Tensor) -> tuple[Tensor, Tensor]:
        """The weights of the all-pass and the low-pass filter in Eq. 3.

        They are those of the plain kernel, in which A is normalised, so that every degree is 1.
        Their sizes add up to 2; a negative low-pass weight is a high-pass filter.
        """
        a, w = (torch.as_tensor(x, dtype=phi.dtype) for x in self.weights(phi, 1.0))
        total = a + w.abs()
        return 2 * a / total, 2 * w / total

    def frequency_response(self, phi: Tensor, frequency: Tensor) -> Tensor:
        """What a graph frequency μ, an eigenvalue of the normalised Laplacian, is multiplied by."""
        all_pass, low_pass = self.filter_weights(phi)
        return (all_pass + low_pass * (1 - frequency)) / 2


class LambdaKernel(Kernel):
    """A kernel of the paper's form: a = λ - 1, w = 1; from low-pass towards all-pass."""

    symbol = "λ"
    initial = 2.0

    @abstractmethod
    def self_loop(self, phi: Tensor) -> Tensor:
        """The weight λ - 1 of the self-loop."""

    def scalar(self, phi: Tensor) -> Tensor:
        """λ."""
        return 1 + self.self_loop(phi)

    def lambda_max(self, phi: Tensor) -> Tensor:
        """λ (Eq. 4)."""
        return self.scalar(phi)

    def gcn(self, mean_degree: float) -> float:
        """λ = 2 on every graph."""
        return 2.0

    def scalar_of_ratio(self, ratio: float, mean_degree: float) -> float:
        """λ = 1 + mean degree / ratio."""
        return 1 + mean_degree / ratio

    def weights(self, phi: Tensor, mean_degree: float) -> tuple[Weight, Weight]:
        """The self-loop weighs λ - 1, an edge 1."""
        return self.self_loop(phi), 1.0


class PaperKernel(LambdaKernel):
    """The paper's: λ = 1 + relu(φ)."""

    search_space = (1.0, 10.0)

    def phi_of(self, scalar: float) -> float:
        """φ = λ - 1."""
        if scalar < 1:
            raise ValueError("λ must be at least 1")
        return scalar - 1

    def self_loop(self, phi: Tensor) -> Tensor:
        """It stays at 0 once φ is below 0."""
        return F.relu(phi)


class SmoothKernel(LambdaKernel):
    """The paper's with softplus: λ = 1 + log(1 + e^φ), which never stops learning."""

    search_space = (1.1, 10.0)

    def phi_of(self, scalar: float) -> float:
        """The inverse of softplus, written so that a large λ does not overflow."""
        if scalar <= 1:
            raise ValueError("λ must be above 1")
        r = scalar - 1
        return r + math.log(-math.expm1(-r))

    def self_loop(self, phi: Tensor) -> Tensor:
        """Above 0 for every φ."""
        return F.softplus(phi)


class SignedKernel(Kernel):
    """From high-pass through all-pass to low-pass: a = 1, w = τ / mean degree, φ = τ.

    At τ = 0 a node keeps its own signal. At τ = 1 its neighbours together weigh as much as itself,
    at τ = -1 they are subtracted with that weight. τ equal to the mean degree is GCN.
    """

    symbol = "τ"
    initial = 1.0
    search_space = (-2.0, 10.0)
    # Measured in docs/kernels.md. The fixed one comes first: a tie goes to it.
    learning = Learning(
        rate=0.05,
        decay=0.0,
        restarts=(InitialValue("gcn", learns=False), InitialValue(1.0), InitialValue(0.1)),
    )

    def phi_of(self, scalar: float) -> float:
        """φ is τ itself."""
        return scalar

    def scalar(self, phi: Tensor) -> Tensor:
        """τ."""
        return phi

    def gcn(self, mean_degree: float) -> float:
        """τ = mean degree."""
        return mean_degree

    def scalar_of_ratio(self, ratio: float, mean_degree: float) -> float:
        """τ is that ratio."""
        return ratio

    def scalar_of_share(self, neighbours: float, own: float) -> float:
        """τ = w · mean degree / a, the ratio of the two shares."""
        # Records round to six digits: what is left of the node itself may have become 0.
        return neighbours / max(own, 1e-6)

    def weights(self, phi: Tensor, mean_degree: float) -> tuple[Weight, Weight]:
        """An edge weighs τ / mean degree, the node itself 1."""
        return 1.0, phi / mean_degree


KERNELS: dict[str, Kernel] = {
    "paper": PaperKernel(),
    "smooth": SmoothKernel(),
    "signed": SignedKernel(),
}


def register_kernel(name: str, kernel: Kernel) -> None:
    """Add a kernel, under a name that is not taken, to those that `kernel="…"` finds.

    Raises:
        SettingsError: The name is taken, or the second argument is no `Kernel`.
    """
    if not isinstance(kernel, Kernel):
        raise SettingsError(f"A kernel must descend from Kernel, got {kernel!r}.")
    if name in KERNELS:
        raise SettingsError(f"There is a kernel {name!r} already; choose another name.")
    KERNELS[name] = kernel


def find_kernel(name: str) -> Kernel:
    """The kernel of this name; an unknown one is answered with the names there are."""
    if name not in KERNELS:
        raise UnknownNameError("kernel", name, KERNELS)
    return KERNELS[name]
