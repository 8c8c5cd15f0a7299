"""AKConv: one propagation layer of the paper, which owns one scalar."""

from typing import Literal, cast, get_args

import torch
from torch import Tensor, nn

from akgnn.errors import SettingsError
from akgnn.graph import Graph
from akgnn.layers.kernels import Kernel, find_kernel
from akgnn.ops.adaptive import adaptive_propagate
from akgnn.ops.composed import Normalisation, Weight
from akgnn.ops.edgewise import SumOverEdges, edgewise_propagate

Form = Literal["sym", "row", "directed"]

# Beyond this float32 has no numbers.
_LARGEST = 1e38


class AKConv(nn.Module):
    """Adaptive propagation with a learned balance between a node and its neighbours.

    From "Adaptive Kernel Graph Neural Network" (AAAI 2022), equations 4 to 6:

        λ_max = 1 + relu(φ)
        A* = D_k^-1/2 A_k D_k^-1/2,   A_k = (2 λ_max - 2) / λ_max I + 2 / λ_max A

    where A is the adjacency matrix and D_k the diagonal of A_k's row sums. Because 2 / λ cancels,
    this is GCN's kernel with the self-loop weight r = λ - 1 learned instead of 1. A large λ keeps
    a node's own signal (all-pass); λ = 1 is a plain average over neighbours (low-pass); λ = 2,
    the start, is GCN. Other kernels give the self-loop and the edges other weights, of either sign
    for the edges; see `akgnn.layers.kernels`.

    `conv(x, graph)` takes a `Graph`, built once; `conv(x, edge_index, edge_weight)` takes PyG's
    tensors, and builds the graph anew each time; an `edge_weight` that learns gets a gradient, edge
    by edge. The result must not be changed in place
    (`relu_`) while φ is learned: its gradient needs it.

    Args:
        kernel: A name in `KERNELS`, or a `Kernel`.
        start: Where its scalar starts, λ or τ; the kernel's own start if not given.
        learn: Whether the scalar is learned.
        groups: How many scalars there are, each for its own equal part of the channels.
        normalisation: `"sym"`, as in the paper; `"row"`, D_k^-1 A_k, which directed graphs need;
            or `"directed"`, the row form over in-neighbours and out-neighbours, each with scalars
            of their own.
    """

    phi: nn.Parameter
    phi_start: Tensor

    def __init__(
        self,
        *,
        kernel: str | Kernel = "paper",
        start: float | None = None,
        learn: bool = True,
        groups: int = 1,
        normalisation: Form = "sym",
    ) -> None:
        super().__init__()
        if normalisation not in get_args(Form):
            raise SettingsError(
                f"normalisation must be 'sym', 'row' or 'directed', got {normalisation!r}."
            )
        if groups < 1:
            raise SettingsError(f"groups must be at least 1, got {groups}.")
        self.kernel = find_kernel(kernel) if isinstance(kernel, str) else kernel
        self.start = self.kernel.start if start is None else start
        self.groups = groups
        self.normalisation: Form = normalisation
        ways = 2 if normalisation == "directed" else 1
        shape = () if ways == groups == 1 else (ways, groups)
        self.phi = nn.Parameter(torch.empty(shape), requires_grad=learn)
        # Where decay may draw φ to.
        phi_start = torch.full(shape, _phi_of(self.kernel, self.start))
        self.register_buffer("phi_start", phi_start, persistent=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Put the scalars back to their start."""
        with torch.no_grad():
            self.phi.copy_(self.phi_start)

    def restart(self, start: float) -> None:
        """Put the scalars to another start."""
        self.start = start
        self.phi_start.fill_(_phi_of(self.kernel, start))
        self.reset_parameters()

    @property
    def phi_by_way(self) -> Tensor:
        """φ in the shape (ways, groups); of several replicas, one such block each."""
        has_shape = self.groups > 1 or self.normalisation == "directed"
        return self.phi if has_shape else self.phi[..., None, None]

    @property
    def scalar(self) -> Tensor:
        """λ or τ, in the shape of φ."""
        return self.kernel.scalar(self.phi)

    @property
    def lambda_max(self) -> Tensor | None:
        """λ, the maximal eigenvalue that the kernel assumes of the Laplacian (Eq. 4), if any."""
        return self.kernel.lambda_max(self.phi)

    @property
    def filter_weights(self) -> tuple[Tensor, Tensor]:
        """The weights of the all-pass and the low-pass filter in Eq. 3; their sizes add up to 2."""
        return self.kernel.filter_weights(self.phi)

    def frequency_response(self, frequency: Tensor) -> Tensor:
        """What a graph frequency μ, an eigenvalue of the normalised Laplacian, is multiplied by.

        It is that of the plain kernel of Eq. 5, halved so that μ = 0 passes unchanged: 1 - μ / λ
        for the paper's. The renormalised kernel has no common eigenvectors with the Laplacian
        unless all degrees are equal, so for it this is a guide, not an identity.
        """
        return self.kernel.frequency_response(self.phi, frequency)

    def weights(self, graph: Graph) -> tuple[Weight, ...]:
        """The self weight, the neighbour weight and, if directed, the weight of out-neighbours.

        Each is one number, or one for each group.
        """
        return self._weights(self.phi_by_way, graph)

    def neighbour_share(self, graph: Graph) -> Tensor:
        """The part of a node's new signal that comes from its neighbours, at the mean degree.

        From -1, its neighbours subtracted and nothing else, through 0, its own signal alone, to 1,
        the plain average over neighbours. Shape (groups,), or (2, groups) if directed.
        """
        return self.shares(self.phi_by_way, graph).squeeze(-2)

    def shares(self, phi: Tensor, graph: Graph) -> Tensor:
        """The same for any φ, shape (…, ways, groups), such as those of several layers at once."""
        own, *others = self._weights(phi, graph)
        parts = [w * side.mean_degree for w, side in zip(others, self._sides(graph), strict=True)]
        sizes = torch.stack([torch.ones_like(phi[..., 0, :]) * part for part in parts], dim=-2)
        own = own.unsqueeze(-2) if isinstance(own, Tensor) else own
        return sizes / (own + sizes.abs().sum(-2, keepdim=True))

    def _sides(self, graph: Graph) -> tuple[Graph, ...]:
        """The graph whose rows hold the neighbours, for each way."""
        return (graph, graph.transpose) if self.normalisation == "directed" else (graph,)

    def _weights(self, phi: Tensor, graph: Graph) -> tuple[Weight, ...]:
        """As `weights`, for φ of shape (…, ways, groups)."""
        ways = [
            self.kernel.weights(phi[..., way, :], side.mean_degree)
            for way, side in enumerate(self._sides(graph))
        ]
        if len(ways) == 1:
            return ways[0]
        # Brought to one self weight: only the ratios to it matter.
        (own, into), (other, out) = ways
        return own * other, into * other, out * own

    def forward(
        self, x: Tensor, graph: Graph | Tensor, edge_weight: Tensor | None = None
    ) -> Tensor:
        """Propagate the signals `x`, shape (nodes, channels), one step over the graph."""
        if isinstance(graph, Tensor):
            if edge_weight is not None and edge_weight.requires_grad:
                return self.edgewise(x, graph, edge_weight)
            graph = Graph.from_edge_index(graph, edge_weight, num_nodes=x.size(-2))
        elif edge_weight is not None:
            raise SettingsError("edge_weight goes with edge_index; a Graph holds its own weights.")
        return adaptive_propagate(graph, x, *self.weights(graph), normalisation=self._step_form)

    def edgewise(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_weight: Tensor | None = None,
        *,
        sum_over: SumOverEdges | None = None,
    ) -> Tensor:
        """The same edge by edge, more slowly: gradients reach `edge_weight`.

        The mean degree, which some kernels measure their scalar by, counts as fixed.

        Args:
            x: Signals, shape (nodes, channels).
            edge_index: As PyG writes it.
            edge_weight: One number an edge.
            sum_over: Adds up weighted signals over edges; a plain sum if not given.
        """
        fixed = None if edge_weight is None else edge_weight.detach()
        graph = Graph.from_edge_index(edge_index, fixed, num_nodes=x.size(-2))
        weights, form = self.weights(graph), self._step_form
        return edgewise_propagate(
            graph, edge_index, edge_weight, x, *weights, normalisation=form, sum_over=sum_over
        )

    @property
    def _step_form(self) -> Normalisation:
        return "sym" if self.normalisation == "sym" else "row"

    def extra_repr(self) -> str:
        """Settings and the present scalar, for `print(model)`."""
        learned = "learned" if self.phi.requires_grad else "fixed"
        scalars = ", ".join(f"{value:.3f}" for value in self.scalar.detach().view(-1).tolist())
        return f"{self.kernel.symbol}={scalars} ({learned}), {self.normalisation}"

    def __call__(
        self, x: Tensor, graph: Graph | Tensor, edge_weight: Tensor | None = None
    ) -> Tensor:
        """As `forward`."""
        return cast(Tensor, super().__call__(x, graph, edge_weight))


def _phi_of(kernel: Kernel, start: float) -> float:
    if not abs(start) <= _LARGEST:
        raise SettingsError(f"The start of {kernel.symbol} must be finite, got {start}.")
    try:
        return kernel.phi_of(start)
    except ValueError as error:
        raise SettingsError(f"{error}, got {start}.") from error
