"""Adaptive propagation: the paper's kernel with a self weight a and a neighbour weight w.

With d the degrees and c = a + |w| d, one step is

    symmetric:  h_out = c^-1/2 (a I + w A) c^-1/2 h_in
    row:        h_out = c^-1   (a I + w A)        h_in

On a directed graph the row form may also take the out-neighbours, with a weight v of their own and
their number e:

    directed:   h_out = c^-1 (a I + w A + v Aᵀ) h_in,   c = a + |w| d + |v| e

The paper's renormalised kernel A*_k is the symmetric form with a = λ_k - 1 and w = 1: the factor
2 / λ_k of its A_k cancels in D_k^-1/2 A_k D_k^-1/2. An isolated node keeps its signal for every
a > 0, since a / c = 1; it keeps it at a = 0 too, where the formula reads 0 / 0.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from akgnn.errors import GraphError
from akgnn.graph import Graph
from akgnn.ops.composed import composed_step
from akgnn.ops.inputs import Normalisation, Weight, checked_weights, groups_if_fused, spread
from akgnn.ops.products import neighbour_sum_reference

SumOverEdges = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Sums messages over the edges into each node, from edge_index, edge_weight and the signals."""

_Side = tuple[Weight, Tensor, Callable[[Tensor], Tensor]]
"""Neighbours on one side: their weight, their weighted number, and the sum over them."""


def adaptive_propagate(
    graph: Graph,
    h: Tensor,
    self_weight: Weight,
    neighbour_weight: Weight = 1.0,
    out_weight: Weight | None = None,
    *,
    normalisation: Normalisation = "sym",
) -> Tensor:
    """One step of adaptive propagation, with closed-form gradients.

    The graph's matrix is fixed and only scalings are learned, so the backward pass is the same
    operator once more and a few row-wise dot products: O(edges × channels) time, O(nodes ×
    channels) memory. Gradients reach `h` and all weights; second derivatives are not defined. The
    result is kept for the backward pass where a weight learns: do not change it in place.

    Args:
        graph: Its edge weights must not be negative. The symmetric form needs an undirected one.
        h: Node signals, shape (nodes, channels), or (replicas, nodes, channels).
        self_weight: a ≥ 0, one number, one per channel, or one for each of several equal groups of
            channels. Weights that differ between replicas have one such row each, or the shape
            (replicas, 1).
        neighbour_weight: w of either sign, likewise.
        out_weight: v of either sign, for the nodes that a node's own edges lead to; row form only.
        normalisation: `"sym"` or `"row"`.

    Raises:
        GraphError: The form does not take this graph, or signals do not fit it.
        SettingsError: A weight is negative, not finite or of a wrong shape.
    """
    weights = [w for w in (self_weight, neighbour_weight, out_weight) if w is not None]
    if torch.compiler.is_exporting():
        # An exported program has to be made of plain operations and to fit graphs of any size.
        by_channel = [spread(w, h.size(-1)) for w in weights]
        return adaptive_propagate_reference(graph, h, *by_channel, normalisation=normalisation)
    weights = checked_weights(graph, h, normalisation, *weights)
    groups = groups_if_fused(graph, h, *weights)
    if groups is not None and out_weight is None:
        from akgnn.ops.fused import fused_chain

        return fused_chain(graph, h, [weights], groups, normalisation)
    return composed_step(graph, h, normalisation, *weights)


def neighbour_mean(graph: Graph, h: Tensor) -> Tensor:
    """The weighted mean over in-neighbours, D^-1 A h; 0 for nodes without any.

    Arguments and errors are those of `adaptive_propagate`, which leaves such nodes as they are.
    """
    has_neighbours = (graph.degree > 0).unsqueeze(1)
    return adaptive_propagate(graph, h, 0.0, normalisation="row") * has_neighbours


def adaptive_propagate_reference(
    graph: Graph,
    h: Tensor,
    self_weight: Weight,
    neighbour_weight: Weight = 1.0,
    out_weight: Weight | None = None,
    *,
    normalisation: Normalisation = "sym",
) -> Tensor:
    """The specification of `adaptive_propagate`: the formula, edge by edge, left to autograd."""
    weights = [w for w in (neighbour_weight, out_weight) if w is not None]
    graphs = (graph, graph.transpose) if len(weights) > 1 else (graph,)
    sides: list[_Side] = [
        (w, side.degree.to(h.dtype).unsqueeze(1), partial(neighbour_sum_reference, side))
        for w, side in zip(weights, graphs, strict=True)
    ]
    return _formula(h, self_weight, sides, normalisation)


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
    """`adaptive_propagate` edge by edge, left to autograd: gradients reach `edge_weight` too.

    For edge weights that learn, and for what looks at single messages; at O(edges × channels)
    memory. As in a `Graph`, self-loops are dropped, and repeated edges are one, or add up where
    they have weights. The graph of the edges is only checked. `sum_over` adds up weighted signals
    over edges, where a plain sum will not do. The rest is as in `adaptive_propagate`.
    """
    if h.dim() != 2:
        raise GraphError(
            f"Edge by edge, node signals must have shape (nodes, channels), got {list(h.shape)}."
        )
    weights = [w for w in (self_weight, neighbour_weight, out_weight) if w is not None]
    weights = checked_weights(graph, h, normalisation, *weights)
    a, *others = (spread(w, h.size(-1)) for w in weights)
    value = _values(edge_index, edge_weight, h)
    sides: list[_Side] = [
        (w, _degree(index, value, h), partial(sum_over or _sum_over, index, value))
        for w, index in zip(others, (edge_index, edge_index.flip(0)), strict=False)
    ]
    return _formula(h, a, sides, normalisation)


def _formula(h: Tensor, self_weight: Weight, sides: Sequence[_Side], form: Normalisation) -> Tensor:
    """One step as the formulas above have it."""
    numbers = (self_weight, *(w for w, _, _ in sides))
    a, *weights = (torch.as_tensor(w, dtype=h.dtype, device=h.device) for w in numbers)
    degrees = [degree for _, degree, _ in sides]
    c = a + sum(w.abs() * degree for w, degree in zip(weights, degrees, strict=True))
    alone = (sum(degrees) == 0) | (c == 0)
    c = torch.where(alone, 1, c)
    left, right = (c**-0.5, c**-0.5) if form == "sym" else (1 / c, torch.ones_like(c))
    total = a * right * h
    for w, (_, _, summed) in zip(weights, sides, strict=True):
        total = total + w * summed(right * h)
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
        _, edge, times = torch.unique(
            target * h.size(0) + source, return_inverse=True, return_counts=True
        )
        value = 1 / times[edge].to(h.dtype)
    return torch.where(source == target, 0, value)
