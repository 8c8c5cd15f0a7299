"""Adaptive propagation composed from PyTorch's operations, with closed-form gradients.

It runs on any device and in any precision; see `akgnn.ops.adaptive` for the formulas.
"""

import math
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.ops.dots import Dots, Term
from akgnn.ops.dropout import Masking
from akgnn.ops.inputs import Normalisation, Weight, num_groups
from akgnn.ops.products import matmul, neighbour_product
from akgnn.ops.rows import Division, current_division

# Scalings are made once a degree if there are so many times as many nodes.
_NODES_OF_DEGREE = 4
# A kernel keeps its entries for the backward pass if they are no more than so many: of a larger
# graph they would take the memory of a signal.
MOST_ENTRIES_KEPT = 2**22


def composed_step(
    graph: Graph,
    h: Tensor,
    form: Normalisation,
    self_weight: Weight,
    *weights: Weight,
    mask: Masking | None = None,
) -> Tensor:
    """One step, and dropout after it if there is a mask.

    The weights are those of in-neighbours and, if given, of out-neighbours: one number, or one for
    each of several equal groups of channels.
    """
    out: Tensor = _ComposedStep.apply(graph, h, form, mask, self_weight, *weights)
    return out


def _row_of(weight: Tensor, h: Tensor) -> Tensor:
    """The weight as a row that broadcasts over the channels; one row for each replica."""
    return weight.reshape(-1) if h.dim() == 2 or weight.numel() == 1 else weight


@dataclass(frozen=True)
class _Direction:
    """The neighbours on one side of a node: those its edges come from, or those they lead to.

    Attributes:
        matrix: The graph in whose row i are i's neighbours on this side.
        transpose: Its transpose, for the backward pass.
        degree: Their weighted number, a column.
        weight: What the sum over them is multiplied by.
    """

    matrix: Graph
    transpose: Graph
    degree: Tensor
    weight: Weight

    def size(self, degree: Tensor) -> Tensor:
        """Their share of the c of nodes of this degree."""
        w = self.weight
        return (w.abs() if isinstance(w, Tensor) else abs(w)) * degree


