"""Where slices of the channels meet: sums over slices that other processes may have.

Each function does nothing where all channels are here. Otherwise it leaves the sum, or that of the
backward pass, to the slices: see `akgnn.ops.rows`.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from akgnn.ops.inputs import Weight
from akgnn.ops.rows import Slices, current_slices


def channel_sum(share: Tensor) -> Tensor:
    """The sum over all channels, of which `share` has those of this slice.

    Its gradient is that of a number that every process computes alike, such as a loss.
    """
    slices = current_slices()
    if slices is None:
        return share
    out: Tensor = _Sum.apply(slices, share)
    return out


def for_all_channels(weights: Sequence[Weight]) -> Sequence[Weight]:
    """Weights that serve all channels: their gradients, all at once, are summed over the slices."""
    slices = current_slices()
    if slices is None or not any(isinstance(w, Tensor) and w.requires_grad for w in weights):
        return weights
    out: tuple[Weight, ...] = _Serve.apply(slices, *weights)
    return out


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, slices: Slices, share: Tensor) -> Tensor:
        return slices.total(share)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor]:
        return None, grad


class _Serve(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, slices: Slices, *weights: Weight) -> tuple[Weight, ...]:
        ctx.slices = slices
        return tuple(w.view_as(w) if isinstance(w, Tensor) else w for w in weights)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        learned = [g for g, needs in zip(grads, ctx.needs_input_grad[1:], strict=True) if needs]
        # One message for all layers.
        total = ctx.slices.total(torch.cat([grad.reshape(-1) for grad in learned]))
        sums = iter(total.split([grad.numel() for grad in learned]))
        return None, *(
            next(sums).view_as(grad) if needs else None
            for grad, needs in zip(grads, ctx.needs_input_grad[1:], strict=True)
        )
