"""Dropout from a counter: a value is dropped by a hash of where it stands, never by a generator.

Whether the value at (node, channel) is dropped follows from (seed, step, name, node, channel) and
the number of channels alone; the name is a number in `DropoutKey`. So a mask is recomputed instead
of stored, a run repeats and resumes exactly, part of a graph drops what the whole graph drops, and
a run drops the same whether it trains alone or beside others.

The hash, in 64-bit arithmetic that wraps round, with S the finaliser of splitmix64:

    mix(v) = S(v + 0x9E3779B97F4A7C15)
    key    = mix(mix(mix(seed) xor step) xor name)
    T      = S((node · groups + group) · 0x9E3779B97F4A7C15)      groups = ceil(channels / 4)
    w      = (T xor key) · (mix(key) | 1)
    word   = w xor (w >> 32), the shift without sign

T depends on the position alone and is kept for the next mask; what is left costs few passes. Lane l
of a word, its bits 16 l to 16 l + 15 read as a signed number, decides over channel 4 · group + l:
the value is dropped if the lane is below round(rate · 65536) - 32768. So a rate is exact to
1 / 65536. T is even over all words, and the rest maps words to words one to one, so a mask is as
even as T; masks of other keys are set apart by the multiplier.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, Self
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils.weak import WeakTensorKeyDictionary

from akgnn.csr import CSR, Pattern
from akgnn.errors import SettingsError
from akgnn.hashing import INCREMENT, Key, finalise_, fold_, mix
from akgnn.ops.inputs import is_fused
from akgnn.ops.part_rows import PartRows
from akgnn.ops.rows import channel_window, row_ids

Window = tuple[int, int]
"""The first channel of a signal, and how many there are in all."""

_LEVELS = 2**16
# Channels that one 64-bit word decides over.
_LANES = 4
# Enough words to share among threads, few enough to stay in the CPU's cache.
_WORDS_AT_ONCE = 2**16
# The most words of T that are kept for one shape of signal, and for how many shapes: 128 MiB.
_MOST_WORDS_KEPT, _MOST_SHAPES_KEPT = 2**21, 8
# They live as long as the pattern that they belong to.
_KEPT_ENTRIES: WeakKeyDictionary[Pattern, tuple[Tensor | None, tuple[Tensor, Tensor]]] = (
    WeakKeyDictionary()
)
# By the groups of channels, as long as the ids of the rows.
_KEPT_ROWS = WeakTensorKeyDictionary()


@dataclass(frozen=True)
class Noise:
    """What tells one training step's masks from another's.

    Several runs that train side by side have one tensor of seeds and one of steps, int64.

    Attributes:
        seed: Seed of the run.
        step: Counts the steps of the run.
    """

    seed: Key
    step: Key = 0

    @classmethod
    def drawn(cls) -> Self:
        """Noise with a seed from torch's global generator, so that `torch.manual_seed` repeats it.

        For training loops that pass no noise of their own.
        """
        return cls(int(torch.randint(2**63 - 1, (), device="cpu")))

    def key(self, name: int) -> Key:
        """The 64-bit key of the masks of one dropout, by its number in `DropoutKey`.

        Several runs have one each.
        """
        return mix(self._key_of_step ^ name)

    def keys(self, names: Sequence[int]) -> list[Key]:
        """The keys of several dropouts; those of several runs are hashed all at once."""
        base = self._key_of_step
        if not isinstance(base, Tensor):
            return [self.key(name) for name in names]
        return list(mix(torch.stack([base ^ name for name in names])))

    @cached_property
    def _key_of_step(self) -> Key:
        return mix(mix(self.seed) ^ self.step)


def dropout(h: Tensor, rate: float, key: Key, node_ids: Tensor | None = None) -> Tensor:
    """Set values to 0 with probability `rate` and scale the others up to keep the mean.

    Args:
        h: Shape (nodes, channels), or (replicas, nodes, channels).
        rate: Probability of dropping, at least 0 and below 1.
        key: From `Noise.key`; one for each replica.
        node_ids: The number of each row's node in the whole graph; if not given, 0, 1, …, or what
            `akgnn.ops.rows` says.

    Raises:
        SettingsError: The rate, the shape or the number of keys is wrong.
    """
    check_dropout(h, rate, key)
    if rate == 0 or h.numel() == 0:
        return h
    masking = Masking.here(rate, key, node_ids)
    if isinstance(h, PartRows):
        return h.then(partial(masking.of_part, of=h.size(0)))
    out: Tensor = _Dropout.apply(h, masking)
    return out


def check_dropout(h: Tensor, rate: float, key: Key) -> None:
    """Refuse what `dropout` cannot drop."""
    check_rate("rate", rate)
    if h.dim() not in (2, 3):
        raise SettingsError(
            f"Dropout takes (nodes, channels), or (replicas, nodes, channels), "
            f"got shape {list(h.shape)}."
        )
    if rate == 0 or h.numel() == 0:
        return
    replicas, keys = (h.size(0) if h.dim() == 3 else 1), _number_of(key)
    if replicas != keys:
        raise SettingsError(f"{replicas} replicas need as many keys, got {keys}.")


@dataclass(frozen=True, eq=False)
class Masking:
    """A mask of dropout, by what it is computed from.

    Attributes:
        rate: Probability of dropping.
        key: From `Noise.key`.
        node_ids: The number of each row's node in the whole graph; None for 0, 1, …
        window: Which channels a signal has; None for all.
    """

    rate: float
    key: Key
    node_ids: Tensor | None
    window: Window | None

    @classmethod
    def here(cls, rate: float, key: Key, node_ids: Tensor | None = None) -> Self:
        """The mask of rows and channels as `akgnn.ops.rows` has them now."""
        return cls(rate, key, row_ids() if node_ids is None else node_ids, channel_window())

    @property
    def scale(self) -> float:
        """What kept values are multiplied by."""
        return dropped_lanes(self.rate)[1]

    def dropped(self, h: Tensor) -> Tensor:
        """What the mask leaves of a signal, scaled up; no gradient."""
        return _drop(h, self.rate, self.key, self.node_ids, self.window)

    def dropped_relu(self, h: Tensor) -> Tensor:
        """What the mask leaves of relu(h), scaled up; no gradient."""
        return _drop(h, self.rate, self.key, self.node_ids, self.window, relu=True)

    def drop_(self, h: Tensor) -> Tensor:
        """The same in place, for a signal that nothing else needs."""
        return _drop(h, self.rate, self.key, self.node_ids, self.window, out=h)

    def of_part(self, x: Tensor, ids: Tensor, of: int) -> Tensor:
        """The same for some of the rows alone, `of` so many."""
        return _drop(x, self.rate, self.key, ids, self.window, of=of)


def dropout_entries(x: CSR, rate: float, key: Key, node_ids: Tensor | None = None) -> Tensor:
    """The entries of a sparse `x` after the dropout that `dropout` would do to it written densely.

    Several keys make as many rows of entries, one for each replica.
    """
    check_rate("rate", rate)
    dtype = torch.float32 if x.value is None else x.value.dtype
    out = torch.empty(_number_of(key), x.num_entries, dtype=dtype, device=x.device)
    threshold, scale = _threshold(rate)
    keys = _keys(key, x.device, 1)
    node_ids = row_ids() if node_ids is None else node_ids
    for part, positions, shifts in entry_blocks(x, node_ids):
        for replicas, *pair in keys:
            # The lane of each channel, moved to the lowest 16 bits and read with its sign.
            lanes = _keyed(positions, *pair).bitwise_right_shift_(shifts).to(torch.int16)
            torch.ge(lanes, threshold, out=out[replicas, part])
    out.mul_(scale)
    if x.value is not None:
        out.mul_(x.value)
    return out if isinstance(key, Tensor) and key.dim() else out.squeeze(0)


def kept_nodes(number: int, rate: float, key: Key, device: torch.device) -> Tensor:
    """Which of so many nodes are kept when each is dropped with probability `rate`, below 1.

    Several keys make as many rows, one for each replica.
    """
    check_rate("rate", rate)
    # A word, read with its sign, is an even draw from -2^63 to 2^63 - 1.
    ids = row_ids()
    words = hashed(number, key, device) if ids is None else hashed_at(ids, key)
    return words >= round(rate * 2**64) - 2**63


def hashed(number: int, key: Key, device: torch.device) -> Tensor:
    """So many 64-bit words of the sequence that `key` seeds, for other draws than dropout's.

    Several keys make as many rows.
    """
    return hashed_at(torch.arange(number, device=device), key)


def hashed_at(indices: Tensor, key: Key) -> Tensor:
    """The words that `hashed` gives at these indices of its sequence, which is splitmix64's."""
    start = key.unsqueeze(-1) if isinstance(key, Tensor) and key.dim() else key
    return finalise_(indices * INCREMENT + start)


