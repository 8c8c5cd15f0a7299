"""Noise added to a data set on purpose, to see how much of it a model stands."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from akgnn.csr import CSR, rowptr_from_rows
from akgnn.data.node_data import NodeData
from akgnn.errors import DataError
from akgnn.graph import Graph
from akgnn.settings import Settings, non_negative, seed, share


@dataclass(frozen=True, kw_only=True)
class NoiseSettings(Settings):
    """How a data set is made worse.

    Attributes:
        added_edges: Random edges that are added, as a share of those that are there.
        dropped_features: Share of the features other than 0 that become 0.
        seed: Seed of both draws.
    """

    added_edges: float = non_negative(0.0)
    dropped_features: float = share(0.0)
    seed: int = seed()

    @property
    def said(self) -> str:
        """What was done, in words."""
        parts = {"edges added": self.added_edges, "features dropped": self.dropped_features}
        done = [f"{100 * part:g} % {what}" for what, part in parts.items() if part]
        return ", ".join(done) or "none"


def with_noise(data: NodeData, settings: NoiseSettings) -> NodeData:
    """The same data with random edges added and features dropped; labels and split stay.

    Raises:
        DataError: The graph has weights, or has no room for so many edges.
    """
    draw = np.random.default_rng(settings.seed)
    graph = _with_edges(data.graph, settings.added_edges, draw)
    x = _without(data.x, settings.dropped_features, draw)
    return replace(data, graph=graph, x=x, source={**data.source, "noise": settings.said})


def _with_edges(graph: Graph, added: float, draw: np.random.Generator) -> Graph:
    """As many pairs more as the share says, drawn evenly among those without an edge."""
    if graph.edge_weight is not None:
        raise DataError("Edges can be added to graphs without weights alone.")
    nodes, both = graph.num_nodes, graph.is_symmetric
    source, target = graph.edge_index.numpy()
    if both:
        source, target = source[source <= target], target[source <= target]
    known = source * nodes + target
    wanted = round(added * len(known))
    possible = nodes * (nodes - 1) // (2 if both else 1)
    if wanted > possible / 2 - len(known):
        raise DataError(
            f"added_edges={added:g} asks for {wanted:,} edges more, beyond half of the pairs that "
            f"{nodes:,} nodes have."
        )
    new = known[:0]
    while len(new) < wanted:
        a, b = draw.integers(nodes, size=(2, 2 * (wanted - len(new)) + 16))
        keys = np.minimum(a, b) * nodes + np.maximum(a, b) if both else a * nodes + b
        keys = np.concatenate([new, keys[(a != b) & ~np.isin(keys, known)]])
        _, first = np.unique(keys, return_index=True)
        new = keys[np.sort(first)][:wanted]
    pairs = torch.from_numpy(np.stack([new // nodes, new % nodes]))
    every = [graph.edge_index, pairs, *([pairs.flip(0)] if both else [])]
    return Graph.from_edge_index(torch.cat(every, dim=1), num_nodes=nodes)


def _without(x: Tensor | CSR, dropped: float, draw: np.random.Generator) -> Tensor | CSR:
    """Features of which each is 0 with that probability."""
    if isinstance(x, Tensor):
        return x * torch.from_numpy(draw.random(x.shape) >= dropped)
    kept = torch.from_numpy(draw.random(x.num_entries) >= dropped)
    rowptr = rowptr_from_rows(x.pattern.row[kept], x.shape[0])
    value = None if x.value is None else x.value[kept]
    return CSR.from_arrays(rowptr, x.pattern.col[kept], value, x.shape)
