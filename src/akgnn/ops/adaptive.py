"""Adaptive propagation: the paper's kernel with a self weight a and a neighbour weight w.

With d the degrees and c = a + |w| d, one step is

    symmetric:  h_out = c^-1/2 (a I + w A) c^-1/2 h_in
    row:        h_out = c^-1   (a I + w A)        h_in

The paper's renormalised kernel A*_k is the symmetric form with a = λ_k - 1 and w = 1: the factor
2 / λ_k of its A_k cancels in D_k^-1/2 A_k D_k^-1/2. An isolated node keeps its signal for every
a > 0, since a / c = 1; it keeps it at a = 0 too, where the formula reads 0 / 0.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from akgnn.csr import CSR
from akgnn.errors import GraphError, SettingsError
from akgnn.graph import Graph
from akgnn.ops.neighbour_sum import check_signal, matmul

Normalisation = Literal["sym", "row"]
Weight = Tensor | float

# Numbers in a block whose products stay in the processor's cache; 2 to 3 times as fast on large
# signals as a batched product.
_BLOCK = 2**18


def adaptive_propagate(
    graph: Graph,
    h: Tensor,
    self_weight: Weight,
    neighbour_weight: Weight = 1.0,
    *,
    normalisation: Normalisation = "sym",
) -> Tensor:
    """One step of adaptive propagation, with closed-form gradients.

    The graph's matrix is fixed and only scalings are learned, so the backward pass is the same
    operator once more and a few row-wise dot products: O(edges × channels) time, O(nodes ×
    channels) memory. Gradients reach `h` and both weights; second derivatives are not defined. The
    result is kept for the backward pass where a weight learns: do not change it in place.

    Args:
        graph: Its edge weights must not be negative. The symmetric form needs an undirected one.
        h: Node signals, shape (nodes, channels).
        self_weight: a ≥ 0, one number or one per channel.
        neighbour_weight: w of either sign, one number or one per channel.
        normalisation: `"sym"` or `"row"`.
    """
    check_signal(graph, h)
    _check_kernel(graph, h, self_weight, neighbour_weight, normalisation)
    out: Tensor = _AdaptivePropagate.apply(graph, h, self_weight, neighbour_weight, normalisation)
    return out


def adaptive_propagate_reference(
    graph: Graph,
    h: Tensor,
    self_weight: Weight,
    neighbour_weight: Weight = 1.0,
    *,
    normalisation: Normalisation = "sym",
) -> Tensor:
    """The specification of `adaptive_propagate`: the formula, edge by edge, left to autograd."""
    a = torch.as_tensor(self_weight, dtype=h.dtype, device=h.device)
    w = torch.as_tensor(neighbour_weight, dtype=h.dtype, device=h.device)
    source, target = graph.edge_index
    weight = torch.ones_like(source) if graph.edge_weight is None else graph.edge_weight

    degree = graph.degree.to(h.dtype).unsqueeze(1)
    c = a + w.abs() * degree
    alone = (degree == 0) | (c == 0)
    c = torch.where(alone, 1, c)
    left, right = (c**-0.5, c**-0.5) if normalisation == "sym" else (1 / c, torch.ones_like(c))
    messages = weight.to(h.dtype).unsqueeze(1) * (right * h)[source]
    neighbours = torch.zeros_like(h).index_add(0, target, messages)
    return torch.where(alone, h, left * (a * right * h + w * neighbours))


def _check_kernel(
    graph: Graph, h: Tensor, a: Weight, w: Weight, normalisation: Normalisation
) -> None:
    if normalisation not in ("sym", "row"):
        raise SettingsError(f"normalisation must be 'sym' or 'row', got {normalisation!r}.")
    if graph.has_negative_weights:
        raise GraphError(
            "The kernel divides by degrees, which negative edge weights leave without meaning; "
            "use their absolute values, or a negative neighbour_weight to subtract neighbours."
        )
    if normalisation == "sym" and not graph.is_symmetric:
        raise GraphError(
            "The symmetric kernel needs an undirected graph and this one is directed; "
            "use graph.symmetrised(), or normalisation='row'."
        )
    for name, weight in (("self_weight", a), ("neighbour_weight", w)):
        size = weight.numel() if isinstance(weight, Tensor) else 1
        if size not in (1, h.size(1)):
            raise SettingsError(
                f"{name} must be one number or one for each of {h.size(1)} channels, got {size}."
            )
        if not isinstance(weight, Tensor) and not math.isfinite(weight):
            raise SettingsError(f"{name} must be finite, got {weight}.")
    # On a GPU the question would make the processor wait for the answer.
    is_negative = bool((a < 0).any()) if isinstance(a, Tensor) and a.device.type == "cpu" else False
    if is_negative or (not isinstance(a, Tensor) and a < 0):
        raise SettingsError(f"self_weight must not be negative, got {a}.")


@dataclass(frozen=True)
class _Kernel:
    """The matrix diag(left) · w A · diag(right) + diag(own) of one step.

    Scalings are columns that broadcast over the channels: one, or one per channel.

    Attributes:
        inverse: 1 / c; 0 where c = 0, and for isolated nodes.
        own: What a node keeps of itself, a / c; 1 where c = 0, and for isolated nodes.
        left: Scales the sum over neighbours.
        right: Scales a signal before it is summed; None for 1.
    """

    graph: Graph
    w: Weight
    degree: Tensor
    inverse: Tensor
    own: Tensor
    left: Tensor
    right: Tensor | None

    @classmethod
    def build(cls, graph: Graph, h: Tensor, a: Weight, w: Weight, form: Normalisation) -> "_Kernel":
        # Powers of degrees and sums over nodes need more digits than bfloat16 has.
        dtype = torch.float64 if h.dtype == torch.float64 else torch.float32
        degree = graph.degree.to(dtype).unsqueeze(1)
        # Copies: a weight that is changed in place later must not change the backward pass.
        if isinstance(a, Tensor):
            a = a.to(dtype, copy=True).reshape(-1)
        if isinstance(w, Tensor):
            w = w.to(dtype, copy=True).reshape(-1)
        c = a + (w.abs() if isinstance(w, Tensor) else abs(w)) * degree
        # An isolated node keeps its signal whatever a is. Left to the formula, its share of the
        # gradient of a would be a difference of two numbers of the size of 1 / a.
        # Written so that a NaN stays one and is found.
        connected = ~((c <= 0) | (degree == 0))
        inverse = torch.where(connected, 1 / c, 0)
        own = torch.where(connected, a * inverse, 1)
        left = inverse.sqrt() if form == "sym" else inverse
        return cls(graph, w, degree, inverse, own, left, left if form == "sym" else None)

    def sum_neighbours(self, h: Tensor) -> Tensor:
        """The neighbours' part, without w."""
        return _scaled_matmul(self.left, self.graph.adjacency, self.right, h)

    def sum_neighbours_back(self, grad: Tensor) -> Tensor:
        """The same with the transposed matrix."""
        return _scaled_matmul(self.right, self.graph.transpose.adjacency, self.left, grad)

    def add_own(self, neighbours: Tensor, h: Tensor) -> Tensor:
        """Turn the neighbours' part, in place, into the whole step."""
        if isinstance(self.w, Tensor) or self.w != 1:
            neighbours.mul_(self.w)
        return neighbours.addcmul_(self.own.to(h.dtype), h)