@dataclass(frozen=True)
class _Kernel:
    """The matrix Σ diag(left) · w A · diag(right) + diag(own) of one step, over its directions.

    Scalings are columns that broadcast over the channels: one, or one per channel; where weights
    differ between replicas, one such block for each.

    Attributes:
        directions: The in-neighbours, and the out-neighbours where they count too.
        inverse: 1 / c; 0 where c = 0, and for isolated nodes. A column for each of the groups of
            channels in which no weight changes.
        own: What a node keeps of itself, a / c; 1 where c = 0, and for isolated nodes.
        left: Scales the sum over neighbours.
        right: Scales a signal before it is summed; None for 1.
    """

    directions: tuple[_Direction, ...]
    inverse: Tensor
    own: Tensor
    left: Tensor
    right: Tensor | None

    @classmethod
    def build(cls, graph: Graph, h: Tensor, form: Normalisation, *weights: Weight) -> "_Kernel":
        # Powers of degrees and sums over nodes need more digits than bfloat16 has.
        dtype = torch.float64 if h.dtype == torch.float64 else torch.float32
        # Scalings are made once a group: of sixteen groups that is far less than of channels.
        groups = math.lcm(*map(num_groups, weights))

        def of_group(weight: Weight) -> Weight:
            if not isinstance(weight, Tensor):
                return weight
            # A weight that is changed in place later must not change the backward pass.
            row = weight.to(dtype, copy=True)
            if num_groups(weight) > 1:
                row = row.repeat_interleave(groups // num_groups(weight), -1)
            row = _row_of(row, h)
            return row if row.dim() == 1 else row.unsqueeze(1)

        def direction(graph: Graph, weight: Weight) -> _Direction:
            degree = graph.degree.to(dtype).unsqueeze(1)
            return _Direction(graph, graph.transpose, degree, of_group(weight))

        a, *others = weights
        sides = (graph, graph.transpose) if len(others) > 1 else (graph,)
        directions = tuple(
            direction(side, weight) for side, weight in zip(sides, others, strict=True)
        )
        a = of_group(a)
        # Nodes of one degree have the same scalings.
        of_node = _degree_of_node(graph) if groups > 1 and len(sides) == 1 else None
        degrees = [d.degree for d in directions]
        if of_node is not None:
            degrees = [graph.degrees[0].to(dtype).unsqueeze(1)]
        c = a + reduce(torch.add, (d.size(n) for d, n in zip(directions, degrees, strict=True)))
        # An isolated node keeps its signal whatever a is. Left to the formula, its share of the
        # gradient of a would be a difference of two numbers of the size of 1 / a.
        # Written so that a NaN stays one and is found.
        connected = ~((c <= 0) | (reduce(torch.add, degrees) == 0))
        inverse = torch.where(connected, 1 / c, 0)
        own = _by_channel(torch.where(connected, a * inverse, 1), h)
        left = _by_channel(inverse.sqrt() if form == "sym" else inverse, h)
        if of_node is not None:
            inverse, own, left = (s.index_select(-2, of_node) for s in (inverse, own, left))
        return cls(directions, inverse, own, left, left if form == "sym" else None)

    def step(self, h: Tensor, *, transposed: bool = False) -> Tensor:
        """The product of the matrix, or of its transpose, with a signal."""
        return self.add_own(self.sum_neighbours(h, transposed=transposed), h)

    def sum_neighbours(self, h: Tensor, *, transposed: bool = False) -> list[Tensor]:
        """The neighbours' part of each direction, without its weight; or with the transposes."""
        left, right = (self.right, self.left) if transposed else (self.left, self.right)
        matrices = [d.transpose if transposed else d.matrix for d in self.directions]
        return [self._product(left, matrix, right, h) for matrix in matrices]

    def _product(
        self, left: Tensor | None, graph: Graph, right: Tensor | None, h: Tensor
    ) -> Tensor:
        """The product diag(left) · A · diag(right) · h.

        Scalings of one column are folded into the entries: one number an edge is far less traffic
        than another pass over all channels. Not so where neighbours lie elsewhere: scaled before
        they travel, their degrees need not be known here.
        """
        if self.left.size(-1) > 1 or not graph.is_whole:
            return neighbour_product(graph, h, left, right)
        matrix = graph.adjacency
        if left is not right or matrix.num_entries > MOST_ENTRIES_KEPT:
            return matmul(_folded(left, matrix, right), h)
        return matmul(self.folded, h)

    @cached_property
    def folded(self) -> CSR:
        """The matrix of the symmetric form with its scalings; the backward pass has the same."""
        return _folded(self.left, self.directions[0].matrix.adjacency, self.right)

    def add_own(self, neighbours: list[Tensor], h: Tensor) -> Tensor:
        """Turn the neighbours' parts, in place, into the whole step."""
        for direction, part in zip(self.directions, neighbours, strict=True):
            if isinstance(direction.weight, Tensor):
                part.mul_(_by_channel(direction.weight, h))
            elif direction.weight != 1:
                part.mul_(direction.weight)
        total, *others = neighbours
        for part in others:
            total.add_(part)
        return total.addcmul_(self.own.to(h.dtype), h)


def _degree_of_node(graph: Graph) -> Tensor | None:
    """Which of `graph.degrees` every node has; None where they are not far fewer than nodes.

    None on a GPU too, where it was not measured, and where neighbours lie elsewhere.
    """
    if graph.device.type != "cpu" or not graph.is_whole:
        return None
    found, of_node = graph.degrees
    return of_node if _NODES_OF_DEGREE * len(found) <= len(of_node) else None


def _by_channel(scale: Tensor, h: Tensor) -> Tensor:
    """Scalings of groups as scalings of the channels of `h`; one column stays one."""
    if scale.size(-1) in (1, h.size(-1)):
        return scale
    each = h.size(-1) // scale.size(-1)
    return scale.unsqueeze(-1).expand(*scale.shape, each).flatten(-2)


def _folded(left: Tensor | None, matrix: CSR, right: Tensor | None) -> CSR:
    """The matrix diag(left) · matrix · diag(right), for scalings of one column."""
    value = matrix.value
    for scale, index in ((left, matrix.pattern.row), (right, matrix.pattern.col)):
        if scale is not None:
            factor = scale.squeeze(-1).index_select(-1, index)
            value = factor if value is None else factor.mul_(value)
    return CSR(matrix.pattern, value)


class _ComposedStep(torch.autograd.Function):
    """Forward: one step. Backward, with c and the kernel's matrix M of `akgnn.ops.adaptive`.

    grad_h = Mᵀ grad
    grad_a = Σ (h · grad - t) / c
    grad_w = Σ h · (diag(right) Aᵀ diag(left) grad) - sign(w) Σ d t / c
    where t, what passes through c, is (h_out · grad + h · grad_h) / 2 in the symmetric form
    and h_out · grad in the row form. For grad_v read A for Aᵀ and e for d.

    With dropout after the step, grad is what comes back through the mask. The sum h_out · grad is
    that of the dropped h_out and what came back to it, so the former need not be kept.
    """

    @staticmethod
    def forward(
        ctx: Any,
        graph: Graph,
        h: Tensor,
        form: Normalisation,
        mask: Masking | None,
        *weights: Weight,
    ) -> Tensor:
        kernel = _Kernel.build(graph, h, form, *weights)
        out = kernel.step(h)
        out = out if mask is None else mask.drop_(out)
        ctx.kernel, ctx.form, ctx.mask, ctx.division = kernel, form, mask, current_division()
        if any(ctx.needs_input_grad[4:]):
            learned = (x if isinstance(x, Tensor) else None for x in weights)
            ctx.save_for_backward(h, out, *learned)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        kernel: _Kernel = ctx.kernel
        a_learns, *weights_learn = ctx.needs_input_grad[4:]
        received, grad = grad, grad if ctx.mask is None else ctx.mask.dropped(grad)
        if not (a_learns or any(weights_learn)):
            grad_h = kernel.step(grad, transposed=True)
            return None, grad_h, None, None, None, *(None for _ in weights_learn)

        h, out, a, *weights = ctx.saved_tensors
        inverse = kernel.inverse
        dots = partial(Dots, like=inverse, division=ctx.division)
        direct: list[Tensor | None] = [None for _ in weights_learn]
        if any(weights_learn):
            neighbours = kernel.sum_neighbours(grad, transposed=True)
            # Taken now: `add_own` overwrites the neighbours' parts.
            direct = [
                dots([(1, h, part)]).total() if learns else None
                for part, learns in zip(neighbours, weights_learn, strict=True)
            ]
            grad_h = kernel.add_own(neighbours, grad)
        else:
            grad_h = kernel.step(grad, transposed=True)

        through_c: list[Term] = [(1, out, received)]
        if ctx.form == "sym":
            through_c = [(0.5, out, received), (0.5, h, grad_h)]
        grad_a = None
        if a_learns:
            terms = [(1.0, h, grad), *((-f, x, y) for f, x, y in through_c)]
            grad_a = _fit(_total(dots(terms).weighted(inverse), ctx.division), a)
        t = dots(through_c)
        grads: list[Tensor | None] = []
        for direction, weight, own in zip(kernel.directions, weights, direct, strict=True):
            if own is None:
                grads.append(None)
                continue
            assert isinstance(direction.weight, Tensor), "a number does not learn"
            sign = direction.weight.sign()
            sign = sign if sign.dim() == 1 else sign.squeeze(1)
            by_node = own - sign * t.weighted(direction.degree * inverse)
            grads.append(_fit(_total(by_node, ctx.division), weight))
        return None, grad_h, None, None, grad_a, *grads


def _total(sums: Tensor, division: Division | None) -> Tensor:
    """Sums over nodes of all parts in one."""
    return sums if division is None else division.total(sums)


def _fit(grad: Tensor, weight: Tensor) -> Tensor:
    """Give a gradient the form of its weight: summed where one number serves several groups."""
    if weight.numel() == 1:
        grad = grad.sum()
    else:
        grad = grad.unflatten(-1, (num_groups(weight), -1)).sum(-1)
    return grad.reshape(weight.shape).to(weight.dtype)
