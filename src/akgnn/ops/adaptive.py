"""Adaptive propagation: the paper's kernel with a self weight a and a neighbour weight w.

With d the degrees and c = a + |w| d, one step is

    symmetric:  h_out = c^-1/2 (a I + w A) c^-1/2 h_in
    row:        h_out = c^-1   (a I + w A)        h_in

On a directed graph the row form may also take the out-neighbours, with a weight v of their own and
their number e:

    both ways:  h_out = c^-1 (a I + w A + v Aᵀ) h_in,   c = a + |w| d + |v| e

The paper's renormalised kernel A*_k is the symmetric form with a = λ_k - 1 and w = 1: the factor
2 / λ_k of its A_k cancels in D_k^-1/2 A_k D_k^-1/2. An isolated node keeps its signal for every
a > 0, since a / c = 1; it keeps it at a = 0 too, where the formula reads 0 / 0.
"""

import math

import torch
from torch import Tensor

from akgnn.errors import GraphError, SettingsError
from akgnn.graph import Graph
from akgnn.ops.composed import Normalisation, Weight, composed_step
from akgnn.ops.neighbour_sum import check_signal, neighbour_sum_reference
from akgnn.ops.triton_backend import is_fused

# Groups of fewer channels leave a GPU's threads idle in the fused op.
_NARROWEST_GROUP = 8


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
        out_weight: v of either sign, of the nodes that a node's own edges lead to; row form only.
        normalisation: `"sym"` or `"row"`.
    """
    given = [x for x in (self_weight, neighbour_weight, out_weight) if x is not None]
    if torch.compiler.is_exporting():
        # An exported program has to be made of plain operations and to fit graphs of any size.
        weights = [spread(x, h.size(-1)) for x in given]
        return adaptive_propagate_reference(graph, h, *weights, normalisation=normalisation)
    weights = checked_weights(graph, h, normalisation, *given)
    groups = groups_if_fused(h, *weights)
    if groups is not None and out_weight is None:
        return _fused(graph, h, *weights, groups=groups, normalisation=normalisation)
    return composed_step(graph, h, normalisation, *(spread(x, h.size(-1)) for x in weights))


def groups_if_fused(h: Tensor, *weights: Weight) -> int | None:
    """The groups of channels that weights make, if the fused ops take them; else None."""
    groups = max(_groups(weight) for weight in weights)
    fits = h.numel() > 0 and (groups == 1 or h.size(-1) // groups >= _NARROWEST_GROUP)
    return groups if fits and is_fused(h) else None


def _fused(
    graph: Graph, h: Tensor, a: Weight, w: Weight, *, groups: int, normalisation: Normalisation
) -> Tensor:
    from akgnn.ops.fused import fused_step

    signal = h if h.dim() == 3 else h.unsqueeze(0)
    own, others = (scalar_block(weight, signal.size(0), groups, h.device) for weight in (a, w))
    return fused_step(graph, signal, own, others, normalisation).view_as(h)


def scalar_block(weight: Weight, replicas: int, groups: int, device: torch.device) -> Tensor:
    """A weight in the shape (replicas, groups) of the fused ops."""
    if not isinstance(weight, Tensor):
        return torch.full((replicas, groups), weight, dtype=torch.float32, device=device)
    return weight.reshape(-1, _groups(weight)).float().expand(replicas, groups)


def _groups(weight: Weight) -> int:
    return weight.size(-1) if isinstance(weight, Tensor) and weight.dim() else 1


def spread(weight: Weight, channels: int) -> Weight:
    """Weights of groups as weights of channels."""
    groups = _groups(weight)
    if not isinstance(weight, Tensor) or groups in (1, channels):
        return weight
    return weight.repeat_interleave(channels // groups, -1)


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

    def tensor(weight: Weight) -> Tensor:
        return torch.as_tensor(weight, dtype=h.dtype, device=h.device)

    a = tensor(self_weight)
    ways = [(graph, tensor(neighbour_weight))]
    if out_weight is not None:
        ways.append((graph.transpose, tensor(out_weight)))
    degrees = [way.degree.to(h.dtype).unsqueeze(1) for way, _ in ways]
    c = a + sum(w.abs() * degree for (_, w), degree in zip(ways, degrees, strict=True))
    alone = (sum(degrees) == 0) | (c == 0)
    c = torch.where(alone, 1, c)
    left, right = (c**-0.5, c**-0.5) if normalisation == "sym" else (1 / c, torch.ones_like(c))
    total = a * right * h
    for way, w in ways:
        total = total + w * neighbour_sum_reference(way, right * h)
    return torch.where(alone, h, left * total)


def checked_weights(
    graph: Graph, h: Tensor, normalisation: Normalisation, *given: Weight
) -> list[Weight]:
    """Self, neighbour and out weights, each as rows of groups; refuses what makes no step."""
    check_signal(graph, h)
    names = ("self_weight", "neighbour_weight", "out_weight")
    rows = [x.reshape(-1) if isinstance(x, Tensor) and h.dim() == 2 else x for x in given]
    weights = dict(zip(names, rows, strict=False))
    if normalisation not in ("sym", "row"):
        raise SettingsError(f"normalisation must be 'sym' or 'row', got {normalisation!r}.")
    if graph.has_negative_weights:
        raise GraphError(
            "The kernel divides by degrees, which negative edge weights leave without meaning; "
            "use their absolute values, or a negative neighbour_weight to subtract neighbours."
        )
    if normalisation == "sym" and not graph.is_symmetric:
        raise GraphError(
            "The symmetric kernel needs an undirected graph and this one is directed; take "
            "graph.symmetrised() (--direction symmetrised), or normalisation='row' or 'directed'."
        )
    if normalisation == "sym" and "out_weight" in weights:
        raise SettingsError("out_weight needs normalisation='row'.")
    for name, weight in weights.items():
        if isinstance(weight, Tensor) and weight.device != h.device:
            raise GraphError(
                f"{name} lies on {weight.device} and the signals on {h.device}; use {name}.to(...)."
            )
        if isinstance(weight, Tensor) and weight.numel() != 1:
            _check_size(name, weight, h)
        if not isinstance(weight, Tensor) and not math.isfinite(weight):
            raise SettingsError(f"{name} must be finite, got {weight}.")
    a = weights["self_weight"]
    # On a GPU the question would make the processor wait for the answer.
    is_negative = bool((a < 0).any()) if isinstance(a, Tensor) and a.device.type == "cpu" else False
    if is_negative or (not isinstance(a, Tensor) and a < 0):
        raise SettingsError(f"self_weight must not be negative, got {a}.")
    return rows


def _check_size(name: str, weight: Tensor, h: Tensor) -> None:
    channels, groups = h.size(-1), _groups(weight)
    replicas = (h.size(0),) if h.dim() == 3 else ()
    if weight.shape != (*replicas, groups):
        raise SettingsError(
            f"{name} must be one number, or have a row for each of {h.size(0)} replicas, "
            f"got shape {list(weight.shape)}."
        )
    if channels % groups:
        raise SettingsError(
            f"{name}: {channels} channels cannot be shared out evenly among {groups} groups."
        )
