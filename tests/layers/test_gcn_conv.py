import pytest
import torch
import torch_geometric.nn as pyg

from akgnn.layers.gcn_conv import GCNConv
from oracles import random_graph, renormalised


@pytest.mark.parametrize("weighted", [False, True])
def test_equals_pygs_layer(weighted):
    graph = random_graph(0, weighted=weighted)
    ours, theirs = GCNConv(6, 4), pyg.GCNConv(6, 4)
    with torch.no_grad():
        ours.bias.copy_(torch.randn(4))
        theirs.lin.weight.copy_(ours.linear.weight.T)
        theirs.bias.copy_(ours.bias)
    x = torch.randn(graph.num_nodes, 6)
    weight = None if graph.edge_weight is None else graph.edge_weight.float()
    expected = theirs(x, graph.edge_index, weight)
    torch.testing.assert_close(ours(x, graph), expected, rtol=1e-6, atol=1e-6)


def test_equals_the_dense_formula():
    graph = random_graph(1)
    conv = GCNConv(6, 4).double()
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    expected = renormalised(graph) @ x @ conv.linear.weight + conv.bias
    torch.testing.assert_close(conv(x, graph), expected)
