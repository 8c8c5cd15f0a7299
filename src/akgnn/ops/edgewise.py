"""Adaptive propagation edge by edge, with a gradient for the edge weights too.

`akgnn.ops.adaptive` takes the graph's matrix as fixed, which is what makes it fast. Where edge
weights learn, or something looks at single messages, every edge has to be gone through by itself.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from akgnn.errors import GraphError
from akgnn.graph import Graph
from akgnn.ops.adaptive import checked_weights, spread
from akgnn.ops.composed import Normalisation, Weight

# Sums over the edges that end in a node: of edge_index, edge_weight and the signal of the sources.
SumOverEdges = Callable[[Tensor, Tensor, Tensor], Tensor]


def edgewise_propagate(
    graph: Graph,
    edge_index: Tensor,
    edge_weight: Tensor | None,
    h: Tensor,
    self_weight: Weight,
    neighbour_weight: Weight = 1.0,
    out_weight: Weight | None = None,
    *,
    normalisation: Normalisation = "sym",
    sum_over: SumOverEdges | None = None,
) -> Tensor:
    """One step of adaptive propagation, left to autograd; gradients reach `edge_weight`.

    The result is that of `adaptive_propagate`, at O(edges × channels) memory.

    Args:
        graph: The graph of these edges, which is only checked.
        edge_index: Source and target of every edge. As in a `Graph`, self-loops are dropped, and
            edges that are said twice are one, or add up where they have weights.
        edge_weight: One number an edge, or None where all are 1.
        h: Node signals, shape (nodes, channels).
        self_weight: As for `adaptive_propagate`.
        neighbour_weight: Likewise.
        out_weight: Likewise.
        normalisation: `"sym"` or `"row"`.
        sum_over: Adds up weighted signals over edges; a plain sum if not given.
    """
    if h.dim() != 2:
        raise GraphError(
            f"Edge by edge, node signals must have shape (nodes, channels), got {list(h.shape)}."
        )
    given = [x for x in (self_weight, neighbour_weight, out_weight) if x is not None]
    rows = [spread(x, h.size(-1)) for x in checked_weights(graph, h, normalisation, *given)]
    a, *weights = (torch.as_tensor(x, dtype=h.dtype, device=h.device) for x in rows)
    sum_over = sum_over or _sum_over
    value = _values(edge_index, edge_weight, h)
    ways = (edge_index, edge_index.flip(0))[: len(weights)]
    degrees = [_degree(index, value, h) for index in ways]
    c = a + sum(w.abs() * degree for w, degree in zip(weights, degrees, strict=True))
    alone = (sum(degrees) == 0) | (c == 0)
    c = torch.where(alone, 1, c)
    left, right = (c**-0.5, c**-0.5) if normalisation == "sym" else (1 / c, torch.ones_like(c))
    total = a * right * h
    for index, w in zip(ways, weights, strict=True):
        total = total + w * sum_over(index, value, right * h)
    return torch.where(alone, h, left * total)


def _sum_over(edge_index: Tensor, edge_weight: Tensor, h: Tensor) -> Tensor:
    source, target = edge_index
    return torch.zeros_like(h).index_add(0, target, edge_weight.unsqueeze(1) * h[source])


def _degree(edge_index: Tensor, value: Tensor, h: Tensor) -> Tensor:
    return value.new_zeros(h.size(0)).index_add(0, edge_index[1], value).unsqueeze(1)


def _values(edge_index: Tensor, edge_weight: Tensor | None, h: Tensor) -> Tensor:
    """The weight of every edge; those of repeats add up to that of the one edge they are."""
    source, target = edge_index.long()
    if edge_weight is not None:
        value = edge_weight.to(h.dtype)
    else:
        _, place, times = torch.unique(
            target * h.size(0) + source, return_inverse=True, return_counts=True
        )
        value = 1 / times[place].to(h.dtype)
    return torch.where(source == target, 0, value)
