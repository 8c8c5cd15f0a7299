"""The gather of the Triton ops: for every row of a matrix, the sum of the rows that it names.

Below the ops stands how their work is shared out among programs.

**Long rows** are cut into segments that are summed first, each by its own program, so a hub costs
no more time than its share of the edges. Every sum has a fixed order: results repeat bit by bit.
"""

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from akgnn.csr import CSR

# Tuned on an H200: how many numbers of 2 and of 4 bytes one warp gathers at once, from how many
# entries of a row, and from how many of a segment.
NUMBERS_AT_ONCE = {2: 2048, 4: 512}
ENTRIES_AT_ONCE = 4
SEGMENT_BYTES_AT_ONCE = 2048


class Rows(NamedTuple):
    """The rows of a matrix, and what is known of their sums, as programs are given them.

    Attributes:
        order: In which order programs take the rows.
        rowptr: Where the entries of each row begin.
        col: The column of each entry.
        value: The entries; None where all are 1.
        segment_ptr: Where the segments of each row begin; None where no row is long.
        segment_sums: Sums of long rows at their first segment, (replicas, segments, channels).
        num_segments: How many segments there are.
    """

    order: Tensor
    rowptr: Tensor
    col: Tensor
    value: Tensor | None
    segment_ptr: Tensor | None = None
    segment_sums: Tensor | None = None
    num_segments: int = 0


@triton.jit
def _gathered(x, col, value, start, stop, width, channel, is_channel, BLOCK_E: tl.constexpr):
    """For several ranges of entries at once, the sums of the rows of `x` that they name."""
    total = tl.zeros([start.shape[0], BLOCK_E, channel.shape[0]], tl.float32)
    for first in range(0, tl.max(stop - start, 0), BLOCK_E):
        entry = start[:, None] + first + tl.arange(0, BLOCK_E)[None, :]
        is_entry = entry < stop[:, None]
        source = tl.load(col + entry, mask=is_entry, other=0).to(tl.int64)
        part = tl.load(
            x + source[:, :, None] * width + channel[None, None, :],
            mask=is_entry[:, :, None] & is_channel[None, None, :],
            other=0.0,
        ).to(tl.float32)
        if value is not None:
            part *= tl.load(value + entry, mask=is_entry, other=0.0).to(tl.float32)[:, :, None]
        total += part
    return tl.sum(total, 1)


@triton.jit
def block_of_channels(width, groups, BLOCK_C: tl.constexpr):
    """The block of scalars, the replica and the channels of a program."""
    block = tl.program_id(2).to(tl.int64)
    group_width = width // groups
    within = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    return block, block // groups, (block % groups) * group_width + within, within < group_width


@triton.jit
def rows_of(order, num_nodes, BLOCK_R: tl.constexpr):
    """The rows of a program, and which of them exist."""
    number = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    is_row = number < num_nodes
    return tl.load(order + number, mask=is_row, other=0).to(tl.int64), is_row