def check_rate(name: str, rate: float) -> None:
    """Raise a `SettingsError` for a probability of dropping outside [0, 1)."""
    if not 0 <= rate < 1:
        raise SettingsError(f"{name} must be at least 0 and below 1, got {rate}.")


class _Dropout(torch.autograd.Function):
    """The backward pass hashes again: that takes no longer than to write the mask and fetch it."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, masking: Masking) -> Tensor:
        ctx.masking = masking
        return masking.dropped(h)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.masking.dropped(grad), None


def _drop(
    h: Tensor,
    rate: float,
    key: Key,
    node_ids: Tensor | None,
    window: Window | None,
    *,
    out: Tensor | None = None,
    of: int | None = None,
    relu: bool = False,
) -> Tensor:
    """Drop block by block, so that words and masks never leave the cache; on a GPU in one pass.

    The result is in `out` if it is given; it may be `h`. The rows are some `of` so many. With
    `relu`, what is dropped is relu(h).
    """
    if node_ids is None and out is None and is_fused(h):
        from akgnn.ops.launch import Mask, enter

        h = h.relu() if relu else h
        whole = h if h.dim() == 3 else h.unsqueeze(0)
        return enter(whole.contiguous(), mask=Mask.of(key, rate, h, window)).view_as(h)
    threshold, scale = _threshold(rate)
    is_in_place = out is h
    out = torch.empty_like(h, memory_format=torch.contiguous_format) if out is None else out
    zero = h.new_zeros(())
    signal, result = (t if t.dim() == 3 else t.unsqueeze(0) for t in (h, out))
    keys = _keys(key, h.device, 2)
    for rows, positions in signal_blocks(h, node_ids, window, of):
        for replicas, *pair in keys:
            lanes = _keyed(positions, *pair).view(torch.int16)[..., : h.size(-1)]
            target = result[replicas, rows]
            mask = torch.ge(
                lanes, threshold, out=torch.empty_like(target) if is_in_place else target
            )
            values = signal[replicas, rows].relu() if relu else signal[replicas, rows]
            # Mask, signal and scale in one pass.
            torch.addcmul(zero, mask, values, value=scale, out=target)
    return out


def _number_of(key: Key) -> int:
    return key.numel() if isinstance(key, Tensor) else 1


def _keys(key: Key, device: torch.device, dimensions: int) -> list[tuple[slice, Key, Key]]:
    """Keys with their multipliers, and which replicas they are for.

    One by one on a CPU, where a replica's words stay in the cache; all at once on a GPU, in a
    shape that meets positions of so many dimensions.
    """
    if not isinstance(key, Tensor):
        return [(slice(0, 1), key, mix(key) | 1)]
    keys = key.to(device).view(-1)
    multipliers = mix(keys) | 1
    if device.type != "cpu":
        shape = (-1, *[1] * dimensions)
        return [(slice(0, len(keys)), keys.view(shape), multipliers.view(shape))]
    pairs = zip(keys.tolist(), multipliers.tolist(), strict=True)
    return [(slice(number, number + 1), *pair) for number, pair in enumerate(pairs)]


def _keyed(positions: Tensor, key: Key, multiplier: Key) -> Tensor:
    """The words at positions T under each key, shape (keys, *positions.shape)."""
    words = torch.bitwise_xor(positions.unsqueeze(0), key)
    return fold_(words.mul_(multiplier), 32)


def dropped_lanes(rate: float) -> tuple[int, float]:
    """How many of 65536 lanes are dropped, and what kept values are multiplied by."""
    dropped = min(round(rate * _LEVELS), _LEVELS - 1)
    return dropped, _LEVELS / (_LEVELS - dropped)


def _threshold(rate: float) -> tuple[int, float]:
    """The lowest 16-bit lane (signed) that is kept, and what kept values are multiplied by."""
    dropped, scale = dropped_lanes(rate)
    return dropped - _LEVELS // 2, scale


def signal_blocks(
    h: Tensor, node_ids: Tensor | None, window: Window | None = None, of: int | None = None
) -> Iterator[tuple[slice, Tensor]]:
    """Blocks of rows, each with its positions T: one word for four channels.

    Where the rows are some `of` more, those of all of them count as kept.
    """
    rows, groups = h.size(-2), -(-h.size(-1) // _LANES)
    at_once = max(1, _WORDS_AT_ONCE // groups) if h.device.type == "cpu" else rows
    first, width = (0, h.size(-1)) if window is None else window
    lanes = (groups, first // _LANES, -(-width // _LANES))
    whole = None
    if (of or rows) * lanes[2] <= _MOST_WORDS_KEPT:
        whole = (
            _positions_of_shape(rows, *lanes, h.device)
            if node_ids is None
            else _positions_of_ids(node_ids, *lanes)
        )
    for start in range(0, rows, at_once):
        block = slice(start, min(start + at_once, rows))
        if whole is None:
            nodes = torch.arange(block.start, block.stop, device=h.device)
            nodes = nodes if node_ids is None else node_ids[block].long()
            yield block, _positions(nodes, *lanes)
        else:
            yield block, whole[block]


@lru_cache(maxsize=_MOST_SHAPES_KEPT)
def _positions_of_shape(
    rows: int, groups: int, first: int, of: int, device: torch.device
) -> Tensor:
    return _positions(torch.arange(rows, device=device), groups, first, of)


def _positions_of_ids(node_ids: Tensor, groups: int, first: int, of: int) -> Tensor:
    kept: dict[tuple[int, int, int], Tensor] = _KEPT_ROWS.setdefault(node_ids, {})
    if (groups, first, of) not in kept:
        kept[groups, first, of] = _positions(node_ids.long(), groups, first, of)
    return kept[groups, first, of]


def _positions(nodes: Tensor, groups: int, first: int, of: int) -> Tensor:
    """T of some groups of channels, from the first on, `of` so many; shape (nodes, groups)."""
    here = torch.arange(first, first + groups, device=nodes.device)
    counter = nodes.unsqueeze(1) * of + here
    return finalise_(counter.mul_(INCREMENT))


def entry_blocks(x: CSR, node_ids: Tensor | None) -> Iterator[tuple[slice, Tensor, Tensor]]:
    """Blocks of entries, each with the positions T and the shifts to the lanes."""
    kept = None
    if x.num_entries <= _MOST_WORDS_KEPT:
        ids, kept = _KEPT_ENTRIES.get(x.pattern, (None, None))
        if kept is None or ids is not node_ids:
            kept = _entry_positions(x.pattern, slice(None), node_ids)
            _KEPT_ENTRIES[x.pattern] = node_ids, kept
    at_once = _WORDS_AT_ONCE if x.device.type == "cpu" else max(1, x.num_entries)
    for start in range(0, x.num_entries, at_once):
        part = slice(start, start + at_once)
        if kept is None:
            yield part, *_entry_positions(x.pattern, part, node_ids)
        else:
            yield part, kept[0][part], kept[1][part]


def _entry_positions(
    pattern: Pattern, part: slice, node_ids: Tensor | None
) -> tuple[Tensor, Tensor]:
    """T of some entries, and how far the lane of their channel lies from the lowest."""
    groups = -(-pattern.shape[1] // _LANES)
    node, channel = pattern.row[part].long(), pattern.col[part].long()
    node = node if node_ids is None else node_ids[node].long()
    positions = finalise_(node.mul_(groups).add_(channel >> 2).mul_(INCREMENT))
    return positions, channel.bitwise_and_(3).mul_(16)
