"""X W for features that are mostly zeros, such as bags of words, kept in CSR."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from akgnn.csr import CSR
from akgnn.errors import DataError
from akgnn.ops.neighbour_sum import matmul


def sparse_linear(x: CSR, weight: Tensor) -> Tensor:
    """The product of sparse features and a dense weight, differentiable in the weight.

    Args:
        x: Features, shape (nodes, in_channels).
        weight: Shape (in_channels, out_channels), or (replicas, in_channels, out_channels).
    """
    if weight.dim() not in (2, 3) or weight.size(-2) != x.shape[1]:
        raise DataError(
            f"The weight must have shape ({x.shape[1]}, out_channels) for these features, "
            f"got {list(weight.shape)}."
        )
    out: Tensor = _SparseLinear.apply(x, weight)
    return out


class _SparseLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: CSR, weight: Tensor) -> Tensor:
        ctx.x = x
        return matmul(x, weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor]:
        return None, matmul(ctx.x.transpose, grad)
