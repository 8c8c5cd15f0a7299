"""What goes into an op: the graph, signals and weights; their checks, and what takes them."""

import math
import warnings
from functools import cache
from importlib.util import find_spec
from typing import Literal

import torch
from torch import Tensor

from akgnn.csr import CSR, check_tensor
from akgnn.errors import DataError, GraphError, SettingsError
from akgnn.graph import Graph

Normalisation = Literal["sym", "row"]
Weight = Tensor | float

_FUSED_DTYPES = (torch.float32, torch.bfloat16, torch.float16)
# Groups of fewer channels leave a GPU's threads idle in the fused ops.
_NARROWEST_GROUP = 8


def as_graph(graph: Graph | Tensor, x: Tensor | CSR, edge_weight: Tensor | None = None) -> Graph:
    """The graph itself, or the one of PyG's `edge_index` and weights between the rows of `x`."""
    if not isinstance(x, Tensor | CSR):
        raise DataError(
            f"x must be a torch tensor or CSR, with the graph after it; got {type(x).__name__}."
        )
    if isinstance(graph, Tensor):
        if len(x.shape) < 2:
            raise DataError(f"x must have shape (nodes, channels), got {list(x.shape)}.")
        return Graph.from_edge_index(graph, edge_weight, num_nodes=x.shape[-2])
    if edge_weight is not None:
        raise SettingsError("edge_weight goes with edge_index; a Graph holds its own weights.")
    check_graph(graph)
    # While a model is exported, sizes are symbols.
    is_fixed = isinstance(graph, Graph)
    if is_fixed and (len(x.shape) < 2 or x.shape[-2] != graph.num_nodes):
        raise GraphError(
            f"Node signals must have shape ({graph.num_nodes}, channels) for this graph, "
            f"got {list(x.shape)}."
        )
    return graph


def check_graph(graph: object) -> None:
    """Refuse what is no `Graph`, nor stands for one while a model is exported."""
    if not hasattr(type(graph), "mean_degree"):
        raise GraphError(
            f"graph must be a Graph or PyG's edge_index, got {type(graph).__name__}; "
            "Graph.from_edge_index, from_scipy, from_networkx and from_pyg make one."
        )


def is_fused(h: Tensor) -> bool:
    """Whether the Triton ops take this signal: on a GPU, in float32 or lower."""
    return h.is_cuda and h.dtype in _FUSED_DTYPES and _has_triton()


@cache
def _has_triton() -> bool:
    """Whether Triton is installed; says once if it is missed."""
    if find_spec("triton") is not None:
        return True
    warnings.warn(
        "Triton is not installed, so PyTorch's own operations are used on the GPU, which take "
        "two to three times as long; pip install 'akgnn[gpu]' brings it.",
        stacklevel=2,
    )
    return False


def groups_if_fused(graph: Graph, h: Tensor, *weights: Weight) -> int | None:
    """The groups of channels that weights make, if the fused ops take them; else None."""
    if not graph.is_whole:
        return None
    groups = max(num_groups(weight) for weight in weights)
    fits = h.numel() > 0 and (groups == 1 or h.size(-1) // groups >= _NARROWEST_GROUP)
    return groups if fits and is_fused(h) else None


def check_signal(graph: Graph, h: Tensor) -> None:
    """Refuse a signal that does not have one row of floating-point channels for each node."""
    check_graph(graph)
    check_tensor("The signal", h)
    if h.dim() not in (2, 3) or h.size(-2) != graph.num_nodes:
        raise GraphError(
            f"Node signals must have shape ({graph.num_nodes}, channels) for this graph, "
            f"got {list(h.shape)}."
        )
    if not h.is_floating_point():
        raise GraphError(f"Node signals must be floating-point numbers, got {h.dtype}.")
    if h.device != graph.device:
        raise GraphError(
            f"Signals lie on {h.device} and the graph on {graph.device}; use graph.to(...)."
        )


def checked_weights(
    graph: Graph, h: Tensor, normalisation: Normalisation, *weights: Weight
) -> list[Weight]:
    """Self weight, neighbour weight and, if any, out weight of a step, each as rows of groups.

    Raises:
        GraphError: The graph, the signals and the weights do not fit together.
        SettingsError: A weight is negative where it must not be, not finite or of a wrong shape.
    """
    check_signal(graph, h)
    _check_graph(graph, normalisation)
    if normalisation == "sym" and len(weights) > 2:
        raise SettingsError("out_weight needs normalisation='row'.")
    rows = [w.reshape(-1) if isinstance(w, Tensor) and h.dim() == 2 else w for w in weights]
    names = ("self_weight", "neighbour_weight", "out_weight")
    for name, weight in zip(names, rows, strict=False):
        _check_weight(name, weight, h)
    _check_not_negative(rows[0])
    return rows


def spread(weight: Weight, channels: int) -> Weight:
    """Weights of groups as weights of channels."""
    groups = num_groups(weight)
    if not isinstance(weight, Tensor) or groups in (1, channels):
        return weight
    return weight.repeat_interleave(channels // groups, -1)


def num_groups(weight: Weight) -> int:
    """How many groups of channels a weight tells apart."""
    return weight.size(-1) if isinstance(weight, Tensor) and weight.dim() else 1


def _check_graph(graph: Graph, normalisation: Normalisation) -> None:
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
            "graph.symmetrised() (`direction='symmetrised'`), or normalisation='row' or 'directed'."
        )


def _check_weight(name: str, weight: Weight, h: Tensor) -> None:
    if not isinstance(weight, Tensor):
        if not isinstance(weight, int | float):
            raise SettingsError(f"{name} must be a number or a tensor, got {weight!r}.")
        if not math.isfinite(weight):
            raise SettingsError(f"{name} must be finite, got {weight}.")
        return
    if weight.device != h.device:
        raise GraphError(
            f"{name} lies on {weight.device} and the signals on {h.device}; use {name}.to(...)."
        )
    if weight.numel() != 1:
        _check_size(name, weight, h)


def _check_size(name: str, weight: Tensor, h: Tensor) -> None:
    channels, groups = h.size(-1), num_groups(weight)
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


def _check_not_negative(self_weight: Weight) -> None:
    if isinstance(self_weight, Tensor):
        # On a GPU the question would make the CPU wait for the answer.
        is_negative = self_weight.device.type == "cpu" and bool((self_weight < 0).any())
    else:
        is_negative = self_weight < 0
    if is_negative:
        raise SettingsError(f"self_weight must not be negative, got {self_weight}.")
