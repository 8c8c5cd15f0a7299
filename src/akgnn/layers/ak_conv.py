"""AKConv: one propagation layer of the paper, which owns one scalar."""

import math
from typing import cast, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.errors import SettingsError
from akgnn.graph import Graph
from akgnn.ops.adaptive import Normalisation, adaptive_propagate

# Beyond this float32 has no numbers.
_LARGEST = 1e38


class AKConv(nn.Module):
    r"""Adaptive propagation with a learned balance between all-pass and low-pass.

    From "Adaptive Kernel Graph Neural Network" (AAAI 2022), equations 4 to 6:

    .. math::
        \lambda_{max} = 1 + \mathrm{relu}(\phi), \qquad
        A^* = D_k^{-1/2} A_k D_k^{-1/2}, \qquad
        A_k = \frac{2 \lambda_{max} - 2}{\lambda_{max}} I + \frac{2}{\lambda_{max}} A

    where A is the adjacency matrix and D_k the diagonal of A_k's row sums. Because 2 / λ cancels,
    this is GCN's kernel with the self-loop weight r = λ - 1 learned instead of 1. A large λ keeps
    a node's own signal (all-pass); λ = 1 is a plain average over neighbours (low-pass); λ = 2,
    the start, is GCN.

    `conv(x, graph)` takes a `Graph`, built once; `conv(x, edge_index, edge_weight)` takes PyG's
    tensors, and builds the graph anew each time. The result must not be changed in place
    (`relu_`) while λ is learned: the gradient of λ needs it.

    Args:
        lambda_max: Where λ starts.
        learn: Whether λ is learned.
        smooth: λ = 1 + softplus(φ) instead: it never stops learning, where relu does once φ < 0.
        normalisation: `"sym"`, as in the paper, or `"row"`, D_k^-1 A_k, which directed graphs need.
    """

    phi: nn.Parameter

    def __init__(
        self,
        *,
        lambda_max: float = 2.0,
        learn: bool = True,
        smooth: bool = False,
        normalisation: Normalisation = "sym",
    ) -> None:
        super().__init__()
        if not (lambda_max > 1 or (lambda_max == 1 and not smooth)) or lambda_max > _LARGEST:
            bound = "above 1" if smooth else "at least 1"
            raise SettingsError(f"lambda_max must be finite and {bound}, got {lambda_max}.")
        if normalisation not in get_args(Normalisation):
            raise SettingsError(f"normalisation must be 'sym' or 'row', got {normalisation!r}.")
        self.start = lambda_max
        self.smooth = smooth
        self.normalisation: Normalisation = normalisation
        self.phi = nn.Parameter(torch.empty(()), requires_grad=learn)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Put λ back to its start."""
        nn.init.constant_(self.phi, self.phi_start)

    @property
    def phi_start(self) -> float:
        """Where φ starts."""
        r = self.start - 1
        # The inverse of softplus, written so that a large r does not overflow.
        return r + math.log(-math.expm1(-r)) if self.smooth else r

    @property
    def self_weight(self) -> Tensor:
        """The weight r = λ - 1 of the self-loop."""
        return F.softplus(self.phi) if self.smooth else F.relu(self.phi)

    @property
    def lambda_max(self) -> Tensor:
        """λ, the maximal eigenvalue that the kernel assumes of the Laplacian (Eq. 4)."""
        return 1 + self.self_weight

    @property
    def filter_weights(self) -> tuple[Tensor, Tensor]:
        """The weights of the all-pass and the low-pass filter in Eq. 3; they add up to 2."""
        lambda_max = self.lambda_max
        return (2 * lambda_max - 2) / lambda_max, 2 / lambda_max

    def frequency_response(self, frequency: Tensor) -> Tensor:
        """What a graph frequency μ, an eigenvalue of the normalised Laplacian, is multiplied by.

        It is 1 - μ / λ: the plain kernel of Eq. 5, halved so that μ = 0 passes unchanged. The
        renormalised kernel has no common eigenvectors with the Laplacian unless all degrees are
        equal, so for it this is a guide, not an identity.
        """
        return 1 - frequency / self.lambda_max

    def forward(
        self, x: Tensor, graph: Graph | Tensor, edge_weight: Tensor | None = None
    ) -> Tensor:
        """Propagate the signals `x`, shape (nodes, channels), one step over the graph."""
        if isinstance(graph, Tensor):
            graph = Graph.from_edge_index(graph, edge_weight, num_nodes=x.size(0))
        elif edge_weight is not None:
            raise SettingsError("edge_weight goes with edge_index; a Graph holds its own weights.")
        return adaptive_propagate(graph, x, self.self_weight, normalisation=self.normalisation)

    def extra_repr(self) -> str:
        """Settings and the present λ, for `print(model)`."""
        learned = "learned" if self.phi.requires_grad else "fixed"
        return f"lambda_max={self.lambda_max.item():.3f} ({learned}), {self.normalisation}"

    def __call__(
        self, x: Tensor, graph: Graph | Tensor, edge_weight: Tensor | None = None
    ) -> Tensor:
        """As `forward`."""
        return cast(Tensor, super().__call__(x, graph, edge_weight))
