"""Adaptive propagation: the paper's kernel with a self weight a and a neighbour weight w.

With d the degrees and c = a + |w| d, one step is

    symmetric:  h_out = c^-1/2 (a I + w A) c^-1/2 h_in
    row:        h_out = c^-1   (a I + w A)        h_in

On a directed graph the row form may also take the out-neighbours, with a weight v of their own and
their number e:

    both ways:  h_out = c^-1 (a I + w A + v Aᵀ) h_in,   c = a + |w| d + |v| e

The paper's renormalised kernel A*_k is the symmetric form with a = λ_k - 1 and w = 1: the factor
2 / λ_k of its A_k cancels in D_k^-1/2 A_k D_k^-1/2. An isolated node keeps its signal for every
a > 0, since a / c = 1; it keeps it at a = 0 too, where the formula reads 0 / 0.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
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
    out_weight: Weight | None = None,
    *,
    normalisation: Normalisation = "sym",
) -> Tensor:
    """One step of adaptive propagation, with closed-form gradients.

    The graph's matrix is fixed and only scalings are learned, so the backward pass is the same
    operator once more and a few row-wise dot products: O(edges × channels) time, O(nodes ×
    channels) memory. Gradients reach `h` and all weights; second derivatives are not defined. The
    result is kept for the backward pass where a weight learns: do not change it in place.

    Args:
        graph: Its edge weights must not be negative. The symmetric form needs an undirected one.
        h: Node signals, shape (nodes, channels), or (replicas, nodes, channels).
        self_weight: a ≥ 0, one number or one per channel. Weights that differ between replicas have
            the shape (replicas, 1) or (replicas, channels).
        neighbour_weight: w of either sign, one number or one per channel.
        out_weight: v of either sign, of the nodes that a node's own edges lead to; row form only.
        normalisation: `"sym"` or `"row"`.
    """
    check_signal(graph, h)
    weights = {
        "self_weight": self_weight,
        "neighbour_weight": neighbour_weight,
        **({} if out_weight is None else {"out_weight": out_weight}),
    }
    _check_kernel(graph, h, weights, normalisation)
    out: Tensor = _AdaptivePropagate.apply(graph, h, normalisation, *weights.values())
    return out


def adaptive_propagate_reference(
    graph: Graph,
    h: Tensor,
    self_weight: Weight,
    neighbour_weight: Weight = 1.0,
    out_weight: Weight | None = None,
    *,
    normalisation: Normalisation = "sym",
) -> Tensor:
    """The specification of `adaptive_propagate`: the formula, edge by edge, left to autograd."""

    def tensor(weight: Weight) -> Tensor:
        return torch.as_tensor(weight, dtype=h.dtype, device=h.device)

    a = tensor(self_weight)
    ways = [(graph, tensor(neighbour_weight))]
    if out_weight is not None:
        ways.append((graph.transpose, tensor(out_weight)))
    degrees = [way.degree.to(h.dtype).unsqueeze(1) for way, _ in ways]
    c = a + sum(w.abs() * degree for (_, w), degree in zip(ways, degrees, strict=True))
    alone = (sum(degrees) == 0) | (c == 0)
    c = torch.where(alone, 1, c)
    left, right = (c**-0.5, c**-0.5) if normalisation == "sym" else (1 / c, torch.ones_like(c))
    total = a * right * h
    for way, w in ways:
        source, target = way.edge_index
        weight = torch.ones_like(source) if way.edge_weight is None else way.edge_weight
        messages = weight.to(h.dtype).unsqueeze(1) * (right * h)[source]
        total = total + w * torch.zeros_like(h).index_add(0, target, messages)
    return torch.where(alone, h, left * total)


def _check_kernel(
    graph: Graph, h: Tensor, weights: Mapping[str, Weight], normalisation: Normalisation
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
            "The symmetric kernel needs an undirected graph and this one is directed; take "
            "graph.symmetrised() (--direction symmetrised), or normalisation='row' or 'directed'."
        )
    if normalisation == "sym" and "out_weight" in weights:
        raise SettingsError("out_weight needs normalisation='row'.")
    for name, weight in weights.items():
        if isinstance(weight, Tensor) and weight.numel() != 1:
            _check_size(name, weight, h)
        if not isinstance(weight, Tensor) and not math.isfinite(weight):
            raise SettingsError(f"{name} must be finite, got {weight}.")
    a = weights["self_weight"]
    # On a GPU the question would make the processor wait for the answer.
    is_negative = bool((a < 0).any()) if isinstance(a, Tensor) and a.device.type == "cpu" else False
    if is_negative or (not isinstance(a, Tensor) and a < 0):
        raise SettingsError(f"self_weight must not be negative, got {a}.")


def _check_size(name: str, weight: Tensor, h: Tensor) -> None:
    channels = h.size(-1)
    if h.dim() == 3:
        if weight.shape not in ((h.size(0), 1), (h.size(0), channels)):
            raise SettingsError(
                f"{name} must be one number, or have the shape ({h.size(0)}, 1) or "
                f"({h.size(0)}, {channels}) for these replicas, got {list(weight.shape)}."
            )
    elif weight.numel() != channels:
        raise SettingsError(
            f"{name} must be one number or one for each of {channels} channels, "
            f"got {weight.numel()}."
        )


def _row_of(weight: Tensor, h: Tensor) -> Tensor:
    """The weight as a row that broadcasts over the channels; one row for each replica."""
    return weight.reshape(-1) if h.dim() == 2 or weight.numel() == 1 else weight


@dataclass(frozen=True)
class _Way:
    """The neighbours on one side of a node: those its edges come from, or those they lead to.

    Attributes:
        matrix: Whose row i holds i's neighbours on this side.
        transpose: The same turned round, for the backward pass.
        degree: Their weighted number, a column.
        weight: What the sum over them is multiplied by.
    """

    matrix: CSR
    transpose: CSR
    degree: Tensor
    weight: Weight

    @property
    def size(self) -> Tensor:
        """Their share of c."""
        w = self.weight
        return (w.abs() if isinstance(w, Tensor) else abs(w)) * self.degree


@dataclass(frozen=True)
class _Kernel:
    """The matrix Σ diag(left) · w A · diag(right) + diag(own) of one step, over one or two ways.

    Scalings are columns that broadcast over the channels: one, or one per channel; where weights
    differ between replicas, one such block for each.

    Attributes:
        ways: The in-neighbours, and the out-neighbours where they count too.
        inverse: 1 / c; 0 where c = 0, and for isolated nodes.
        own: What a node keeps of itself, a / c; 1 where c = 0, and for isolated nodes.
        left: Scales the sum over neighbours.
        right: Scales a signal before it is summed; None for 1.
    """

    ways: tuple[_Way, ...]
    inverse: Tensor
    own: Tensor
    left: Tensor
    right: Tensor | None

    @classmethod
    def build(
        cls, graph: Graph, h: Tensor, form: Normalisation, a: Weight, *weights: Weight
    ) -> "_Kernel":
        # Powers of degrees and sums over nodes need more digits than bfloat16 has.
        dtype = torch.float64 if h.dtype == torch.float64 else torch.float32

        def copied(weight: Weight) -> Weight:
            # A weight that is changed in place later must not change the backward pass.
            if isinstance(weight, Tensor):
                row = _row_of(weight.to(dtype, copy=True), h)
                return row if row.dim() == 1 else row.unsqueeze(1)
            return weight

        def way(graph: Graph, weight: Weight) -> _Way:
            degree = graph.degree.to(dtype).unsqueeze(1)
            return _Way(graph.adjacency, graph.transpose.adjacency, degree, copied(weight))

        sides = (graph, graph.transpose) if len(weights) > 1 else (graph,)
        ways = tuple(way(side, weight) for side, weight in zip(sides, weights, strict=True))
        a = copied(a)
        c = a + reduce(torch.add, (way.size for way in ways))
        # An isolated node keeps its signal whatever a is. Left to the formula, its share of the
        # gradient of a would be a difference of two numbers of the size of 1 / a.
        # Written so that a NaN stays one and is found.
        degree = reduce(torch.add, (way.degree for way in ways))
        connected = ~((c <= 0) | (degree == 0))
        inverse = torch.where(connected, 1 / c, 0)
        own = torch.where(connected, a * inverse, 1)
        left = inverse.sqrt() if form == "sym" else inverse
        return cls(ways, inverse, own, left, left if form == "sym" else None)

    def sum_neighbours(self, h: Tensor) -> list[Tensor]:
        """The neighbours' part of each way, without its weight."""
        return [_scaled_matmul(self.left, way.matrix, self.right, h) for way in self.ways]

    def sum_neighbours_back(self, grad: Tensor) -> list[Tensor]:
        """The same with the transposed matrices."""
        return [_scaled_matmul(self.right, way.transpose, self.left, grad) for way in self.ways]

    def add_own(self, neighbours: list[Tensor], h: Tensor) -> Tensor:
        """Turn the neighbours' parts, in place, into the whole step."""
        for way, part in zip(self.ways, neighbours, strict=True):
            if isinstance(way.weight, Tensor) or way.weight != 1:
                part.mul_(way.weight)
        total, *others = neighbours
        for part in others:
            total.add_(part)
        return total.addcmul_(self.own.to(h.dtype), h)


