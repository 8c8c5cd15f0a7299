"""splitmix64, the hash behind everything random: of integers, and of int64 tensors in place.

Words are 64-bit and signed, since PyTorch has no unsigned arithmetic; sums and products wrap round.
"""

from typing import overload

import torch
from torch import Tensor

Key = int | Tensor
"""A 64-bit key, or an int64 tensor of them: one for each of several replicas."""


def signed(word: int) -> int:
    """The int64 with the same bits as this unsigned 64-bit word."""
    word &= 2**64 - 1
    return word - 2**64 if word >= 2**63 else word


INCREMENT = signed(0x9E3779B97F4A7C15)
# Shift and multiplier of each round of the finaliser.
_ROUNDS = ((30, signed(0xBF58476D1CE4E5B9)), (27, signed(0x94D049BB133111EB)), (31, 1))


@overload
def mix(key: int) -> int: ...
@overload
def mix(key: Tensor) -> Tensor: ...
def mix(key: Key) -> Key:
    """One splitmix64 step: the finaliser of key + INCREMENT."""
    if isinstance(key, Tensor):
        return finalise_(key + INCREMENT)
    word = (key + INCREMENT) & (2**64 - 1)
    for shift, multiplier in _ROUNDS:
        word = ((word ^ (word >> shift)) * multiplier) & (2**64 - 1)
    return signed(word)


def words_(counter: Tensor, key: int) -> Tensor:
    """The words number `counter` of the splitmix64 sequence that starts at `key`, in place."""
    return finalise_(counter.mul_(INCREMENT).add_(key))


def finalise_(words: Tensor) -> Tensor:
    """The finaliser of splitmix64, in place."""
    shifted = torch.empty_like(words)
    for shift, multiplier in _ROUNDS:
        fold_(words, shift, shifted)
        if multiplier != 1:
            words.mul_(multiplier)
    return words


def fold_(words: Tensor, shift: int, scratch: Tensor | None = None) -> Tensor:
    """Each word xor itself shifted to the right without its sign, in place."""
    shifted = torch.bitwise_right_shift(words, shift, out=scratch)
    # int64 shifts copy the sign in; an unsigned shift would not.
    return words.bitwise_xor_(shifted.bitwise_and_(2 ** (64 - shift) - 1))
