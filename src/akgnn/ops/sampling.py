"""Random parts of a graph, and coins with learned probabilities, from a counter as in dropout."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from akgnn.graph import Graph
from akgnn.hashing import Key
from akgnn.ops.dropout import hashed

# Nearer to 0 or 1 a probability has no usable gradient in float32.
_MARGIN = 1e-6


def sample_neighbours(graph: Graph, fan_out: int, key: Key) -> Tensor:
    """The `edge_index` of a graph in which each node keeps at most `fan_out` in-neighbours.

    They are drawn evenly, without repeats, by a key from `Noise.key`.
    """
    pattern = graph.adjacency.pattern
    # Sorted by hash within each row, the first few of a row are an even draw.
    by_hash = torch.argsort(hashed(graph.num_edges, key, graph.device))
    order = by_hash[torch.argsort(pattern.row[by_hash], stable=True)]
    rank = torch.arange(graph.num_edges, device=graph.device) - pattern.rowptr[pattern.row[order]]
    return graph.edge_index[:, order[rank < fan_out]]


def sample_edges(graph: Graph, keep: float, key: Key) -> Graph:
    """The graph with a random share `keep` of its undirected edges, both directions together.

    The share is rounded to whole edges; the key is from `Noise.key`.
    """
    source, target = graph.edge_index
    forward = source < target
    number = int(forward.sum())
    chosen = torch.argsort(hashed(number, key, graph.device))[: round(keep * number)]
    index = graph.edge_index[:, forward][:, chosen]
    weight = graph.edge_weight
    if weight is not None:
        weight = weight[forward][chosen].repeat(2)
    both = torch.cat([index, index.flip(0)], dim=1)
    return Graph.from_edge_index(both, weight, num_nodes=graph.num_nodes)


def straight_through_bernoulli(p: Tensor, temperature: float, key: Key) -> Tensor:
    """Coins thrown hard, with the gradient of a soft throw: ones with probability p, else zeros.

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
