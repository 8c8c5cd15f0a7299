"""Adaptive propagation through the Triton ops, with its gradients.

Inside, a signal has shape (replicas, nodes, channels), a and w (replicas, groups). Everything here
runs where Triton runs: on a GPU, or anywhere in Triton's interpreter, for tests.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.autograd.graph import increment_version

from akgnn.graph import Graph
from akgnn.hashing import Key
from akgnn.ops import triton_ops as ops
from akgnn.ops.adaptive_chain import ChainReadout
from akgnn.ops.inputs import Normalisation, Weight, num_groups
from akgnn.ops.launch import Adjacency, Mask, Scalars, enter
from akgnn.ops.rows import channel_window
from akgnn.ops.triton_gather import blocks, row_grid, summed_rows


def fused_chain(
    graph: Graph,
    h: Tensor,
    weights: Sequence[Sequence[Weight]],
    groups: int,
    form: Normalisation,
    *,
    readout: ChainReadout = "last",
    rate: float = 0.0,
    keys: Sequence[Key] | None = None,
    recompute: bool = False,
) -> Tensor:
    """As `adaptive_chain`, for weights from `checked_weights` that tell so many groups apart."""
    signal = (h if h.dim() == 3 else h.unsqueeze(0)).contiguous()
    a, w = (
        torch.stack([_scalar_block(weight, signal.size(0), groups, h.device) for weight in layers])
        for layers in zip(*weights, strict=True)
    )
    window = channel_window()
    masks = None if keys is None else tuple(Mask.of(key, rate, h, window) for key in keys)
    chain = _Chain(graph, form, readout, masks, recompute)
    out: Tensor = _ChainFunction.apply(chain, signal, a, w)
    return out.view_as(h)


def _scalar_block(weight: Weight, replicas: int, groups: int, device: torch.device) -> Tensor:
    """A weight in the shape (replicas, groups)."""
    if not isinstance(weight, Tensor):
        return torch.full((replicas, groups), weight, dtype=torch.float32, device=device)
    return weight.reshape(-1, num_groups(weight)).float().expand(replicas, groups)


@dataclass(frozen=True)
class _Chain:
    """The settings of a chain."""

    graph: Graph
    form: Normalisation
    readout: ChainReadout
    masks: tuple[Mask, ...] | None
    recompute: bool

    def mask(self, k: int) -> Mask | None:
        return None if self.masks is None else self.masks[k]

    @property
    def kept_scale(self) -> float:
        return 1.0 if self.masks is None else self.masks[0].kept_scale

    def readout_scale(self, num_layers: int) -> float:
        return 1 / num_layers if self.readout == "mean" else 1.0


class _ChainFunction(torch.autograd.Function):
    """Layer k takes x_k-1, which has its entry scaling, to x_k, which has that of layer k + 1.

    In the backward pass the gradient of x_k-1 is that of the readout and what comes through layer
    k, and is written over x_k, which nothing needs any more.
    """

    @staticmethod
    def forward(ctx: Any, chain: _Chain, h: Tensor, a: Tensor, w: Tensor) -> Tensor:
        graph, form, degree = chain.graph, chain.form, chain.graph.degree.float()
        there = Adjacency(graph.adjacency, degree, form)
        back = there if form == "sym" else Adjacency(graph.transpose.adjacency, degree, form)
        # Copies: a weight that is changed in place later must not change the backward pass.
        layers = [
            Scalars(*(x.detach().to(torch.float32, copy=True).contiguous() for x in weights))
            for weights in zip(a, w, strict=True)
        ]
        ctx.chain, ctx.there, ctx.back, ctx.layers = chain, there, back, layers
        last = len(layers)
        ctx.every = math.ceil(math.sqrt(last)) if chain.recompute else 1
        x = enter(h, there, layers[0]) if chain.form == "sym" else h
        kept, readout = {0: x}, torch.empty_like(h)
        for k in range(1, last + 1):
            x = _layer(ctx, k, x, None if chain.readout == "last" else readout)
            if k % ctx.every == 0:
                kept[k] = x
        ctx.learns = any(ctx.needs_input_grad[2:4])
        if ctx.learns:
            ctx.numbers = tuple(kept)
            ctx.save_for_backward(*kept.values())
        return x if chain.readout == "last" else readout

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        chain, layers, grad = ctx.chain, ctx.layers, grad.contiguous()
        last = len(layers)
        scale = chain.readout_scale(last)
        # Once: within a checkpoint they are computed again when they are asked for.
        saved_tensors = dict(zip(ctx.numbers, ctx.saved_tensors, strict=True)) if ctx.learns else {}
        kept = dict(saved_tensors)
        x = enter(
            grad, ctx.back, layers[-1], backward=True, mask=chain.mask(last - 1), factor=scale
        )
        all_sums = []
        for k in range(last, 0, -1):
            saved = None
            if ctx.learns:
                if k not in kept or k - 1 not in kept:
                    _fill(ctx, kept, k)
                saved = kept[k - 1], kept.pop(k)
            x, sums = _layer_backward(ctx, k, x, saved, None if chain.readout == "last" else grad)
            if sums is not None:
                all_sums.append(sums)
        if not ctx.learns:
            return None, x, None, None
        # What was written over must not be read in a second backward pass.
        given_out = last if chain.readout == "last" else 0
        increment_version(
            [tensor for number, tensor in saved_tensors.items() if number not in (0, given_out)]
        )
        sums = torch.stack(all_sums[::-1])
        sign = torch.stack([scalars.w.sign() for scalars in layers])
        return None, x, sums[..., 0], sums[..., 1] - sign * sums[..., 2]


def _layer(ctx: Any, k: int, x: Tensor, readout: Tensor | None) -> Tensor:
    """The result x_k of layer k from x_k-1; before it is scaled, it is added to the readout."""
    chain, layers = ctx.chain, ctx.layers
    _, num_nodes, width = x.shape
    groups = layers[0].a.size(1)
    out = torch.empty_like(x)
    ops.forward[row_grid(x, groups)](
        x,
        out,
        readout,
        summed_rows(ctx.there.matrix, x),
        ctx.there.degree,
        layers[k - 1],
        layers[k] if k < len(layers) else None,
        chain.mask(k - 1),
        chain.readout_scale(len(layers)),
        num_nodes,
        width,
        groups,
        SYMMETRIC=chain.form == "sym",
        STARTS_READOUT=k == 1,
        **blocks(x, groups),
    )
    return out


def _layer_backward(
    ctx: Any,
    k: int,
    grad: Tensor,
    saved: tuple[Tensor, Tensor] | None,
    grad_readout: Tensor | None,
) -> tuple[Tensor, Tensor | None]:
    """From the gradient of x_k before its dropout that of x_k-1 before its own.

    Args:
        ctx: Of the chain.
        k: The layer, counted from 1.
        grad: With the backward entry scaling of the layer, contiguous.
        saved: x_k-1 and x_k, if the scalars learn.
        grad_readout: The gradient of the readout, which x_k-1 is part of.

    Returns:
        The gradient, with the backward entry scaling of the layer before; and for each block of
        scalars three sums: the gradient of a, that of w with c held fixed, and what passes
        through c to |w|.
    """
    chain, layers, last = ctx.chain, ctx.layers, len(ctx.layers)
    replicas, num_nodes, width = grad.shape
    groups = layers[0].a.size(1)
    h, out = saved or (None, None)
    # What the chain gave out is not for it to write over.
    given_out = k == last and chain.readout == "last"
    result = torch.empty_like(grad) if out is None or given_out else out
    grid = row_grid(grad, groups)
    shape = (replicas, groups, grid[1] * num_nodes, 3)
    dots = torch.empty(shape, dtype=torch.float32, device=grad.device) if saved else None
    ops.backward[grid](
        grad,
        h,
        out,
        grad_readout if k > 1 else None,
        result,
        dots,
        summed_rows(ctx.back.matrix, grad),
        ctx.back.degree,
        layers[k - 1],
        layers[k] if k < last else None,
        layers[k - 2] if k > 1 else None,
        chain.mask(k - 2) if k > 1 else None,
        chain.kept_scale,
        chain.readout_scale(last),
        num_nodes,
        width,
        groups,
        SYMMETRIC=chain.form == "sym",
        **blocks(grad, groups),
    )
    return result, None if dots is None else dots.sum(2)


def _fill(ctx: Any, kept: dict[int, Tensor], k: int) -> None:
    """Compute the results between the last one kept before k, and k, again."""
    first = max(number for number in kept if number < k)
    for number in range(first + 1, k + 1):
        if number not in kept:
            kept[number] = _layer(ctx, number, kept[number - 1], None)
