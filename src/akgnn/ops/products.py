"""Products with sparse matrices, on which everything rests.

`matmul` picks the fastest product that PyTorch offers on each device:

- CPU, float32 and lower: `embedding_bag`, which adds up the rows that a CSR row names. It was
  2 to 10 times as fast as the sparse products (see docs/performance.md), with and without weights.
- CPU, float64: PyTorch's CSR product; `embedding_bag` has no fast path there.
- GPU: PyTorch's CSR product; of a graph in parts `triton_gather.row_product`, in which a row does
  not depend on the others.
"""

import warnings
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from akgnn.csr import CSR
from akgnn.errors import DataError
from akgnn.graph import Graph
from akgnn.ops.divided import transposed_product
from akgnn.ops.inputs import check_signal, is_fused
from akgnn.ops.rows import current_division

_EMBEDDING_BAG_DTYPES = (torch.float32, torch.bfloat16, torch.float16)
# Products held at a time where entries get a gradient.
_NUMBERS_AT_ONCE = 2**24


def neighbour_sum(graph: Graph, h: Tensor) -> Tensor:
    """Sum over in-neighbours: `A @ h`, differentiable in `h`.

    Args:
        graph: The graph whose adjacency A is.
        h: Node signals, shape (nodes, channels), or (replicas, nodes, channels).

    Raises:
        GraphError: The signals do not fit the graph.
    """
    if torch.compiler.is_exporting():
        return neighbour_sum_reference(graph, h)
    check_signal(graph, h)
    out: Tensor = _NeighbourSum.apply(graph, h)
    return out


def neighbour_sum_reference(graph: Graph, h: Tensor) -> Tensor:
    """The specification of `neighbour_sum`: edge by edge, left to autograd and to exporters."""
    source, target = graph.edge_index
    messages = h[source]
    if graph.edge_weight is not None:
        messages = graph.edge_weight.to(h.dtype).unsqueeze(1) * messages
    # Not index_add: ONNX Runtime adds its entries from several threads at once, and loses some.
    return torch.zeros_like(h).scatter_add(0, target.unsqueeze(1).expand_as(messages), messages)


class _NeighbourSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, graph: Graph, h: Tensor) -> Tensor:
        ctx.graph = graph
        return neighbour_product(graph, h)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor]:
        return None, neighbour_product(ctx.graph.transpose, grad)


def neighbour_product(
    graph: Graph, h: Tensor, left: Tensor | None = None, right: Tensor | None = None
) -> Tensor:
    """The product diag(left) · A · diag(right) · h; no gradient.

    Args:
        graph: The graph whose adjacency A is; what other processes have of `h` is fetched.
        h: Node signals, shape (nodes, channels), or (replicas, nodes, channels).
        left: A column that scales the result, or one for each channel.
        right: Likewise for the signal.
    """
    out: Tensor | None = None
    for channels, columns in graph.gathered(h, right):
        for rows, matrix in graph.row_blocks():
            product = matmul(matrix, columns, by_row=not graph.is_whole)
            if product.shape == h.shape:
                return product if left is None else product.mul_(left)
            # Block by block: what is made for a while is a block, and not another signal.
            out = torch.empty_like(h, memory_format=torch.contiguous_format) if out is None else out
            target = out[rows, channels]
            if left is None:
                target.copy_(product)
            else:
                torch.mul(product, left[rows, channels if left.size(1) > 1 else ...], out=target)
    assert out is not None, "a graph has rows, and a signal channels"
    return out


def sparse_linear(x: CSR, weight: Tensor) -> Tensor:
    """The product of sparse features and a dense weight, differentiable in both.

    Args:
        x: Features, shape (nodes, in_channels). Their entries get a gradient if they ask for one;
            what is not stored stays 0.
        weight: Shape (in_channels, out_channels), or (replicas, in_channels, out_channels).

    Raises:
        DataError: The weight does not fit the features.
    """
    if weight.dim() not in (2, 3) or weight.size(-2) != x.shape[1]:
        raise DataError(
            f"The weight must have shape ({x.shape[1]}, out_channels) for these features, "
            f"got {list(weight.shape)}; a model is built with in_channels=data.num_features."
        )
    out: Tensor = _SparseLinear.apply(x, x.value, weight)
    return out


class _SparseLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: CSR, value: Tensor | None, weight: Tensor) -> Tensor:
        ctx.x, ctx.division = x, current_division()
        if ctx.needs_input_grad[1]:
            ctx.save_for_backward(weight)
        return matmul(x, weight, by_row=ctx.division is not None)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        x: CSR = ctx.x
        _, needs_value, needs_weight = ctx.needs_input_grad
        grad_weight = transposed_product(ctx.division, x, grad) if needs_weight else None
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


def matmul(matrix: CSR, h: Tensor, *, by_row: bool = False) -> Tensor:
    """The product of a sparse matrix and a dense `h`, shape (columns, channels); no gradient.

    With several replicas, `h` has the shape (replicas, columns, channels), and the matrix may have
    entries of its own for each of them. `by_row` asks for rows whose bits do not depend on which
    others there are: on a CPU that is so anyway.
    """
    rowptr, col, value = matrix.pattern.rowptr, matrix.pattern.col, matrix.value
    if h.dim() == 2:
        if by_row and is_fused(h):
            from akgnn.ops.triton_gather import row_product

            return row_product(matrix, h)
        return _product(rowptr, col, value, matrix.shape, h)
    # Replicas lie one below the other, so all of them are one product.
    number, (rows, columns) = h.size(0), matrix.shape
    rowptr, col = matrix.pattern.side_by_side(number)
    if value is not None:
        value = value.expand(number, -1).reshape(-1)
    shape = (number * rows, number * columns)
    return _product(rowptr, col, value, shape, h.reshape(-1, h.size(2))).view(number, rows, -1)


def _product(
    rowptr: Tensor, col: Tensor, value: Tensor | None, shape: tuple[int, int], h: Tensor
) -> Tensor:
    # Both arrays in one type: they differ only where there are more than 2^31 entries.
    if rowptr.dtype != col.dtype:
        rowptr, col = rowptr.long(), col.long()
    if h.device.type == "cpu" and h.dtype in _EMBEDDING_BAG_DTYPES:
        return F.embedding_bag(
            col,
            h.contiguous(),
            rowptr,
            mode="sum",
            include_last_offset=True,
            per_sample_weights=None if value is None else value.to(h.dtype),
        )
    _silence_beta_warning()
    # The arrays were checked when the matrix was built; checking again would cost a pass.
    csr = torch.sparse_csr_tensor(
        rowptr,
        col,
        h.new_ones(len(col)) if value is None else value.to(h.dtype),
        size=shape,
        check_invariants=False,
    )
    return csr @ h


@cache
def _silence_beta_warning() -> None:
    """Let PyTorch say once, unheard, that CSR is in beta; it never repeats itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        empty = torch.zeros(2, dtype=torch.int32)
        torch.sparse_csr_tensor(empty, empty[:0], torch.zeros(0), size=(1, 1))
