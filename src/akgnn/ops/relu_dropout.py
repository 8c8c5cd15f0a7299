"""Relu and then dropout, whose backward pass needs the result alone."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from akgnn.hashing import Key
from akgnn.ops.dropout import Masking, check_dropout, dropout
from akgnn.ops.part_rows import PartRows


def relu_dropout(h: Tensor, rate: float, key: Key) -> Tensor:
    """What `dropout` makes of relu(h), with the same arguments and errors.

    A value of the result is above 0 where relu passed it on and the mask kept it. So neither
    relu's result is held for the backward pass, nor the mask computed again.
    """
    check_dropout(h, rate, key)
    if rate == 0 or h.numel() == 0 or isinstance(h, PartRows):
        return dropout(F.relu(h), rate, key)
    out: Tensor = _ReluDropout.apply(h, Masking.here(rate, key))
    return out


class _ReluDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, masking: Masking) -> Tensor:
        out = masking.dropped_relu(h)
        ctx.scale = masking.scale
        ctx.save_for_backward(out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (out,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(grad, out, 0).mul_(ctx.scale), None
