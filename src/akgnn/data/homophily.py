"""How often linked nodes agree, and how often they would by chance."""

from dataclasses import dataclass

import torch
from torch import Tensor

from akgnn.graph import Graph


@dataclass(frozen=True)
class Homophily:
    """Whether linked nodes tend to be of one class.

    Attributes:
        share: Of the edges, those that join two nodes of one class; NaN without edges.
        expected: The share if every end of an edge took a class at random, each as often as the
            ends in this graph have it: Σ_c (D_c / D)², with D_c the degrees of class c added up.
            Linked nodes tend to agree where `share` is above this, and to differ where it is below.
        num_edges: How many edges; both directions of an undirected one count once.
    """

    share: float
    expected: float
    num_edges: int


def homophily_among(graph: Graph, y: Tensor, nodes: Tensor) -> Homophily:
    """Homophily of the edges that have both ends among `nodes`, which all have a class."""
    is_chosen = torch.zeros(graph.num_nodes, dtype=torch.bool, device=y.device)
    is_chosen[nodes] = True
    source, target = graph.edge_index
    between = is_chosen[source] & is_chosen[target]
    starts, ends = y[source[between]], y[target[between]]
    directions = len(starts)
    if not directions:
        return Homophily(float("nan"), float("nan"), 0)
    classes = int(y.max()) + 1
    # In a directed graph a class may have other shares of the sources than of the targets.
    shares = [
        torch.bincount(side, minlength=classes).double() / directions for side in (starts, ends)
    ]
    return Homophily(
        share=int((starts == ends).sum()) / directions,
        expected=float(shares[0] @ shares[1]),
        num_edges=directions // 2 if graph.is_symmetric else directions,
    )
