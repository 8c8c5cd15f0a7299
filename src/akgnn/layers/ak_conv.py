"""AKConv: one propagation layer of the paper, which owns one scalar."""

from typing import Literal, cast, get_args

import torch
from torch import Tensor, nn

from akgnn.errors import SettingsError
from akgnn.graph import Graph
from akgnn.layers.kernels import Kernel, find_kernel
from akgnn.ops.adaptive import SumOverEdges, adaptive_propagate, edgewise_propagate
from akgnn.ops.inputs import Normalisation, Weight, as_graph

Form = Literal["sym", "row", "directed"]


class AKConv(nn.Module):
    """Adaptive propagation with a learned balance between a node and its neighbours.

    From "Adaptive Kernel Graph Neural Network" (AAAI 2022), equations 4 to 6:

        λ_max = 1 + relu(φ)
        A* = D_k^-1/2 A_k D_k^-1/2,   A_k = (2 λ_max - 2) / λ_max I + 2 / λ_max A

    where A is the adjacency matrix and D_k the diagonal of A_k's row sums. Because 2 / λ cancels,
    this is GCN's kernel with the self-loop weight r = λ - 1 learned instead of 1. A large λ keeps
    a node's own signal (all-pass); λ = 1 is a plain average over neighbours (low-pass); λ = 2, the
    initial value, is GCN. Other kernels give the self-loop and the edges other weights, of either
    sign for the edges; see `akgnn.layers.kernels`.

    `conv(x, graph)` takes a `Graph`, built once; `conv(x, edge_index, edge_weight)` takes PyG's
    tensors and builds the graph anew each time. An `edge_weight` that learns gets a gradient, edge
    by edge. The result must not be changed in place (`relu_`) while φ is learned: its gradient
    needs it.

    Args:
        kernel: A name in `KERNELS`, or a `Kernel`.
        initial: Initial value of its scalar, λ or τ; the kernel's own if not given.
        learn: Whether the scalar is learned.
        groups: How many scalars there are, each for its own equal part of the channels.
        normalisation: `"sym"`, as in the paper; `"row"`, D_k^-1 A_k, which directed graphs need;
            or `"directed"`, the row form over in-neighbours and out-neighbours, each with scalars
            of their own.

    Raises:
        UnknownNameError: There is no kernel of this name.
        SettingsError: The kernel cannot have this initial value, or another argument is wrong.
    """

    phi: nn.Parameter
    phi_initial: Tensor

    def __init__(
        self,
        *,
        kernel: str | Kernel = "paper",
        initial: float | None = None,
        learn: bool = True,
        groups: int = 1,
        normalisation: Form = "sym",
    ) -> None:
        super().__init__()
        if normalisation not in get_args(Form):
            raise SettingsError(
                f"normalisation must be 'sym', 'row' or 'directed', got {normalisation!r}."
            )
        if not isinstance(kernel, str | Kernel):
            raise SettingsError(f"kernel must be a name or a Kernel, got {type(kernel).__name__}.")
        if not isinstance(groups, int) or groups < 1:
            raise SettingsError(f"groups must be at least 1, got {groups!r}.")
        self.kernel = find_kernel(kernel) if isinstance(kernel, str) else kernel
        self.groups = groups
        self.normalisation: Form = normalisation
        directions = 2 if normalisation == "directed" else 1
        shape = () if directions == groups == 1 else (directions, groups)
        self.phi = nn.Parameter(torch.empty(shape), requires_grad=learn)
        # Where decay may draw φ to; not part of the state.
        self.register_buffer("phi_initial", torch.empty(shape), persistent=False)
        self.restart(self.kernel.initial if initial is None else initial)

    def restart(self, scalar: float) -> None:
        """Give the scalars another initial value, and put them there."""
        self.phi_initial.fill_(self.kernel.checked_phi(scalar))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Put the scalars back to their initial value."""
        with torch.no_grad():
            self.phi.copy_(self.phi_initial)

    def forward(
        self, x: Tensor, graph: Graph | Tensor, edge_weight: Tensor | None = None
    ) -> Tensor:
        """Propagate signals one step over the graph.

        Args:
            x: Signals, shape (nodes, channels).
            graph: The graph, or PyG's `edge_index`.
            edge_weight: One number an edge of `edge_index`; a `Graph` holds its own.

        Raises:
            GraphError: The graph does not fit the signals or the normalisation.
            SettingsError: There is an `edge_weight` beside a `Graph`.
        """
        if isinstance(graph, Tensor) and edge_weight is not None and edge_weight.requires_grad:
            return self.edgewise(x, graph, edge_weight)
        graph = as_graph(graph, x, edge_weight)
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

        The mean degree, which some kernels measure their scalar by, counts as fixed. `sum_over`
        adds up weighted signals over edges, where a plain sum will not do.
        """
        fixed = None if edge_weight is None else edge_weight.detach()
        graph = as_graph(edge_index, x, fixed)
        weights, form = self.weights(graph), self._step_form
        return edgewise_propagate(
            graph, edge_index, edge_weight, x, *weights, normalisation=form, sum_over=sum_over
        )

    def weights(self, graph: Graph) -> tuple[Weight, ...]:
        """The self weight, the neighbour weight and, if directed, the weight of out-neighbours.

        Each is one number, or one for each group.
        """
        return self._weights(self.phi_by_direction, graph)

    @property
    def phi_by_direction(self) -> Tensor:
        """φ in the shape (directions, groups); several replicas have one such block each."""
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

    def neighbour_share(self, graph: Graph) -> Tensor:
        """The part of a node's new signal that comes from its neighbours, at the mean degree.

        From -1, its neighbours subtracted and nothing else, through 0, its own signal alone, to 1,
        the plain average over neighbours. Shape (groups,), or (2, groups) if directed.
        """
        return self.shares(self.phi_by_direction, graph).squeeze(-2)

    def shares(self, phi: Tensor, graph: Graph) -> Tensor:
        """`neighbour_share` for any φ of shape (…, directions, groups), such as several layers'."""
        own, *others = self._weights(phi, graph)
        parts = [w * side.mean_degree for w, side in zip(others, self._sides(graph), strict=True)]
        sizes = torch.stack([torch.ones_like(phi[..., 0, :]) * part for part in parts], dim=-2)
        own = own.unsqueeze(-2) if isinstance(own, Tensor) else own
        return sizes / (own + sizes.abs().sum(-2, keepdim=True))

    def _sides(self, graph: Graph) -> tuple[Graph, ...]:
        """The graph whose rows hold the neighbours, for each direction."""
        return (graph, graph.transpose) if self.normalisation == "directed" else (graph,)

    def _weights(self, phi: Tensor, graph: Graph) -> tuple[Weight, ...]:
        """As `weights`, for φ of shape (…, directions, groups)."""
        pairs = [
            self.kernel.weights(phi[..., direction, :], side.mean_degree)
            for direction, side in enumerate(self._sides(graph))
        ]
        if len(pairs) == 1:
            return pairs[0]
        # Brought to one self weight: only the ratios to it matter.
        (own, into), (other, out) = pairs
        return own * other, into * other, out * own

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