def _scaled_matmul(left: Tensor | None, matrix: CSR, right: Tensor | None, h: Tensor) -> Tensor:
    """The product diag(left) · matrix · diag(right) · h.

    Scalings of one column are folded into the entries: one number an edge is far less traffic
    than another pass over all channels.
    """
    if any(scale is not None and scale.size(-1) > 1 for scale in (left, right)):
        product = matmul(matrix, h if right is None else (right * h).to(h.dtype))
        return product if left is None else product.mul_(left)
    value = matrix.value
    for scale, index in ((left, matrix.pattern.row), (right, matrix.pattern.col)):
        if scale is not None:
            factor = scale.squeeze(-1).index_select(-1, index)
            value = factor if value is None else factor.mul_(value)
    return matmul(CSR(matrix.pattern, value), h)


def _dot(scale: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The sum over nodes of scale · x · y, shape (1,), or (channels,) if scale has channels.

    Of several replicas, one such row each.
    """
    x, y = x.to(scale.dtype), y.to(scale.dtype)
    if scale.size(-1) > 1:
        return (scale * x * y).sum(-2)
    dots = _row_dots(x.reshape(-1, x.size(-1)), y.reshape(-1, y.size(-1)))
    if x.dim() == 2:
        return torch.dot(scale.view(-1), dots).view(1)
    return (scale.squeeze(-1) * dots.view(x.shape[:2])).sum(1, keepdim=True)


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
    and h_out · grad in the row form. For grad_v read A for Aᵀ and e for d.
    """

    @staticmethod
    def forward(
        ctx: Any, graph: Graph, h: Tensor, form: Normalisation, a: Weight, *weights: Weight
    ) -> Tensor:
        kernel = _Kernel.build(graph, h, form, a, *weights)
        out = kernel.add_own(kernel.sum_neighbours(h), h)
        ctx.kernel, ctx.form = kernel, form
        if any(ctx.needs_input_grad[3:]):
            learned = (x if isinstance(x, Tensor) else None for x in (a, *weights))
            ctx.save_for_backward(h, out, *learned)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        kernel: _Kernel = ctx.kernel
        a_learns, *weights_learn = ctx.needs_input_grad[3:]
        neighbours = kernel.sum_neighbours_back(grad)
        if not (a_learns or any(weights_learn)):
            return None, kernel.add_own(neighbours, grad), None, None, *(None for _ in neighbours)

        h, out, a, *weights = ctx.saved_tensors
        ones = torch.ones_like(kernel.inverse)
        # Taken now: `add_own` overwrites the neighbours' parts.
        direct = [
            _dot(ones, h, part) if learns else None
            for part, learns in zip(neighbours, weights_learn, strict=True)
        ]
        grad_h = kernel.add_own(neighbours, grad)

        def through_c(scale: Tensor) -> Tensor:
            if ctx.form == "row":
                return _dot(scale, out, grad)
            return (_dot(scale, out, grad) + _dot(scale, h, grad_h)) / 2

        grad_a = None
        if a_learns:
            grad_a = _fit(_dot(kernel.inverse, h, grad) - through_c(kernel.inverse), a)
        grads: list[Tensor | None] = []
        for way, weight, own in zip(kernel.ways, weights, direct, strict=True):
            if own is None:
                grads.append(None)
                continue
            sign = _row_of(weight.sign(), h)
            grads.append(_fit(own - sign * through_c(way.degree * kernel.inverse), weight))
        return None, grad_h, None, grad_a, *grads


def _fit(grad: Tensor, weight: Tensor) -> Tensor:
    """Give a gradient the form of its weight: summed where one number serves all channels."""
    if weight.numel() == 1:
        grad = grad.sum()
    elif grad.dim() == 2 and weight.size(1) == 1:
        grad = grad.sum(-1, keepdim=True)
    return grad.reshape(weight.shape).to(weight.dtype)
