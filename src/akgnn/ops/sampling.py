"""Random parts of a graph, drawn from a counter like dropout's masks."""

import torch
from torch import Tensor

from akgnn.graph import Graph
from akgnn.hashing import Key
from akgnn.ops.dropout import hashed


def sample_neighbours(graph: Graph, fan_out: int, key: Key) -> Tensor:
    """The `edge_index` of a graph in which each node keeps at most `fan_out` in-neighbours.

    Args:
        graph: The whole graph.
        fan_out: The most neighbours a node keeps, drawn evenly without repeats.
        key: From `Noise.key`.
    """
    pattern = graph.adjacency.pattern
    # Sorted by hash within each row, the first few of a row are an even draw.
    by_hash = torch.argsort(hashed(graph.num_edges, key, graph.device))
    order = by_hash[torch.argsort(pattern.row[by_hash], stable=True)]
    rank = torch.arange(graph.num_edges, device=graph.device) - pattern.rowptr[pattern.row[order]]
    return graph.edge_index[:, order[rank < fan_out]]


def sample_edges(graph: Graph, keep: float, key: Key) -> Graph:
    """The graph with a random share `keep` of its undirected edges, both directions together.

    Args:
        graph: The whole graph.
        keep: Share of the edges to keep, rounded to whole edges.
        key: From `Noise.key`.
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
