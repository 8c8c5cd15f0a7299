"""Adaptive propagation on a GPU, in one pass over the edges forward and one backward.

One program sums one row: it gathers the neighbours' signals, scales them, adds the node's own,
drops values, adds to the running readout and scales for the next layer, so a layer reads every
gathered number once and writes one number a value. The backward pass is the same gather over the
transpose; the dot products that the scalars' gradients need are taken on the way.

Signals have shape (replicas, nodes, channels). Scalars a and w have shape (replicas, groups); each
group of channels is a block of its own. Scalings are computed from the degrees where they are
needed, masks from the counter of `akgnn.ops.dropout`; neither is stored.

**Scaled signals.** With many nodes a gathered scaling costs a memory access of its own, a quarter
of the traffic. So a layer may write its result already multiplied by what the next layer's gather
multiplies it by, its *entry scaling*: c^-1/2 in the symmetric form, in the row form 1
forward and 1 / c backward. It is 1 for nodes that keep their signal as it is.
"""

import triton
import triton.language as tl

from akgnn.ops.triton_gather import block_of_channels, row_sums, rows_of

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
def _factors(key, node, channel, mask):
    """0 where a value is dropped and the mask's `kept_scale` elsewhere, for one node."""
    channel += mask.first
    counter = node * ((mask.channels + 3) // 4) + channel // 4
    position = _finalised(counter.to(tl.uint64) * _INCREMENT)
    bits = key.to(tl.uint64, bitcast=True)
    word = (position ^ bits) * (_finalised(bits + _INCREMENT) | 1)
    word = word ^ (word >> 32)
    lane = (word >> ((channel % 4) * 16).to(tl.uint64)) & 0xFFFF
    return tl.where((lane ^ 0x8000).to(tl.int32) >= mask.dropped, mask.kept_scale, 0.0)


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
def forward(
    x,
    out,
    readout,
    rows,
    degree,
    layer,
    following,
    mask,
    readout_scale,
    num_nodes,
    width,
    groups,
    SYMMETRIC: tl.constexpr,
    STARTS_READOUT: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_E: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """One layer: gather, scale, add the own signal, drop, read out, scale for the next layer."""
    block, replica, channel, is_channel = block_of_channels(width, groups, BLOCK_C)
    row, is_row = rows_of(rows.order, num_nodes, BLOCK_R)
    total = row_sums(x, rows, replica, row, is_row, num_nodes, width, channel, is_channel, BLOCK_E)
    a = tl.load(layer.a + block)
    w = tl.load(layer.w + block)
    d = tl.load(degree + row, mask=is_row, other=1.0)
    inverse, takes_part = _inverse(d, a, w)
    entry = _entry(inverse, SYMMETRIC, False)
    left = tl.where(takes_part, w * (entry if SYMMETRIC else inverse), 0.0)
    own = tl.where(takes_part, a * inverse, 1.0) / entry
    index = (replica * num_nodes + row)[:, None] * width + channel[None, :]
    is_value = is_row[:, None] & is_channel[None, :]
    h = tl.load(x + index, mask=is_value, other=0.0).to(tl.float32)
    result = own[:, None] * h + left[:, None] * total
    if mask is not None:
        key = tl.load(mask.keys + replica)
        result *= _factors(key, row[:, None], channel[None, :], mask)
    if readout is not None:
        read = readout_scale * result
        if not STARTS_READOUT:
            read += tl.load(readout + index, mask=is_value, other=0.0).to(tl.float32)
        tl.store(readout + index, read, mask=is_value)
    if following is not None:
        next_inverse, _ = _inverse(d, tl.load(following.a + block), tl.load(following.w + block))
        result *= _entry(next_inverse, SYMMETRIC, False)[:, None]
    tl.store(out + index, result, mask=is_value)


@triton.jit
def backward(
    grad,
    h_at,
    out_at,
    grad_readout,
    result_at,
    dots,
    rows,
    degree,
    layer,
    following,
    before,
    mask,
    kept_scale,
    readout_scale,
    num_nodes,
    width,
    groups,
    SYMMETRIC: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_E: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """Backward: gather, scale, take dot products, add the readout's gradient, drop, scale."""
    block, replica, channel, is_channel = block_of_channels(width, groups, BLOCK_C)
    row, is_row = rows_of(rows.order, num_nodes, BLOCK_R)
    total = row_sums(
        grad, rows, replica, row, is_row, num_nodes, width, channel, is_channel, BLOCK_E
    )
    a = tl.load(layer.a + block)
    w = tl.load(layer.w + block)
    d = tl.load(degree + row, mask=is_row, other=1.0)
    inverse, takes_part = _inverse(d, a, w)
    own = tl.where(takes_part, a * inverse, 1.0)
    index = (replica * num_nodes + row)[:, None] * width + channel[None, :]
    is_value = is_row[:, None] & is_channel[None, :]
    g = tl.load(grad + index, mask=is_value, other=0.0).to(tl.float32)
    g = g / _entry(inverse, SYMMETRIC, True)[:, None]
    if SYMMETRIC:
        total *= tl.where(takes_part, tl.sqrt(inverse), 0.0)[:, None]
    result = own[:, None] * g + w * total
    if dots is not None:
        h = tl.load(h_at + index, mask=is_value, other=0.0).to(tl.float32)
        h = h / _entry(inverse, SYMMETRIC, False)[:, None]
        out = tl.load(out_at + index, mask=is_value, other=0.0).to(tl.float32)
        # What was dropped is 0 in both; what was kept was scaled in both, once too often.
        through_c = tl.sum(out * g, 1) / kept_scale
        if following is not None:
            next_a, next_w = tl.load(following.a + block), tl.load(following.w + block)
            next_inverse, _ = _inverse(d, next_a, next_w)
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
    if grad_readout is not None:
        more = tl.load(grad_readout + index, mask=is_value, other=0.0).to(tl.float32)
        result += readout_scale * more
    if mask is not None:
        key = tl.load(mask.keys + replica)
        result *= _factors(key, row[:, None], channel[None, :], mask)
    if before is not None:
        last_inverse, _ = _inverse(d, tl.load(before.a + block), tl.load(before.w + block))
        result *= _entry(last_inverse, SYMMETRIC, True)[:, None]
    tl.store(result_at + index, result, mask=is_value)


@triton.jit
def enter(
    x,
    out,
    degree,
    layer,
    mask,
    factor,
    num_nodes,
    width,
    groups,
    SYMMETRIC: tl.constexpr,
    BACKWARD: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """Multiply a signal by a number, drop values and give it the entry scaling."""
    block, replica, channel, is_channel = block_of_channels(width, groups, BLOCK_C)
    row = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    is_row = row < num_nodes
    is_value = is_row[:, None] & is_channel[None, :]
    index = (replica * num_nodes + row)[:, None] * width + channel[None, :]
    result = tl.load(x + index, mask=is_value, other=0.0).to(tl.float32) * factor
    if mask is not None:
        key = tl.load(mask.keys + replica)
        result *= _factors(key, row[:, None], channel[None, :], mask)
    if layer is not None:
        d = tl.load(degree + row, mask=is_row, other=1.0)
        inverse, _ = _inverse(d, tl.load(layer.a + block), tl.load(layer.w + block))
        result *= _entry(inverse, SYMMETRIC, BACKWARD)[:, None]
    tl.store(out + index, result, mask=is_value)
