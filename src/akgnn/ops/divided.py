"""What sums over nodes, part by part: linear maps, normalisations and losses.

Each function is torch's own where the rows are not divided. Otherwise it computes part by part what
a library might compute differently for another number of rows, and leaves sums over nodes, also
those in backward passes, to the division: see `akgnn.ops.rows`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from akgnn.csr import CSR, Pattern
from akgnn.ops.part_rows import PartRows
from akgnn.ops.rows import Division, current_division

# Torch shares a sum of more numbers among its threads, whose number would then change its bits;
# several sums it shares out whole. Of these so many numbers are made float64 at a time.
_NUMBERS_OF_SUM, _NUMBERS_AT_ONCE = 2**14, 2**20
# MKL computes a few rows another way than many, and shares rows among its threads: with fewer than
# twelve rows the number of threads changed bits.
_FEWEST_ROWS = 64
# And it shares out a sum of many terms: with 745 of them the number of threads changed bits.
_MOST_TERMS = 256
# A GPU's libraries may choose by where a matrix begins in which order they add up.
_ALIGNMENT = 256


def product(x: Tensor, weight: Tensor) -> Tensor:
    """The product x W of rows and a matrix."""
    division = current_division()
    if division is None:
        return x @ weight
    out: Tensor = _Product.apply(division, x, weight)
    return out


def affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The product x W of rows and a matrix, with a bias added to each row."""
    if current_division() is None and x.dim() == weight.dim() == 2:
        return torch.addmm(bias, x, weight)
    return shift(product(x, weight), bias)


def shift(h: Tensor, bias: Tensor) -> Tensor:
    """Rows with a bias added to each."""
    division = current_division()
    if division is None:
        return h + bias
    out: Tensor = _Affine.apply(division, h, None, bias.reshape(-1))
    return out


def batch_norm(
    h: Tensor, mean: Tensor, var: Tensor, weight: Tensor, bias: Tensor, momentum: float, eps: float
) -> Tensor:
    """Torch's `batch_norm` in training, which moves `mean` and `var` by the momentum."""
    division = current_division()
    if division is None:
        return F.batch_norm(h, mean, var, weight, bias, True, momentum, eps)
    out: Tensor = _BatchNorm.apply(division, h, mean, var, weight, bias, momentum, eps)
    return out


