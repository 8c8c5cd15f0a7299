"""splitmix64: 64-bit words that look random, from counters instead of a generator.

A word follows from its number and a key alone, the same on every device.
"""

import torch
from torch import Tensor


def _signed(word: int) -> int:
    """The int64 with the same bits as this unsigned 64-bit word."""
    word &= 2**64 - 1
    return word - 2**64 if word >= 2**63 else word


# The increment, then (shift, multiplier) of each round.
_INCREMENT = _signed(0x9E3779B97F4A7C15)
_ROUNDS = ((30, _signed(0xBF58476D1CE4E5B9)), (27, _signed(0x94D049BB133111EB)), (31, 1))


def mix_(counter: Tensor, key: int) -> Tensor:
    """The words number `counter` of the splitmix64 sequence that starts at `key`, in place."""
    words = counter.mul_(_INCREMENT).add_(key)
    shifted = torch.empty_like(words)
    for shift, multiplier in _ROUNDS:
        torch.bitwise_right_shift(words, shift, out=shifted)
        # int64 shifts copy the sign in; an unsigned shift would not.
        words.bitwise_xor_(shifted.bitwise_and_(2 ** (64 - shift) - 1))
        if multiplier != 1:
            words.mul_(multiplier)
    return words


def mix_int(value: int) -> int:
    """One splitmix64 step of a single number, as a signed 64-bit integer."""
    word = (value + _INCREMENT) & (2**64 - 1)
    for shift, multiplier in _ROUNDS:
        word = ((word ^ (word >> shift)) * multiplier) & (2**64 - 1)
    return _signed(word)
