"""K adaptive steps in a row, each followed by dropout, and the readout of their results."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from math import ceil, sqrt

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from akgnn.graph import Graph
from akgnn.hashing import Key
from akgnn.ops.adaptive import (
    adaptive_propagate,
    checked_weights,
    groups_if_fused,
    scalar_block,
)
from akgnn.ops.composed import Normalisation, Readout, Weight
from akgnn.ops.dropout import check_rate, dropout, dropped_lanes


def adaptive_chain(
    graph: Graph,
    h: Tensor,
    weights: Sequence[Sequence[Weight]],
    *,
    readout: Readout = "sum",
    rate: float = 0.0,
    keys: Sequence[Key] | None = None,
    normalisation: Normalisation = "sym",
    recompute: bool = False,
) -> Tensor:
    """The readout of H^(1) … H^(K), where H^(k) = dropout(A_k* H^(k-1)) and H^(0) = h.

    On a GPU every layer is one pass over the edges; elsewhere it is `adaptive_propagate`,
    `dropout` and a sum.

    Args:
        graph: As for `adaptive_propagate`.
        h: Node signals, shape (nodes, channels), or (replicas, nodes, channels).
        weights: Self weight and neighbour weight of every layer.
        readout: `sum`, `mean`, or `last`, which is H^(K).
        rate: Probability of dropping a value after each layer.
        keys: Of the masks, from `Noise.keys`, one for each layer; nothing is dropped without.
        normalisation: `"sym"` or `"row"`.
        recompute: Whether the backward pass computes most of the H^(k) again instead of keeping
            them: about √K signals are held at a time instead of K, for one more forward pass.
    """
    check_rate("rate", rate)
    if torch.compiler.is_exporting():
        steps = [partial(_step, graph, a, w, 0.0, None, normalisation) for a, w in weights]
        return _composed(steps, h, readout, recompute=False)
    layers = [checked_weights(graph, h, normalisation, *pair) for pair in weights]
    masks: list[Key | None] = [None] * len(layers)
    if keys is not None and rate > 0:
        masks = list(keys)
    if (groups := groups_if_fused(h, *chain.from_iterable(layers))) is not None:
        return _fused(graph, h, layers, groups, rate, masks, readout, normalisation, recompute)
    steps = [
        partial(_step, graph, a, w, rate, key, normalisation)
        for (a, w), key in zip(layers, masks, strict=True)
    ]
    return _composed(steps, h, readout, recompute)


def _step(
    graph: Graph,
    a: Weight,
    w: Weight,
    rate: float,
    key: Key | None,
    normalisation: Normalisation,
    h: Tensor,
) -> Tensor:
    h = adaptive_propagate(graph, h, a, w, normalisation=normalisation)
    return h if key is None else dropout(h, rate, key)


def _composed(
    steps: Sequence[Callable[[Tensor], Tensor]], h: Tensor, readout: Readout, recompute: bool
) -> Tensor:
    size = ceil(sqrt(len(steps))) if recompute else len(steps)
    sums = []
    for start in range(0, len(steps), size):
        part = partial(_run, steps[start : start + size])
        h, total = (
            checkpoint(part, h, use_reentrant=False, preserve_rng_state=False)
            if recompute
            else part(h)
        )
        sums.append(total)
    if readout == "last":
        return h
    total = added_up(sums)
    return total / len(steps) if readout == "mean" else total


def _run(steps: Sequence[Callable[[Tensor], Tensor]], h: Tensor) -> tuple[Tensor, Tensor]:
    """The last result of some steps, and the sum of all."""
    outputs = []
    for step in steps:
        h = step(h)
        outputs.append(h)
    return h, added_up(outputs)


def added_up(signals: Sequence[Tensor]) -> Tensor:
    """Their sum, added up in place: a new signal for every addition would cost another pass."""
    first, *others = signals
    if not others:
        return first
    total = first + others[0]
    for h in others[1:]:
        total += h
    return total


def _fused(
    graph: Graph,
    h: Tensor,
    weights: Sequence[Sequence[Weight]],
    groups: int,
    rate: float,
    keys: Sequence[Key | None],
    readout: Readout,
    normalisation: Normalisation,
    recompute: bool,
) -> Tensor:
    from akgnn.ops.fused import fused_chain
    from akgnn.ops.launch import Mask

    signal = h if h.dim() == 3 else h.unsqueeze(0)
    a, w = (
        torch.stack([scalar_block(weight, signal.size(0), groups, h.device) for weight in layers])
        for layers in zip(*weights, strict=True)
    )
    masks = None
    if None not in keys:
        tensors = [torch.as_tensor(key, device=h.device).view(-1) for key in keys]
        masks = tuple(Mask(key, *dropped_lanes(rate)) for key in tensors)
    out = fused_chain(
        graph, signal, a, w, normalisation, readout=readout, masks=masks, recompute=recompute
    )
    return out.view_as(h)