def layer_norm(h: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Torch's `layer_norm` over the last dimension."""
    division = current_division()
    if division is None:
        return F.layer_norm(h, h.shape[-1:], weight, bias, eps)
    out: Tensor = _Affine.apply(division, F.layer_norm(h, h.shape[-1:], eps=eps), weight, bias)
    return out


def node_sum(values: Tensor) -> Tensor:
    """The sum over nodes, the last dimension.

    Its gradient is that of a number that every process computes alike, such as a loss.
    """
    division = current_division()
    if division is None:
        return values.sum(-1)
    out: Tensor = _NodeSum.apply(division, values)
    return out


def node_mean(values: Tensor) -> Tensor:
    """The mean over nodes, the last dimension, with a gradient as `node_sum` has it."""
    if current_division() is None:
        return values.mean(-1)
    return node_sum(values) / node_count(values).to(values.dtype)


def node_count(values: Tensor) -> Tensor:
    """How many nodes the last dimension stands for."""
    division = current_division()
    if division is None:
        return torch.tensor(values.size(-1))
    sizes = [block.stop - block.start for block in division.blocks]
    return division.total(torch.tensor(sizes, dtype=torch.float64, device=values.device))


def sums_by_part(division: Division, values: Tensor) -> Tensor:
    """The sum over each part's rows, the first dimension, in float64; a row for each part."""
    if values.device.type == "cpu" and values.numel() == len(values) > 0:
        # One number a row: torch adds up each part by itself, in its order, all in one call.
        sizes = [block.stop - block.start for block in division.blocks]
        lengths = torch.tensor(sizes, device=values.device)
        return torch.segment_reduce(values.double(), "sum", lengths=lengths, unsafe=True)
    return _by_part(division, lambda block: _sum(values[block]))


def transposed_product(division: Division | None, x: CSR, grad: Tensor) -> Tensor:
    """The product xᵀ grad, a sum over the rows of both."""
    from akgnn.ops.products import matmul

    if division is None:
        return matmul(x.transpose, grad)
    sums = []
    for block, (pattern, entries) in zip(division.blocks, _patterns(x, division), strict=True):
        value = None if x.value is None else x.value[entries]
        sums.append(matmul(CSR(pattern, value).transpose, grad[block], by_row=True))
    return division.total(torch.stack(sums))


def _patterns(x: CSR, division: Division) -> list[tuple[Pattern, slice]]:
    """The pattern of each part's rows of sparse features, and which entries are theirs."""
    held: tuple[Sequence[slice], list[tuple[Pattern, slice]]] | None
    held = x.pattern.__dict__.get("_parts")
    if held is None or held[0] is not division.blocks:
        rowptr, patterns = x.pattern.rowptr, []
        for block in division.blocks:
            first, last = int(rowptr[block.start]), int(rowptr[block.stop])
            own = rowptr[block.start : block.stop + 1] - first
            shape = (block.stop - block.start, x.shape[1])
            entries = slice(first, last)
            patterns.append((Pattern(own, x.pattern.col[entries], shape, copy=False), entries))
        # Kept with the pattern: features of a run drop other entries in each step, but stand where
        # they stood.
        held = x.pattern.__dict__["_parts"] = (division.blocks, patterns)
    return held[1]


def _by_part(division: Division, of_block: Callable[[slice], Tensor]) -> Tensor:
    return torch.stack([of_block(block) for block in division.blocks])


def _sum(values: Tensor) -> Tensor:
    """The sum over the first dimension in float64, the same for any number of threads."""
    width = max(1, values[:1].numel())
    numbers = _NUMBERS_OF_SUM if width == 1 else _NUMBERS_AT_ONCE
    pieces = values.split(max(1, numbers // width))
    total: Tensor = _aligned(pieces[0].double()).sum(0)
    for piece in pieces[1:]:
        total += _aligned(piece.double()).sum(0)
    return total


def _aligned(values: Tensor) -> Tensor:
    """The same numbers, which on a GPU begin where an array of their own would."""
    is_apart = values.device.type == "cpu" or values.data_ptr() % _ALIGNMENT == 0
    return values if is_apart else values.clone()


def _matmul(a: Tensor, b: Tensor) -> Tensor:
    """The product of two matrices, the same for any number of threads, wherever they lie."""
    if a.device.type != "cpu":
        return _aligned(a) @ _aligned(b)
    rows = len(a)
    padded = a if rows >= _FEWEST_ROWS else F.pad(a, (0, 0, 0, _FEWEST_ROWS - rows))
    return (padded @ b if a.size(1) <= _MOST_TERMS else _long_product(padded, b))[:rows]


def _long_product(a: Tensor, b: Tensor) -> Tensor:
    """The product of matrices whose numbers are sums of many terms, a few terms at a time."""
    terms = a.size(1) // _MOST_TERMS * _MOST_TERMS
    factors = (
        a[:, :terms].unflatten(1, (-1, _MOST_TERMS)).transpose(0, 1),
        b[:terms].unflatten(0, (-1, _MOST_TERMS)),
    )
    total = (a[:, terms:] @ b[terms:]).double()
    at_once = max(1, _NUMBERS_AT_ONCE // total.numel())
    for some in zip(*(each.split(at_once) for each in factors), strict=True):
        total += _sum(torch.bmm(*some))
    return total.to(a.dtype)


class _Product(torch.autograd.Function):
    """Part by part: a row of a product may have other last bits among other rows."""

    @staticmethod
    def forward(ctx: Any, division: Division, x: Tensor, weight: Tensor) -> Tensor:
        ctx.division = division
        # Rows in parts are taken again: what is made of them need not be kept.
        ctx.rows = x if isinstance(x, PartRows) else None
        ctx.save_for_backward(None if ctx.rows is not None else x, weight)
        return _product_by_part(division, x, weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        division: Division = ctx.division
        x, weight = ctx.saved_tensors
        x = x if ctx.rows is None else ctx.rows
        _, needs_x, needs_weight = ctx.needs_input_grad
        grad_x = _product_by_part(division, grad, weight.T) if needs_x else None
        if not needs_weight:
            return None, grad_x, None
        pairs = zip(_parts(division, x), _parts(division, grad), strict=True)
        sums = torch.stack([_matmul(part.T, of_part) for part, of_part in pairs])
        return None, grad_x, division.total(sums)


def _parts(division: Division, x: Tensor) -> Iterator[Tensor]:
    """The rows of each part, one after the other."""
    for index, block in enumerate(division.blocks):
        yield x.part(index) if isinstance(x, PartRows) else x[block]


def _product_by_part(division: Division, x: Tensor, weight: Tensor) -> Tensor:
    out = torch.empty(x.size(0), weight.size(1), dtype=weight.dtype, device=weight.device)
    for block, part in zip(division.blocks, _parts(division, x), strict=True):
        out[block] = _matmul(part, weight)
    return out


class _Affine(torch.autograd.Function):
    """h · weight + bias, each with one number a channel."""

    @staticmethod
    def forward(
        ctx: Any, division: Division, h: Tensor, weight: Tensor | None, bias: Tensor
    ) -> Tensor:
        ctx.division, ctx.has_weight = division, weight is not None
        if weight is None:
            return h + bias
        ctx.save_for_backward(h, weight)
        return torch.addcmul(bias, h, weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        division: Division = ctx.division
        bias = division.total(sums_by_part(division, grad)).to(grad.dtype)
        if not ctx.has_weight:
            return None, grad, None, bias
        h, weight = ctx.saved_tensors
        sums = _by_part(division, lambda block: _sum(h[block] * grad[block]))
        return None, grad * weight, division.total(sums).to(grad.dtype), bias


class _BatchNorm(torch.autograd.Function):
    """Forward: x̂ = (h - mean) / √(var + ε), out = weight x̂ + bias. Backward, for n nodes, below.

    grad_h = weight / √(var + ε) · (grad - Σ grad / n - x̂ Σ grad x̂ / n)
    """

    @staticmethod
    def forward(
        ctx: Any,
        division: Division,
        h: Tensor,
        running_mean: Tensor,
        running_var: Tensor,
        weight: Tensor,
        bias: Tensor,
        momentum: float,
        eps: float,
    ) -> Tensor:
        sizes = [block.stop - block.start for block in division.blocks]
        counts = torch.tensor(sizes, dtype=torch.float64, device=h.device).unsqueeze(1)
        sums = division.total(torch.cat([sums_by_part(division, h), counts], 1))
        mean, number = sums[:-1] / sums[-1], sums[-1]
        centred = h - mean.to(h.dtype)
        squares = _by_part(division, lambda block: _sum(centred[block].square()))
        var = division.total(squares) / number
        unbiased = var * (number / (number - 1))
        running_mean.lerp_(mean.to(running_mean.dtype), momentum)
        running_var.lerp_(unbiased.to(running_var.dtype), momentum)
        inverse = (var + eps).rsqrt().to(h.dtype)
        normalised = centred.mul_(inverse)
        ctx.division, ctx.number = division, number
        ctx.save_for_backward(normalised, weight, inverse)
        return torch.addcmul(bias, normalised, weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        division: Division = ctx.division
        normalised, weight, inverse = ctx.saved_tensors
        pairs = _by_part(
            division,
            lambda block: torch.cat([_sum(grad[block]), _sum(grad[block] * normalised[block])]),
        )
        of_bias, of_weight = (half.to(grad.dtype) for half in division.total(pairs).chunk(2))
        number = ctx.number.to(grad.dtype)
        grad_h = grad - of_bias / number - normalised * (of_weight / number)
        grad_h.mul_(weight * inverse)
        return None, grad_h, None, None, of_weight, of_bias, None, None


class _NodeSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, division: Division, values: Tensor) -> Tensor:
        ctx.shape = values.shape
        sums = sums_by_part(division, values.movedim(-1, 0))
        return division.total(sums).to(values.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor]:
        return None, grad.unsqueeze(-1).expand(ctx.shape)
