"""Launches the Triton ops: signals, scalars and masks in, signals out; no gradients."""

from dataclasses import dataclass

import torch
import triton
from torch import Tensor

from akgnn.csr import CSR
from akgnn.hashing import Key
from akgnn.ops import triton_ops as ops
from akgnn.ops.dropout import dropped_lanes
from akgnn.ops.inputs import Normalisation
from akgnn.ops.triton_gather import block_c_of, blocks, channel_grid, row_grid, segment_sums


@dataclass(frozen=True)
class Scalars:
    """The weights of one layer, float32, each of shape (replicas, groups)."""

    a: Tensor
    w: Tensor


@dataclass(frozen=True)
class Mask:
    """Which values are dropped.

    Attributes:
        keys: One for each replica, int64.
        dropped: How many of 65536 lanes are dropped.
        kept_scale: What kept values are multiplied by.
    """

    keys: Tensor
    dropped: int
    kept_scale: float

    @classmethod
    def of(cls, key: Key, rate: float, device: torch.device) -> "Mask":
        """The mask of `dropout` with this rate and key."""
        return cls(torch.as_tensor(key, device=device).view(-1), *dropped_lanes(rate))


@dataclass(frozen=True)
class Adjacency:
    """A matrix with the degrees that its scalings come from.

    Attributes:
        matrix: Row i holds what node i sums over.
        degree: Degrees of the nodes in the forward direction, float32.
        form: Form of the kernel.
    """

    matrix: CSR
    degree: Tensor
    form: Normalisation


