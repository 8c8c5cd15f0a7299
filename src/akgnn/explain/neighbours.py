"""Which neighbours of a node decided its class: what changes when an edge is taken out.

The measure is the log-odds of the predicted class c against all others, log(p_c / (1 - p_c)).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from akgnn.csr import CSR, Pattern, rowptr_from_rows
from akgnn.data.node_data import NodeData
from akgnn.explain.nodes import NodeFacts, facts_of
from akgnn.graph import Graph

# A smaller change of the log-odds is nothing to speak of.
HARDLY_BELOW = 0.01


@dataclass(frozen=True)
class Neighbour:
    """A node that an edge joins to the explained one.

    Attributes:
        facts: About it.
        effect: What the edges between the two add to the log-odds of the explained node's class.
        without: Name of the class that the explained node would get without those edges.
    """

    facts: NodeFacts
    effect: float
    without: str

    @property
    def says(self) -> str:
        """The effect in words."""
        if abs(self.effect) < HARDLY_BELOW:
            return "hardly matters"
        return "speaks for" if self.effect > 0 else "speaks against"


@torch.no_grad()
def neighbour_effects(
    model: nn.Module, data: NodeData, node: int, others: Sequence[int], logits: Tensor
) -> list[Neighbour]:
    """The effect of each neighbour, the greatest first.

    It is exact: the log-odds as they are, less those that the same model gives on the graph without
    the edges between the two nodes. Each takes one forward pass over the whole graph, since some
    models measure that as a whole, by its mean degree or its largest frequency.

    Args:
        model: In evaluation mode.
        data: The data.
        node: The explained node.
        others: The neighbours to look at.
        logits: What the model gives for all nodes.
    """
    chosen = int(logits[node].argmax())
    before = float(log_odds(logits[node], chosen))
    found = []
    for other in others:
        without: Tensor = model(data.x, without_edges(data.graph, node, other))[node]
        found.append(
            Neighbour(
                facts_of(other, int(logits[other].argmax()), data),
                before - float(log_odds(without, chosen)),
                data.class_names[int(without.argmax())],
            )
        )
    return sorted(found, key=lambda neighbour: -abs(neighbour.effect))


def log_odds(logits: Tensor, chosen: int) -> Tensor:
    """The log-odds of one class of a node against all others together."""
    others = torch.cat([logits[:chosen], logits[chosen + 1 :]])
    return logits[chosen] - others.logsumexp(0)


def without_edges(graph: Graph, node: int, other: int | None = None) -> Graph:
    """The graph without the edges between two nodes, or without all edges of one."""
    pattern, value = graph.adjacency.pattern, graph.edge_weight
    row, col = pattern.row.long(), pattern.col.long()
    if other is None:
        kept = (row != node) & (col != node)
    else:
        kept = ((row != node) | (col != other)) & ((row != other) | (col != node))
    rowptr = rowptr_from_rows(row[kept], graph.num_nodes)
    fewer = Pattern(rowptr, col[kept], pattern.shape, copy=False)
    return Graph(CSR(fewer, None if value is None else value[kept]))
