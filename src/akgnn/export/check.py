"""Whether an exported model gives the answers of the model it was made from."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.data.node_data import NodeData
from akgnn.errors import ExportError
from akgnn.graph import Graph

# The most that answers may differ, which are rounded after sums in another order.
TOLERANCE = 1e-5

Case = tuple[Tensor, Graph]
Run = Callable[[Tensor, Graph], Tensor]


def own_case(data: NodeData) -> Case:
    """The features and the graph of the data."""
    return (data.x.to_dense(torch.float32) if isinstance(data.x, CSR) else data.x), data.graph


def other_cases(x: Tensor, *, is_weighted: bool) -> list[Case]:
    """A second graph of another size, with isolated nodes, and a third without any edges.

    Args:
        x: Features whose rows the nodes are given.
        is_weighted: Whether the edges have weights.
    """
    source = torch.Generator().manual_seed(0)
    edges = torch.randint(40, (2, 90), generator=source)
    weight = torch.rand(90, generator=source) if is_weighted else None
    graph = Graph.from_edge_index(edges, weight, num_nodes=43).symmetrised()
    empty = Graph.from_edge_index(torch.empty(2, 0, dtype=torch.int64), num_nodes=7)
    return [
        (x[torch.randint(len(x), (each.num_nodes,), generator=source)], each)
        for each in (graph, empty)
    ]


@torch.no_grad()
def largest_difference(model: nn.Module, run: Run, cases: Sequence[Case]) -> float:
    """By how much the answers differ at most, relative to the largest score if above 1.

    A difference beyond the tolerance is an error.
    """
    largest = 0.0
    for x, graph in cases:
        wanted, found = model(x, graph), run(x, graph)
        if found.shape != wanted.shape:
            raise ExportError(
                f"the exported file gives {list(found.shape)} numbers instead of "
                f"{list(wanted.shape)} on a graph of {graph.num_nodes} nodes"
            )
        difference = float((found - wanted).abs().max()) / max(1.0, float(wanted.abs().max()))
        # Written so that a NaN is refused.
        if not difference <= TOLERANCE:
            raise ExportError(
                f"the exported file gives other answers: they differ by {difference:.2g} on a "
                f"graph of {graph.num_nodes} nodes and {graph.num_edges} edges"
            )
        largest = max(largest, difference)
    return largest


def inputs_of(x: Tensor, graph: Graph) -> tuple[Tensor, Tensor, Tensor]:
    """What an exported model may take: x, edge_index and edge_weight."""
    weight = graph.edge_weight
    return x, graph.edge_index, torch.ones(graph.num_edges) if weight is None else weight.float()
