import torch
import torch_geometric.nn as pyg

from akgnn.models.sgc import SGC, SSGC
from oracles import random_graph, renormalised


def with_weights_of(ours, theirs):
    with torch.no_grad():
        ours.bias.copy_(torch.randn(len(ours.bias)))
        theirs.lin.weight.copy_(ours.linear.weight.T)
        theirs.lin.bias.copy_(ours.bias)
    return theirs


def test_sgc_equals_pygs():
    graph = random_graph(0)
    x = torch.randn(graph.num_nodes, 6)
    ours = SGC(6, 3, num_layers=3)
    theirs = with_weights_of(ours, pyg.SGConv(6, 3, K=3))
    torch.testing.assert_close(ours(x, graph), theirs(x, graph.edge_index), rtol=1e-5, atol=1e-6)


def test_ssgc_equals_pygs():
    graph = random_graph(1)
    x = torch.randn(graph.num_nodes, 6)
    ours = SSGC(6, 3, num_layers=5, alpha=0.1)
    theirs = with_weights_of(ours, pyg.SSGConv(6, 3, alpha=0.1, K=5))
    torch.testing.assert_close(ours(x, graph), theirs(x, graph.edge_index), rtol=1e-5, atol=1e-6)


def test_both_equal_the_dense_formula():
    graph = random_graph(2)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    kernel = renormalised(graph)
    sgc = SGC(6, 3).double()
    torch.testing.assert_close(sgc(x, graph), kernel @ kernel @ x @ sgc.linear.weight + sgc.bias)
    ssgc = SSGC(6, 3, num_layers=4, alpha=0.2).double()
    powers = [torch.linalg.matrix_power(kernel, k) for k in range(1, 5)]
    mixed = 0.2 * x + 0.8 / 4 * sum(powers) @ x
    torch.testing.assert_close(ssgc(x, graph), mixed @ ssgc.linear.weight + ssgc.bias)
