"""Launches the Triton ops: signals, scalars and masks in, signals out; no gradients."""

from dataclasses import dataclass
from typing import Any

import torch
import triton
from torch import Tensor

from akgnn.csr import CSR
from akgnn.ops import triton_gather as gather
from akgnn.ops import triton_ops as ops
from akgnn.ops.composed import Normalisation


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


@dataclass(frozen=True)
class Adjacency:
    """A matrix with the degrees that its scalings come from.

    Attributes:
        matrix: Row i holds what node i sums over.
        degree: Of the nodes in the forward direction, float32.
        form: Of the kernel.
    """

    matrix: CSR
    degree: Tensor
    form: Normalisation


def enter(
    adjacency: Adjacency,
    x: Tensor,
    scalars: Scalars,
    *,
    backward: bool = False,
    mask: Mask | None = None,
    factor: float = 1.0,
) -> Tensor:
    """`factor` times a signal, after dropout, with the entry scaling of a layer."""
    replicas, num_nodes, width = x.shape
    groups = scalars.a.size(1)
    out = torch.empty_like(x)
    block_c = _block_c(width // groups)
    block_r = max(1, 2048 // block_c)
    keys, dropped, kept_scale = _mask_arguments(mask, scalars)
    grid = (triton.cdiv(num_nodes, block_r), *_channel_grid(width, replicas, groups))
    ops.enter[grid](
        x,
        out,
        adjacency.degree,
        scalars.a,
        scalars.w,
        keys,
        dropped,
        kept_scale,
        factor,
        num_nodes,
        width,
        groups,
        SYMMETRIC=adjacency.form == "sym",
        BACKWARD=backward,
        DROPS=mask is not None,
        BLOCK_R=block_r,
        BLOCK_C=block_c,
    )
    return out


def drop(x: Tensor, mask: Mask) -> Tensor:
    """A signal after dropout."""
    replicas, num_nodes, width = x.shape
    out = torch.empty_like(x)
    block_c = _block_c(width)
    block_r = max(1, 2048 // block_c)
    ops.drop[(triton.cdiv(num_nodes, block_r), *_channel_grid(width, replicas, 1))](
        x,
        out,
        mask.keys,
        mask.dropped,
        mask.kept_scale,
        num_nodes,
        width,
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
        adjacency: Of the graph.
        x: With the layer's entry scaling; shape (replicas, nodes, channels), contiguous.
        scalars: Of the layer.
        scales_for: The next layer, if the result is to have its entry scaling.
        mask: What is dropped from the result.
        readout: Changed in place: the result, before it is scaled for the next layer, is added.
        readout_scale: What it is multiplied by there.
        starts_readout: Whether what the readout held does not count.
    """
    _, num_nodes, width = x.shape
    groups = scalars.a.size(1)
    out = torch.empty_like(x)
    keys, dropped, kept_scale = _mask_arguments(mask, scalars)
    following = scales_for or scalars
    segment_ptr, sums = _segment_sums(adjacency, x)
    ops.forward[_grid(num_nodes, x, groups)](
        x,
        out,
        x if readout is None else readout,
        adjacency.matrix.pattern.order,
        adjacency.matrix.pattern.rowptr,
        adjacency.matrix.pattern.col,
        _or(adjacency.matrix.value, x),
        segment_ptr,
        sums,
        adjacency.degree,
        scalars.a,
        scalars.w,
        following.a,
        following.w,
        keys,
        dropped,
        kept_scale,
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
        **_blocks(adjacency, x, width // groups),
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
    """The way back through one layer, and on to the result of the layer before it.

    Args:
        transpose: Of the graph; its degrees are those of the forward direction.
        grad: Of the layer's result before its dropout, with the backward entry scaling, contiguous.
        scalars: Of the layer.
        saved: What entered the layer, with its entry scaling, and its result after dropout; if the
            scalars learn.
        saved_out_for: The layer whose entry scaling the saved result has, if any.
        kept_scale: Of the layer's dropout.
        grad_readout: Of the readout, to be added to what the gradient of the layer's input is.
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
    keys, dropped, _ = _mask_arguments(last_mask, scalars)
    before, after = last or scalars, saved_out_for or scalars
    segment_ptr, sums = _segment_sums(transpose, grad)
    grid = _grid(num_nodes, grad, groups)
    shape = (replicas, groups, grid[1] * num_nodes, 3) if saved else (0,)
    dots = torch.empty(shape, dtype=torch.float32, device=grad.device)
    ops.backward[grid](
        grad,
        h,
        out,
        grad if grad_readout is None else grad_readout,
        result,
        dots,
        transpose.matrix.pattern.order,
        transpose.matrix.pattern.rowptr,
        transpose.matrix.pattern.col,
        _or(transpose.matrix.value, grad),
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
        **_blocks(transpose, grad, width // groups),
    )
    return result, dots.sum(2) if saved else None


def scalar_gradients(sums: Tensor, scalars: Scalars) -> tuple[Tensor, Tensor]:
    """The gradients of a and w, each of shape (replicas, groups)."""
    return sums[..., 0], sums[..., 1] - scalars.w.sign() * sums[..., 2]


def _segment_sums(adjacency: Adjacency, x: Tensor) -> tuple[Tensor, Tensor]:
    """Where each row's segments start, and the sums of long rows at their first; else empty."""
    replicas, num_nodes, width = x.shape
    segments = adjacency.matrix.pattern.segments
    number = 0 if segments is None else segments.start.numel()
    sums = torch.empty((replicas, number, width), dtype=torch.float32, device=x.device)
    if segments is None:
        return adjacency.matrix.pattern.rowptr, sums
    block_c = _block_c(width)
    channel_grid = _channel_grid(width, replicas, 1)
    entries = SEGMENT_BYTES_AT_ONCE // (block_c * x.element_size())
    gather.sum_segments[(number, *channel_grid)](
        x,
        sums,
        adjacency.matrix.pattern.col,
        _or(adjacency.matrix.value, x),
        segments.start,
        segments.stop,
        num_nodes,
        width,
        number,
        HAS_VALUE=adjacency.matrix.value is not None,
        BLOCK_R=1,
        BLOCK_E=entries,
        BLOCK_C=block_c,
        num_warps=1,
    )
    gather.sum_long_rows[(segments.rows.numel(), *channel_grid)](
        sums,
        segments.rows,
        segments.ptr,
        number,
        width,
        BLOCK_S=16,
        BLOCK_C=block_c,
    )
    return segments.ptr, sums


def _blocks(adjacency: Adjacency, x: Tensor, group_width: int) -> dict[str, Any]:
    block_r, block_e = _block_rows(x, group_width)
    return {
        "HAS_VALUE": adjacency.matrix.value is not None,
        "BLOCK_R": block_r,
        "BLOCK_E": block_e,
        "BLOCK_C": _block_c(group_width),
        "num_warps": 1,
    }


def _grid(rows: int, x: Tensor, groups: int) -> tuple[int, int, int]:
    replicas, _, width = x.shape
    block_r, _ = _block_rows(x, width // groups)
    return triton.cdiv(rows, block_r), *_channel_grid(width, replicas, groups)


def _block_rows(x: Tensor, group_width: int) -> tuple[int, int]:
    """How many rows a program takes at once, and how many entries of each."""
    numbers = NUMBERS_AT_ONCE[x.element_size()] // _block_c(group_width)
    entries = min(ENTRIES_AT_ONCE, numbers)
    return min(16, numbers // entries), entries


# Tuned on an H200: how many numbers of 2 and of 4 bytes one warp gathers at once, from how many
# entries of a row, and from how many of a segment.
NUMBERS_AT_ONCE = {2: 2048, 4: 512}
ENTRIES_AT_ONCE = 4
SEGMENT_BYTES_AT_ONCE = 2048


def _block_c(group_width: int) -> int:
    return min(128, int(triton.next_power_of_2(group_width)))


def _channel_grid(width: int, replicas: int, groups: int) -> tuple[int, int]:
    group_width = width // groups
    return triton.cdiv(group_width, _block_c(group_width)), replicas * groups


def _mask_arguments(mask: Mask | None, scalars: Scalars) -> tuple[Tensor, int, float]:
    return (scalars.a, 0, 1.0) if mask is None else (mask.keys, mask.dropped, mask.kept_scale)


def _or(value: Tensor | None, placeholder: Tensor) -> Tensor:
    return placeholder if value is None else value
