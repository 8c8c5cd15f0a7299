"""A small graph whose explanations are known, and models to explain."""

import torch
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.data.splits import Split
from akgnn.graph import Graph
from akgnn.ops.adaptive import adaptive_propagate

# Node 0 is explained. Node 1 is strongly of class b, nodes 2 and 3 are weakly of class a; node 4
# lies behind node 1 and node 5 has no edges.
EDGES = torch.tensor([[0, 0, 0, 1], [1, 2, 3, 4]])
FEATURES = torch.tensor([[0.0, 0], [0, 9], [1, 0], [1, 0], [0, 5], [3, 0]])


def star(features: Tensor = FEATURES, y: Tensor | None = None) -> NodeData:
    """The graph, with two classes; node 3 has no label."""
    graph = Graph.from_edge_index(EDGES, num_nodes=6).symmetrised()
    return NodeData(
        name="star",
        x=features,
        y=torch.tensor([0, 1, 0, -1, 1, 0]) if y is None else y,
        graph=graph,
        split=Split(
            "by-hand", train=torch.tensor([1, 2]), val=torch.tensor([4]), test=torch.tensor([0])
        ),
        class_names=("a", "b"),
    )


class Smoothing(nn.Module):
    """Logits are the features, smoothed twice as GCN does it: linear in them."""

    def forward(self, x: Tensor, graph: Graph) -> Tensor:
        """Class scores."""
        for _ in range(2):
            x = adaptive_propagate(graph, x, 1.0)
        return x
