"""Adaptive propagation on a GPU, in one pass over the edges each way.

One program sums one row: it gathers the neighbours' signals, scales them, adds the node's own,
drops values, adds to the running readout and scales for the next layer, so a layer reads every
gathered number once and writes one number a value. The backward pass is the same gather over the
transpose; the dot products that the scalars' gradients need are taken on the way.

Signals have shape (replicas, nodes, channels). Scalars a and w have shape (replicas, groups); each
group of channels is a block of its own. Scalings are computed from the degrees where they are
needed, masks from the counter of `akgnn.ops.dropout`; neither is stored.

**Scaled signals.** With many nodes a gathered scaling costs a memory access of its own, a quarter
of the traffic. So a layer may write its result already multiplied by what the next layer's gather
multiplies it by, its *entry scaling*: c^-1/2 in the symmetric form, 1 in the row form and, on the
way back, 1 / c in the row form. It is 1 for nodes that keep their signal as it is.

**Long rows** are cut into segments that are summed first, each by its own program, so a hub costs
no more time than its share of the edges. Every sum has a fixed order: results repeat bit by bit.
"""

import triton
import triton.language as tl

# splitmix64, as in akgnn.ops.dropout.
_INCREMENT = tl.constexpr(0x9E3779B97F4A7C15)
_FIRST = tl.constexpr(0xBF58476D1CE4E5B9)
_SECOND = tl.constexpr(0x94D049BB133111EB)


@triton.jit
def _finalised(word):
    word = (word ^ (word >> 30)) * _FIRST
    word = (word ^ (word >> 27)) * _SECOND
    return word ^ (word >> 31)


