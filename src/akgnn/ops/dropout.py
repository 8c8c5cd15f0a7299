"""Dropout from a counter: a value is dropped by a hash of where it stands, never by a generator.

Whether the value at (node, channel) is dropped follows from (seed, step, place, node, channel) and
the number of channels alone. So a mask is recomputed instead of stored, a run repeats and resumes
exactly, and part of a graph drops what the whole graph drops.

The hash is splitmix64. One 64-bit word serves four neighbouring channels, 16 bits each, so a rate
is exact to 1 / 65536.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from akgnn.csr import CSR
from akgnn.errors import SettingsError
from akgnn.hashing import mix_ as _mix_
from akgnn.hashing import mix_int as _mix_int

_LANES = 4
_LEVELS = 2**16
# Enough words to share among threads, few enough to stay in the processor's cache.
_WORDS_AT_ONCE = 2**16


@dataclass(frozen=True)
class Noise:
    """What tells one training step's masks from another's.

    Attributes:
        seed: Of the run.
        step: Counts the steps of the run.
    """

    seed: int
    step: int = 0

    def key(self, place: int) -> int:
        """The 64-bit key of one place in the model where values are dropped."""
        key = 0
        for part in (self.seed, self.step, place):
            key = _mix_int(key ^ part)
        return key


def dropout(h: Tensor, rate: float, key: int, node_ids: Tensor | None = None) -> Tensor:
    """Set values to 0 with probability `rate` and scale the others up to keep the mean.

    Args:
        h: Shape (nodes, channels).
        rate: Probability of dropping, at least 0 and below 1.
        key: From `Noise.key`.
        node_ids: The number of each row's node in the whole graph; 0, 1, … if not given.
    """
    check_rate("rate", rate)
    if h.dim() != 2:
        raise SettingsError(f"Dropout takes (nodes, channels), got shape {list(h.shape)}.")
    if rate == 0 or h.numel() == 0:
        return h
    out: Tensor = _Dropout.apply(h, rate, key, node_ids)
    return out


def dropout_entries(x: CSR, rate: float, key: int, node_ids: Tensor | None = None) -> Tensor:
    """The entries of a sparse `x` after the dropout that `dropout` would do to it written densely.

    Args:
        x: Features, one row a node.
        rate: Probability of dropping, at least 0 and below 1.
        key: From `Noise.key`.
        node_ids: The number of each row's node in the whole graph; 0, 1, … if not given.
    """
    check_rate("rate", rate)
    groups = -(-x.shape[1] // _LANES)
    dtype = torch.float32 if x.value is None else x.value.dtype
    out = torch.empty(x.num_entries, dtype=dtype, device=x.device)
    threshold, scale = _threshold(rate)
    for start in range(0, x.num_entries, _WORDS_AT_ONCE):
        part = slice(start, start + _WORDS_AT_ONCE)
        node, channel = x.pattern.row[part].long(), x.pattern.col[part].long()
        node = node if node_ids is None else node_ids[node].long()
        words = _mix_(node.mul_(groups).add_(channel >> 2), key)
        # The lane of each channel, moved to the lowest 16 bits and read with its sign.
        lanes = words.bitwise_right_shift_(channel.bitwise_and_(3).mul_(16)).to(torch.int16)
        torch.ge(lanes, threshold, out=out[part])
    out.mul_(scale)
    return out if x.value is None else out.mul_(x.value)


def kept_nodes(number: int, rate: float, key: int, device: torch.device) -> Tensor:
    """Which of so many nodes are kept when each is dropped with probability `rate`.

    Args:
        number: Of nodes.
        rate: Probability of dropping, at least 0 and below 1.
        key: From `Noise.key`.
        device: Of the result.
    """
    check_rate("rate", rate)
    # A word, read with its sign, is an even draw from -2^63 to 2^63 - 1.
    return hashed(number, key, device) >= round(rate * 2**64) - 2**63


def hashed(number: int, key: int, device: torch.device) -> Tensor:
    """So many 64-bit words of the sequence that `key` starts, for other draws than dropout's."""
    return _mix_(torch.arange(number, device=device), key)


def hashed_at(places: Tensor, key: int) -> Tensor:
    """The words that `hashed` gives at these places of its sequence."""
    return _mix_(places.clone(), key)


def check_rate(name: str, rate: float) -> None:
    """Refuse a probability of dropping outside [0, 1)."""
    if not 0 <= rate < 1:
        raise SettingsError(f"{name} must be at least 0 and below 1, got {rate}.")


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, rate: float, key: int, node_ids: Tensor | None) -> Tensor:
        ctx.rate, ctx.key, ctx.node_ids = rate, key, node_ids
        return _drop(h, rate, key, node_ids)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        return _drop(grad, ctx.rate, ctx.key, ctx.node_ids), None, None, None


def _drop(h: Tensor, rate: float, key: int, node_ids: Tensor | None) -> Tensor:
    """Drop block by block, so that words and masks never leave the cache."""
    threshold, scale = _threshold(rate)
    out = torch.empty_like(h, memory_format=torch.contiguous_format)
    for rows, words in _words(h, key, node_ids):
        lanes = words.view(torch.int16)[:, : h.size(1)]
        mask = torch.ge(lanes, threshold, out=out[rows])
        mask.mul_(h[rows]).mul_(scale)
    return out


def _words(h: Tensor, key: int, node_ids: Tensor | None) -> Iterator[tuple[slice, Tensor]]:
    """Blocks of rows, each with its hashed words: one word for four channels."""
    groups = -(-h.size(1) // _LANES)
    rows_at_once = max(1, _WORDS_AT_ONCE // max(groups, 1)) if h.device.type == "cpu" else h.size(0)
    group = torch.arange(groups, device=h.device)
    for start in range(0, h.size(0), max(rows_at_once, 1)):
        stop = min(start + rows_at_once, h.size(0))
        if node_ids is None:
            counter = torch.arange(start * groups, stop * groups, device=h.device)
        else:
            counter = node_ids[start:stop, None].long() * groups + group
        yield slice(start, stop), _mix_(counter.view(-1, groups), key)


def _threshold(rate: float) -> tuple[int, float]:
    """The lowest 16-bit lane (signed) that is kept, and what kept values are multiplied by."""
    dropped = min(round(rate * _LEVELS), _LEVELS - 1)
    return dropped - _LEVELS // 2, _LEVELS / (_LEVELS - dropped)