@triton.jit
def sum_segments(
    x,
    out,
    col,
    value,
    segment_start,
    segment_stop,
    num_nodes,
    width,
    num_segments,
    BLOCK_R: tl.constexpr,
    BLOCK_E: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """The sums of the segments of long rows, shape (replicas, segments, channels)."""
    _, replica, channel, is_channel = block_of_channels(width, 1, BLOCK_C)
    segment = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    is_segment = segment < num_segments
    total = _gathered(
        x + replica * num_nodes * width,
        col,
        value,
        tl.load(segment_start + segment, mask=is_segment, other=0),
        tl.load(segment_stop + segment, mask=is_segment, other=0),
        width,
        channel,
        is_channel,
        BLOCK_E,
    )
    index = (replica * num_segments + segment)[:, None] * width + channel[None, :]
    tl.store(out + index, total, mask=is_segment[:, None] & is_channel[None, :])


@triton.jit
def sum_long_rows(
    sums, long_rows, segment_ptr, num_segments, width, BLOCK_S: tl.constexpr, BLOCK_C: tl.constexpr
):
    """Add up the segments of each long row, in the slot of its first."""
    _, replica, channel, is_channel = block_of_channels(width, 1, BLOCK_C)
    row = tl.load(long_rows + tl.program_id(0)).to(tl.int64)
    first = tl.load(segment_ptr + row).to(tl.int64)
    stop = tl.load(segment_ptr + row + 1).to(tl.int64)
    index = sums + replica * num_segments * width + channel
    total = tl.zeros([BLOCK_S, BLOCK_C], tl.float32)
    for start in range(first, stop, BLOCK_S):
        segment = start + tl.arange(0, BLOCK_S)
        is_sum = (segment < stop)[:, None] & is_channel[None, :]
        total += tl.load(index[None, :] + segment[:, None] * width, mask=is_sum, other=0.0)
    tl.store(index + first * width, tl.sum(total, 0), mask=is_channel)


@triton.jit
def row_sums(
    x, rows, replica, row, is_row, num_nodes, width, channel, is_channel, BLOCK_E: tl.constexpr
):
    """The sums over some rows; those of long rows are there already."""
    start = tl.load(rows.rowptr + row, mask=is_row, other=0)
    stop = tl.load(rows.rowptr + row + 1, mask=is_row, other=0)
    if rows.segment_ptr is not None:
        first = tl.load(rows.segment_ptr + row, mask=is_row, other=0).to(tl.int64)
        is_long = tl.load(rows.segment_ptr + row + 1, mask=is_row, other=0) > first
        stop = tl.where(is_long, start, stop)
    x += replica * num_nodes * width
    total = _gathered(x, rows.col, rows.value, start, stop, width, channel, is_channel, BLOCK_E)
    if rows.segment_ptr is not None:
        long_sums = rows.segment_sums + replica * rows.num_segments * width
        index = long_sums + first[:, None] * width + channel[None, :]
        total += tl.load(index, mask=is_long[:, None] & is_channel[None, :], other=0.0)
    return total


@triton.jit
def sum_rows(
    x,
    out,
    rows,
    num_rows,
    width,
    BLOCK_R: tl.constexpr,
    BLOCK_E: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """The sum over every row, and nothing else."""
    _, replica, channel, is_channel = block_of_channels(width, 1, BLOCK_C)
    row, is_row = rows_of(rows.order, num_rows, BLOCK_R)
    total = row_sums(x, rows, replica, row, is_row, 0, width, channel, is_channel, BLOCK_E)
    is_value = is_row[:, None] & is_channel[None, :]
    tl.store(out + row[:, None] * width + channel[None, :], total, mask=is_value)


def row_product(matrix: CSR, h: Tensor) -> Tensor:
    """The product of a sparse matrix and `h`, shape (columns, channels), in the precision of `h`.

    What a row comes to depends on the row alone, and not on which others the matrix has: so a few
    rows of a matrix have the bits that they have among all. No gradient.
    """
    x = h.contiguous().unsqueeze(0)
    num_rows, width = matrix.shape[0], h.size(1)
    out = h.new_empty(num_rows, width)
    if out.numel() == 0:
        return out
    settings = blocks(x, 1)
    grid = (triton.cdiv(num_rows, settings["BLOCK_R"]), *channel_grid(width, 1, 1))
    sum_rows[grid](x, out, summed_rows(matrix, x), num_rows, width, **settings)
    return out


def summed_rows(matrix: CSR, x: Tensor) -> Rows:
    """The rows of a matrix, with the sums of the rows of `x` that long ones name."""
    replicas, num_nodes, width = x.shape
    pattern = matrix.pattern
    rows = Rows(pattern.order, pattern.rowptr, pattern.col, matrix.value)
    segments = pattern.segments
    if segments is None:
        return rows
    number = segments.start.numel()
    sums = torch.empty((replicas, number, width), dtype=torch.float32, device=x.device)
    block_c = block_c_of(width)
    channels = channel_grid(width, replicas, 1)
    sum_segments[(number, *channels)](
        x,
        sums,
        rows.col,
        rows.value,
        segments.start,
        segments.stop,
        num_nodes,
        width,
        number,
        BLOCK_R=1,
        BLOCK_E=SEGMENT_BYTES_AT_ONCE // (block_c * x.element_size()),
        BLOCK_C=block_c,
        num_warps=1,
    )
    sum_long_rows[(segments.rows.numel(), *channels)](
        sums, segments.rows, segments.ptr, number, width, BLOCK_S=16, BLOCK_C=block_c
    )
    return rows._replace(segment_ptr=segments.ptr, segment_sums=sums, num_segments=number)


def blocks(x: Tensor, groups: int) -> dict[str, Any]:
    """The sizes that a program is compiled for."""
    group_width = x.size(2) // groups
    block_r, block_e = _block_rows(x, group_width)
    return {
        "BLOCK_R": block_r,
        "BLOCK_E": block_e,
        "BLOCK_C": block_c_of(group_width),
        "num_warps": 1,
    }


def row_grid(x: Tensor, groups: int) -> tuple[int, int, int]:
    """How many programs there are over rows, channels and scalars."""
    replicas, num_nodes, width = x.shape
    block_r, _ = _block_rows(x, width // groups)
    return triton.cdiv(num_nodes, block_r), *channel_grid(width, replicas, groups)


def channel_grid(width: int, replicas: int, groups: int) -> tuple[int, int]:
    """How many programs there are over the channels of a group, and over scalars."""
    group_width = width // groups
    return triton.cdiv(group_width, block_c_of(group_width)), replicas * groups


def block_c_of(group_width: int) -> int:
    """How many channels a program takes."""
    return min(128, int(triton.next_power_of_2(group_width)))


def _block_rows(x: Tensor, group_width: int) -> tuple[int, int]:
    """How many rows a program takes at once, and how many entries of each."""
    numbers = NUMBERS_AT_ONCE[x.element_size()] // block_c_of(group_width)
    entries = min(ENTRIES_AT_ONCE, numbers)
    return min(16, numbers // entries), entries