def enter(
    x: Tensor,
    adjacency: Adjacency | None = None,
    scalars: Scalars | None = None,
    *,
    backward: bool = False,
    mask: Mask | None = None,
    factor: float = 1.0,
) -> Tensor:
    """`factor` times a signal, after dropout, with the entry scaling of a layer if there is one."""
    replicas, num_nodes, width = x.shape
    groups = 1 if scalars is None else scalars.a.size(1)
    out = torch.empty_like(x)
    block_c = block_c_of(width // groups)
    block_r = max(1, 2048 // block_c)
    ops.enter[(triton.cdiv(num_nodes, block_r), *channel_grid(width, replicas, groups))](
        x,
        out,
        x if adjacency is None else adjacency.degree,
        x if scalars is None else scalars.a,
        x if scalars is None else scalars.w,
        *_mask_arguments(mask, x),
        factor,
        num_nodes,
        width,
        groups,
        SCALES=scalars is not None,
        SYMMETRIC=adjacency is not None and adjacency.form == "sym",
        BACKWARD=backward,
        DROPS=mask is not None,
        BLOCK_R=block_r,
        BLOCK_C=block_c,
    )
    return out


def step_forward(
    adjacency: Adjacency,
    x: Tensor,
    scalars: Scalars,
    *,
    scales_for: Scalars | None = None,
    mask: Mask | None = None,
    readout: Tensor | None = None,
    readout_scale: float = 1.0,
    starts_readout: bool = False,
) -> Tensor:
    """One layer: propagate, drop, add to the readout, scale for the next layer.

    Args:
        adjacency: Matrix and degrees of the graph.
        x: With the layer's entry scaling; shape (replicas, nodes, channels), contiguous.
        scalars: Weights of the layer.
        scales_for: The next layer, if the result is to have its entry scaling.
        mask: What is dropped from the result.
        readout: Changed in place: the result, before it is scaled for the next layer, is added.
        readout_scale: What it is multiplied by there.
        starts_readout: Whether what the readout held does not count.
    """
    _, num_nodes, width = x.shape
    groups = scalars.a.size(1)
    out = torch.empty_like(x)
    following = scales_for or scalars
    segment_ptr, sums = segment_sums(adjacency.matrix, x)
    ops.forward[row_grid(x, groups)](
        x,
        out,
        x if readout is None else readout,
        *_matrix_arguments(adjacency.matrix, x),
        segment_ptr,
        sums,
        adjacency.degree,
        scalars.a,
        scalars.w,
        following.a,
        following.w,
        *_mask_arguments(mask, x),
        readout_scale,
        num_nodes,
        sums.size(1),
        width,
        groups,
        SYMMETRIC=adjacency.form == "sym",
        SCALES_NEXT=scales_for is not None,
        HAS_SEGMENTS=sums.size(1) > 0,
        DROPS=mask is not None,
        HAS_READOUT=readout is not None,
        STARTS_READOUT=starts_readout,
        **blocks(adjacency.matrix, x, groups),
    )
    return out


def step_backward(
    transpose: Adjacency,
    grad: Tensor,
    scalars: Scalars,
    saved: tuple[Tensor, Tensor] | None = None,
    *,
    saved_out_for: Scalars | None = None,
    kept_scale: float = 1.0,
    grad_readout: Tensor | None = None,
    readout_scale: float = 1.0,
    last: Scalars | None = None,
    last_mask: Mask | None = None,
    into: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    """The backward pass through one layer, and on to the result of the layer before it.

    Args:
        transpose: Transposed matrix of the graph, with the degrees of the forward direction.
        grad: Gradient of the layer's result before its dropout, with the backward entry scaling,
            contiguous.
        scalars: Weights of the layer.
        saved: What entered the layer, with its entry scaling, and its result after dropout; if the
            scalars learn.
        saved_out_for: The layer whose entry scaling the saved result has, if any.
        kept_scale: What the layer's dropout multiplies kept values by.
        grad_readout: Gradient of the readout, to be added to that of the layer's input.
        readout_scale: What it is multiplied by.
        last: The layer before, if the result is to have its backward entry scaling.
        last_mask: What was dropped from the result of the layer before.
        into: Where the result goes; it may be the saved result.

    Returns:
        The gradient, and sums of shape (replicas, groups, 3) from which `scalar_gradients` makes
        those of the scalars.
    """
    replicas, num_nodes, width = grad.shape
    groups = scalars.a.size(1)
    result = torch.empty_like(grad) if into is None else into
    h, out = saved or (grad, grad)
    keys, dropped, _ = _mask_arguments(last_mask, grad)
    before, after = last or scalars, saved_out_for or scalars
    segment_ptr, sums = segment_sums(transpose.matrix, grad)
    grid = row_grid(grad, groups)
    shape = (replicas, groups, grid[1] * num_nodes, 3) if saved else (0,)
    dots = torch.empty(shape, dtype=torch.float32, device=grad.device)
    ops.backward[grid](
        grad,
        h,
        out,
        grad if grad_readout is None else grad_readout,
        result,
        dots,
        *_matrix_arguments(transpose.matrix, grad),
        segment_ptr,
        sums,
        transpose.degree,
        scalars.a,
        scalars.w,
        after.a,
        after.w,
        before.a,
        before.w,
        keys,
        dropped,
        kept_scale,
        readout_scale,
        num_nodes,
        sums.size(1),
        width,
        groups,
        SYMMETRIC=transpose.form == "sym",
        OUT_IS_SCALED=saved_out_for is not None,
        SCALES_LAST=last is not None,
        HAS_SEGMENTS=sums.size(1) > 0,
        DROPS=last_mask is not None,
        HAS_READOUT=grad_readout is not None,
        LEARNS=saved is not None,
        **blocks(transpose.matrix, grad, groups),
    )
    return result, dots.sum(2) if saved else None


def scalar_gradients(sums: Tensor, scalars: Scalars) -> tuple[Tensor, Tensor]:
    """The gradients of a and w, each of shape (replicas, groups)."""
    return sums[..., 0], sums[..., 1] - scalars.w.sign() * sums[..., 2]


# Where there is nothing to point at, an op gets a tensor that it does not look at.


def _mask_arguments(mask: Mask | None, other: Tensor) -> tuple[Tensor, int, float]:
    return (other, 0, 1.0) if mask is None else (mask.keys, mask.dropped, mask.kept_scale)


def _matrix_arguments(matrix: CSR, other: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    pattern, value = matrix.pattern, matrix.value
    return pattern.order, pattern.rowptr, pattern.col, other if value is None else value