def _scaled_matmul(left: Tensor | None, matrix: CSR, right: Tensor | None, h: Tensor) -> Tensor:
    """The product diag(left) · matrix · diag(right) · h.

    Scalings of one column are folded into the entries: one number an edge is far less traffic
    than another pass over all channels.
    """
    if any(scale is not None and scale.size(1) > 1 for scale in (left, right)):
        product = matmul(matrix, h if right is None else (right * h).to(h.dtype))
        return product if left is None else product.mul_(left)
    value = matrix.value
    for scale, index in ((left, matrix.pattern.row), (right, matrix.pattern.col)):
        if scale is not None:
            factor = scale.view(-1).index_select(0, index)
            value = factor if value is None else factor.mul_(value)
    return matmul(CSR(matrix.pattern, value), h)


def _dot(scale: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The sum over nodes of scale · x · y, shape (1,), or (channels,) if scale has channels."""
    x, y = x.to(scale.dtype), y.to(scale.dtype)
    if scale.size(1) > 1:
        return (scale * x * y).sum(0)
    return torch.dot(scale.view(-1), _row_dots(x, y)).view(1)


def _row_dots(x: Tensor, y: Tensor) -> Tensor:
    """The dot product of each row of x with the same row of y."""
    if x.device.type != "cpu":
        return torch.einsum("nc,nc->n", x, y)
    rows = max(1, _BLOCK // max(1, x.size(1)))
    dots = [(a * b).sum(1) for a, b in zip(x.split(rows), y.split(rows), strict=True)]
    return torch.cat(dots)


class _AdaptivePropagate(torch.autograd.Function):
    """Forward: one step. Backward, with c and the kernel's matrix M of the module docstring.

    grad_h = Mᵀ grad
    grad_a = Σ (h · grad - t) / c
    grad_w = Σ h · (diag(right) Aᵀ diag(left) grad) - sign(w) Σ d t / c
    where t, what passes through c, is (h_out · grad + h · grad_h) / 2 in the symmetric form
    and h_out · grad in the row form.
    """

    @staticmethod
    def forward(
        ctx: Any, graph: Graph, h: Tensor, a: Weight, w: Weight, form: Normalisation
    ) -> Tensor:
        kernel = _Kernel.build(graph, h, a, w, form)
        out = kernel.add_own(kernel.sum_neighbours(h), h)
        ctx.kernel, ctx.form = kernel, form
        if any(ctx.needs_input_grad[2:4]):
            ctx.save_for_backward(h, out, *(x if isinstance(x, Tensor) else None for x in (a, w)))
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor | None, Tensor | None, None]:
        kernel: _Kernel = ctx.kernel
        _, _, a_learns, w_learns, _ = ctx.needs_input_grad
        neighbours = kernel.sum_neighbours_back(grad)
        if not (a_learns or w_learns):
            return None, kernel.add_own(neighbours, grad), None, None, None

        h, out, a, w = ctx.saved_tensors
        # Taken now: `add_own` overwrites the neighbours' part.
        direct_w = _dot(torch.ones_like(kernel.inverse), h, neighbours) if w_learns else None
        grad_h = kernel.add_own(neighbours, grad)

        def through_c(scale: Tensor) -> Tensor:
            if ctx.form == "row":
                return _dot(scale, out, grad)
            return (_dot(scale, out, grad) + _dot(scale, h, grad_h)) / 2

        grad_a = grad_w = None
        if a_learns:
            grad_a = _dot(kernel.inverse, h, grad) - through_c(kernel.inverse)
            grad_a = _fit(grad_a, a)
        if direct_w is not None:
            grad_w = direct_w - w.sign().reshape(-1) * through_c(kernel.degree * kernel.inverse)
            grad_w = _fit(grad_w, w)
        return None, grad_h, grad_a, grad_w, None


def _fit(grad: Tensor, weight: Tensor) -> Tensor:
    """Give a gradient the form of its weight: summed where one number serves all channels."""
    total = grad.sum() if weight.numel() == 1 else grad
    return total.reshape(weight.shape).to(weight.dtype)
