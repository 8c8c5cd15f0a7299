"""K adaptive steps in a row, each followed by dropout, and the readout of their results."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from math import ceil, sqrt
from typing import Literal

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from akgnn.graph import Graph
from akgnn.hashing import Key
from akgnn.ops.adaptive import adaptive_propagate
from akgnn.ops.composed import composed_step
from akgnn.ops.dropout import Masking, check_rate, dropout
from akgnn.ops.inputs import Normalisation, Weight, checked_weights, groups_if_fused
from akgnn.ops.rows import current_division, remembering

ChainReadout = Literal["sum", "mean", "last"]
"""What a chain can make of its results."""


def adaptive_chain(
    graph: Graph,
    h: Tensor,
    weights: Sequence[Sequence[Weight]],
    *,
    readout: ChainReadout = "sum",
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
        keys: Keys of the masks, from `Noise.keys`, one for each layer; nothing is dropped without.
        normalisation: `"sym"` or `"row"`.
        recompute: Whether the backward pass computes most of the H^(k) again instead of keeping
            them: about √K signals are held at a time instead of K, for one more forward pass.

    Raises:
        GraphError: The form does not take this graph, or signals do not fit it.
        SettingsError: A weight or the rate is outside its range.
    """
    check_rate("rate", rate)
    if torch.compiler.is_exporting():
        steps = [partial(_step, graph, a, w, 0.0, None, normalisation) for a, w in weights]
        return _composed(steps, h, readout, recompute=False)
    layers = [checked_weights(graph, h, normalisation, *pair) for pair in weights]
    keys = keys if rate > 0 else None
    groups = groups_if_fused(graph, h, *chain.from_iterable(layers))
    if groups is not None:
        from akgnn.ops.fused import fused_chain

        return fused_chain(
            graph,
            h,
            layers,
            groups,
            normalisation,
            readout=readout,
            rate=rate,
            keys=keys,
            recompute=recompute,
        )
    masks: Sequence[Key | None] = [None] * len(layers) if keys is None else keys
    steps = [
        partial(_step, graph, a, w, rate, key, normalisation)
        for (a, w), key in zip(layers, masks, strict=True)
    ]
    return _composed(steps, h, readout, recompute)


def _step(
    graph: Graph, a: Weight, w: Weight, rate: float, key: Key | None, form: Normalisation, h: Tensor
) -> Tensor:
    if current_division() is not None:
        # In one operation, which keeps one signal in place of two.
        masking = None if key is None else Masking.here(rate, key)
        return composed_step(graph, h, form, a, w, mask=masking)
    h = adaptive_propagate(graph, h, a, w, normalisation=form)
    return h if key is None else dropout(h, rate, key)


def _composed(
    steps: Sequence[Callable[[Tensor], Tensor]], h: Tensor, readout: ChainReadout, recompute: bool
) -> Tensor:
    size = ceil(sqrt(len(steps))) if recompute else len(steps)
    sums = []
    for start in range(0, len(steps), size):
        part = partial(_run, steps[start : start + size])
        h, total = (
            checkpoint(remembering(part), h, use_reentrant=False, preserve_rng_state=False)
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

    def outputs() -> Iterator[Tensor]:
        nonlocal h
        for step in steps:
            h = step(h)
            yield h

    # One after the other: where nothing is learned, no more than two are held at a time.
    total = added_up(outputs())
    return h, total


def added_up(signals: Iterable[Tensor]) -> Tensor:
    """Their sum, added up in place: a new signal for every addition would cost another pass."""
    total, is_own = None, False
    for h in signals:
        if total is None:
            total = h
        elif is_own:
            total += h
        else:
            total, is_own = total + h, True
    assert total is not None, "a sum has something to add up"
    return total
