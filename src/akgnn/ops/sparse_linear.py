"""X W for features that are mostly zeros, such as bags of words, kept in CSR."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from akgnn.csr import CSR
from akgnn.errors import DataError
from akgnn.ops.neighbour_sum import matmul

# Products held at a time where entries get a gradient.
_NUMBERS_AT_ONCE = 2**24


def sparse_linear(x: CSR, weight: Tensor) -> Tensor:
    """The product of sparse features and a dense weight, differentiable in both.

    Args:
        x: Features, shape (nodes, in_channels). Their entries get a gradient if they ask for one;
            what is not stored stays 0.
        weight: Shape (in_channels, out_channels), or (replicas, in_channels, out_channels).
    """
    if weight.dim() not in (2, 3) or weight.size(-2) != x.shape[1]:
        raise DataError(
            f"The weight must have shape ({x.shape[1]}, out_channels) for these features, "
            f"got {list(weight.shape)}."
        )
    out: Tensor = _SparseLinear.apply(x, x.value, weight)
    return out


class _SparseLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: CSR, value: Tensor | None, weight: Tensor) -> Tensor:
        ctx.x = x
        if ctx.needs_input_grad[1]:
            ctx.save_for_backward(weight)
        return matmul(x, weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        x: CSR = ctx.x
        _, needs_value, needs_weight = ctx.needs_input_grad
        grad_weight = matmul(x.transpose, grad) if needs_weight else None
        return None, _grad_value(x, grad, *ctx.saved_tensors) if needs_value else None, grad_weight


def _grad_value(x: CSR, grad: Tensor, weight: Tensor) -> Tensor:
    """The gradient of each entry: its row of `grad` times its column's row of `weight`."""
    size = max(1, _NUMBERS_AT_ONCE // max(1, grad.size(-1)))
    parts = zip(x.pattern.row.split(size), x.pattern.col.split(size), strict=True)
    products = [
        (grad.index_select(-2, row) * weight.index_select(-2, col)).sum(-1) for row, col in parts
    ]
    entries = torch.cat(products, dim=-1)
    return entries if x.value is None or entries.dim() == x.value.dim() else entries.sum(0)