@triton.jit
def _factors(key, node, channel, channels, dropped, kept_scale):
    """0 where a value is dropped and `kept_scale` elsewhere, for one node."""
    counter = node * ((channels + 3) // 4) + channel // 4
    position = _finalised(counter.to(tl.uint64) * _INCREMENT)
    bits = key.to(tl.uint64, bitcast=True)
    word = (position ^ bits) * (_finalised(bits + _INCREMENT) | 1)
    word = word ^ (word >> 32)
    lane = (word >> ((channel % 4) * 16).to(tl.uint64)) & 0xFFFF
    return tl.where((lane ^ 0x8000).to(tl.int32) >= dropped, kept_scale, 0.0)


@triton.jit
def _inverse(degree, a, w):
    """1 / c, and whether a node takes part at all; see `akgnn.ops.adaptive`."""
    c = a + tl.abs(w) * degree
    takes_part = ((c <= 0) | (degree == 0)) == 0
    return 1 / tl.where(takes_part, c, 1.0), takes_part


@triton.jit
def _entry(inverse, SYMMETRIC: tl.constexpr, BACKWARD: tl.constexpr):
    """The entry scaling."""
    if SYMMETRIC:
        return tl.sqrt(inverse)
    if BACKWARD:
        return inverse
    return inverse * 0 + 1


@triton.jit
def _gathered(
    x,
    col,
    value,
    start,
    stop,
    width,
    channel,
    is_channel,
    HAS_VALUE: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_E: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """For several ranges of entries at once, the sums of the rows of `x` that they name."""
    total = tl.zeros([BLOCK_R, BLOCK_E, BLOCK_C], tl.float32)
    for first in range(0, tl.max(stop - start, 0), BLOCK_E):
        entry = start[:, None] + first + tl.arange(0, BLOCK_E)[None, :]
        is_entry = entry < stop[:, None]
        source = tl.load(col + entry, mask=is_entry, other=0).to(tl.int64)
        part = tl.load(
            x + source[:, :, None] * width + channel[None, None, :],
            mask=is_entry[:, :, None] & is_channel[None, None, :],
            other=0.0,
        ).to(tl.float32)
        if HAS_VALUE:
            part *= tl.load(value + entry, mask=is_entry, other=0.0).to(tl.float32)[:, :, None]
        total += part
    return tl.sum(total, 1)


@triton.jit
def _block_of_channels(width, groups, BLOCK_C: tl.constexpr):
    """The block of scalars, the replica and the channels of a program."""
    block = tl.program_id(2).to(tl.int64)
    group_width = width // groups
    within = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    return block, block // groups, (block % groups) * group_width + within, within < group_width


@triton.jit
def _rows(order, num_nodes, BLOCK_R: tl.constexpr):
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
    HAS_VALUE: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_E: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """The sums of the segments of long rows, shape (replicas, segments, channels)."""
    _, replica, channel, is_channel = _block_of_channels(width, 1, BLOCK_C)
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
        HAS_VALUE,
        BLOCK_R,
        BLOCK_E,
        BLOCK_C,
    )
    place = (replica * num_segments + segment)[:, None] * width + channel[None, :]
    tl.store(out + place, total, mask=is_segment[:, None] & is_channel[None, :])


@triton.jit
def sum_long_rows(
    sums,
    long_rows,
    segment_ptr,
    num_segments,
    width,
    BLOCK_S: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """Add up the segments of each long row, in the place of its first."""
    _, replica, channel, is_channel = _block_of_channels(width, 1, BLOCK_C)
    row = tl.load(long_rows + tl.program_id(0)).to(tl.int64)
    first = tl.load(segment_ptr + row).to(tl.int64)
    stop = tl.load(segment_ptr + row + 1).to(tl.int64)
    place = sums + replica * num_segments * width + channel
    total = tl.zeros([BLOCK_S, BLOCK_C], tl.float32)
    for start in range(first, stop, BLOCK_S):
        segment = start + tl.arange(0, BLOCK_S)
        is_sum = (segment < stop)[:, None] & is_channel[None, :]
        total += tl.load(place[None, :] + segment[:, None] * width, mask=is_sum, other=0.0)
    tl.store(place + first * width, tl.sum(total, 0), mask=is_channel)


@triton.jit
def _row_sums(
    x,
    rowptr,
    col,
    value,
    row,
    is_row,
    width,
    channel,
    is_channel,
    segment_ptr,
    long_sums,
    HAS_VALUE: tl.constexpr,
    HAS_SEGMENTS: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_E: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """The sums over some rows; those of long rows are there already."""
    start = tl.load(rowptr + row, mask=is_row, other=0)
    stop = tl.load(rowptr + row + 1, mask=is_row, other=0)
    if HAS_SEGMENTS:
        first = tl.load(segment_ptr + row, mask=is_row, other=0).to(tl.int64)
        is_long = tl.load(segment_ptr + row + 1, mask=is_row, other=0) > first
        stop = tl.where(is_long, start, stop)
    total = _gathered(
        x,
        col,
        value,
        start,
        stop,
        width,
        channel,
        is_channel,
        HAS_VALUE,
        BLOCK_R,
        BLOCK_E,
        BLOCK_C,
    )
    if HAS_SEGMENTS:
        place = long_sums + first[:, None] * width + channel[None, :]
        total += tl.load(place, mask=is_long[:, None] & is_channel[None, :], other=0.0)
    return total


@triton.jit
def forward(
    x,
    out,
    readout,
    order,
    rowptr,
    col,
    value,
    segment_ptr,
    segment_sums,
    degree,
    a_at,
    w_at,
    next_a_at,
    next_w_at,
    key_at,
    dropped,
    kept_scale,
    readout_scale,
    num_nodes,
    num_segments,
    width,
    groups,
    SYMMETRIC: tl.constexpr,
    SCALES_NEXT: tl.constexpr,
    HAS_VALUE: tl.constexpr,
    HAS_SEGMENTS: tl.constexpr,
    DROPS: tl.constexpr,
    HAS_READOUT: tl.constexpr,
    STARTS_READOUT: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_E: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """One layer: gather, scale, add the own signal, drop, read out, scale for the next layer."""
    block, replica, channel, is_channel = _block_of_channels(width, groups, BLOCK_C)
    row, is_row = _rows(order, num_nodes, BLOCK_R)
    total = _row_sums(
        x + replica * num_nodes * width,
        rowptr,
        col,
        value,
        row,
        is_row,
        width,
        channel,
        is_channel,
        segment_ptr,
        segment_sums + replica * num_segments * width,
        HAS_VALUE,
        HAS_SEGMENTS,
        BLOCK_R,
        BLOCK_E,
        BLOCK_C,
    )
    a = tl.load(a_at + block)
    w = tl.load(w_at + block)
    d = tl.load(degree + row, mask=is_row, other=1.0)
    inverse, takes_part = _inverse(d, a, w)
    entry = _entry(inverse, SYMMETRIC, False)
    left = tl.where(takes_part, w * (entry if SYMMETRIC else inverse), 0.0)
    own = tl.where(takes_part, a * inverse, 1.0) / entry
    place = (replica * num_nodes + row)[:, None] * width + channel[None, :]
    is_value = is_row[:, None] & is_channel[None, :]
    h = tl.load(x + place, mask=is_value, other=0.0).to(tl.float32)
    result = own[:, None] * h + left[:, None] * total
    if DROPS:
        key = tl.load(key_at + replica)
        result *= _factors(key, row[:, None], channel[None, :], width, dropped, kept_scale)
    if HAS_READOUT:
        read = readout_scale * result
        if not STARTS_READOUT:
            read += tl.load(readout + place, mask=is_value, other=0.0).to(tl.float32)
        tl.store(readout + place, read, mask=is_value)
    if SCALES_NEXT:
        next_inverse, _ = _inverse(d, tl.load(next_a_at + block), tl.load(next_w_at + block))
        result *= _entry(next_inverse, SYMMETRIC, False)[:, None]
    tl.store(out + place, result, mask=is_value)


@triton.jit
def backward(
    grad,
    h_at,
    out_at,
    grad_readout,
    result_at,
    dots,
    order,
    rowptr,
    col,
    value,
    segment_ptr,
    segment_sums,
    degree,
    a_at,
    w_at,
    next_a_at,
    next_w_at,
    last_a_at,
    last_w_at,
    key_at,
    dropped,
    kept_scale,
    readout_scale,
    num_nodes,
    num_segments,
    width,
    groups,
    SYMMETRIC: tl.constexpr,
    OUT_IS_SCALED: tl.constexpr,
    SCALES_LAST: tl.constexpr,
    HAS_VALUE: tl.constexpr,
    HAS_SEGMENTS: tl.constexpr,
    DROPS: tl.constexpr,
    HAS_READOUT: tl.constexpr,
    LEARNS: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_E: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """The way back: gather, scale, take dot products, add the readout's gradient, drop, scale."""
    block, replica, channel, is_channel = _block_of_channels(width, groups, BLOCK_C)
    row, is_row = _rows(order, num_nodes, BLOCK_R)
    total = _row_sums(
        grad + replica * num_nodes * width,
        rowptr,
        col,
        value,
        row,
        is_row,
        width,
        channel,
        is_channel,
        segment_ptr,
        segment_sums + replica * num_segments * width,
        HAS_VALUE,
        HAS_SEGMENTS,
        BLOCK_R,
        BLOCK_E,
        BLOCK_C,
    )
    a = tl.load(a_at + block)
    w = tl.load(w_at + block)
    d = tl.load(degree + row, mask=is_row, other=1.0)
    inverse, takes_part = _inverse(d, a, w)
    own = tl.where(takes_part, a * inverse, 1.0)
    place = (replica * num_nodes + row)[:, None] * width + channel[None, :]
    is_value = is_row[:, None] & is_channel[None, :]
    g = tl.load(grad + place, mask=is_value, other=0.0).to(tl.float32)
    g = g / _entry(inverse, SYMMETRIC, True)[:, None]
    if SYMMETRIC:
        total *= tl.where(takes_part, tl.sqrt(inverse), 0.0)[:, None]
    result = own[:, None] * g + w * total
    if LEARNS:
        h = tl.load(h_at + place, mask=is_value, other=0.0).to(tl.float32)
        h = h / _entry(inverse, SYMMETRIC, False)[:, None]
        out = tl.load(out_at + place, mask=is_value, other=0.0).to(tl.float32)
        # What was dropped is 0 in both; what was kept was scaled in both, once too often.
        through_c = tl.sum(out * g, 1) / kept_scale
        if OUT_IS_SCALED:
            next_inverse, _ = _inverse(d, tl.load(next_a_at + block), tl.load(next_w_at + block))
            through_c = through_c / _entry(next_inverse, SYMMETRIC, False)
        if SYMMETRIC:
            through_c = (through_c + tl.sum(h * result, 1)) / 2
        through_c = tl.where(takes_part, through_c * inverse, 0.0)
        for_a = tl.where(takes_part, tl.sum(h * g, 1) * inverse, 0.0) - through_c
        for_w = tl.where((a <= 0) & (w == 0), 0.0, tl.sum(h * total, 1))
        number = (block * tl.num_programs(1) + tl.program_id(1)) * num_nodes + row
        tl.store(dots + number * 3, for_a, mask=is_row)
        tl.store(dots + number * 3 + 1, for_w, mask=is_row)
        tl.store(dots + number * 3 + 2, d * through_c, mask=is_row)
    if HAS_READOUT:
        more = tl.load(grad_readout + place, mask=is_value, other=0.0).to(tl.float32)
        result += readout_scale * more
    if DROPS:
        key = tl.load(key_at + replica)
        result *= _factors(key, row[:, None], channel[None, :], width, dropped, kept_scale)
    if SCALES_LAST:
        last_inverse, _ = _inverse(d, tl.load(last_a_at + block), tl.load(last_w_at + block))
        result *= _entry(last_inverse, SYMMETRIC, True)[:, None]
    tl.store(result_at + place, result, mask=is_value)


@triton.jit
def enter(
    x,
    out,
    degree,
    a_at,
    w_at,
    key_at,
    dropped,
    kept_scale,
    factor,
    num_nodes,
    width,
    groups,
    SYMMETRIC: tl.constexpr,
    BACKWARD: tl.constexpr,
    DROPS: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """Drop values of a signal and give it the entry scaling."""
    row = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    block = tl.program_id(2).to(tl.int64)
    group_width = width // groups
    within = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    is_row = row < num_nodes
    is_value = is_row[:, None] & (within < group_width)[None, :]
    channel = (block % groups) * group_width + within
    replica = block // groups
    d = tl.load(degree + row, mask=is_row, other=1.0)
    inverse, _ = _inverse(d, tl.load(a_at + block), tl.load(w_at + block))
    place = (replica * num_nodes + row)[:, None] * width + channel[None, :]
    result = tl.load(x + place, mask=is_value, other=0.0).to(tl.float32) * factor
    if DROPS:
        key = tl.load(key_at + replica)
        result *= _factors(key, row[:, None], channel[None, :], width, dropped, kept_scale)
    result *= _entry(inverse, SYMMETRIC, BACKWARD)[:, None]
    tl.store(out + place, result, mask=is_value)


@triton.jit
def drop(
    x,
    out,
    key_at,
    dropped,
    kept_scale,
    num_nodes,
    width,
    BLOCK_R: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """Drop values of a signal."""
    _, replica, channel, is_channel = _block_of_channels(width, 1, BLOCK_C)
    row = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    is_value = (row < num_nodes)[:, None] & is_channel[None, :]
    place = (replica * num_nodes + row)[:, None] * width + channel[None, :]
    h = tl.load(x + place, mask=is_value, other=0.0).to(tl.float32)
    key = tl.load(key_at + replica)
    h *= _factors(key, row[:, None], channel[None, :], width, dropped, kept_scale)
    tl.store(out + place, h, mask=is_value)
