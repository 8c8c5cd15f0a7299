"""Coins with learned probabilities: thrown hard, with the gradient of a soft throw."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from akgnn.hashing import Key
from akgnn.ops.dropout import hashed

# Nearer to 0 or 1 a probability has no usable gradient in float32.
_MARGIN = 1e-6


def straight_through_bernoulli(p: Tensor, temperature: float, key: Key) -> Tensor:
    """Ones with probability p and zeros otherwise, differentiable in p.

    With v drawn evenly from (0, 1), the relaxed coin at temperature T and the one it rounds to are

        y = sigmoid((logit(p) - logit(v)) / T),   s = [y > 1/2] = [v < p].

    The result is s; its gradient is that of y, the straight-through estimator.

    Args:
        p: Probabilities, one dimension.
        temperature: T > 0; the lower, the steeper y.
        key: From `Noise.key`.
    """
    clamped = p.clamp(_MARGIN, 1 - _MARGIN)
    out: Tensor = _StraightThrough.apply(clamped, evenly(len(p), key, p), temperature)
    return out


def evenly(number: int, key: Key, like: Tensor) -> Tensor:
    """So many draws from (0, 1), of the device and dtype of `like`: 32 bits of the hash each."""
    words = hashed(-(-number // 2), key, like.device).view(torch.int32)[:number]
    draws = words.to(like.dtype).add_(2**31 + 0.5).div_(2**32)
    # Rounded to float32 the highest words would give 1.
    return draws.clamp_max_(1 - 2**-24)


class _StraightThrough(torch.autograd.Function):
    """Backward: dy/dp = y (1 - y) / (T p (1 - p))."""

    @staticmethod
    def forward(ctx: Any, p: Tensor, v: Tensor, temperature: float) -> Tensor:
        ctx.save_for_backward(p, v)
        ctx.temperature = temperature
        return (v < p).to(p.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        p, v = ctx.saved_tensors
        spread = p * (1 - p)
        odds = p.square().mul_(1 - v).div_(spread).div_(v)
        y = odds.log_().div_(ctx.temperature).sigmoid_()
        slope = (y - y.square()).div_(spread).div_(ctx.temperature)
        return slope.mul_(grad), None, None
