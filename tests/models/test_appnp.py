import torch
import torch_geometric.nn as pyg

from akgnn.models.appnp import APPNP
from akgnn.ops.dropout import Noise
from oracles import random_graph, renormalised


def by_the_formula(model, x, kernel):
    first, second = model.first_layer, model.second_layer
    h = torch.relu(x @ first.weight + first.bias) @ second.weight + second.bias
    z = h
    for _ in range(model.settings.num_layers):
        z = (1 - model.settings.alpha) * kernel @ z + model.settings.alpha * h
    return z


def test_equals_the_dense_formula():
    graph = random_graph(0)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = APPNP(6, 5, 3, num_layers=4).double().eval()
    torch.testing.assert_close(model(x, graph), by_the_formula(model, x, renormalised(graph)))


def test_propagation_equals_pygs():
    graph = random_graph(1)
    model = APPNP(6, 5, 3).eval()
    x = torch.randn(graph.num_nodes, 6)
    h = model.second_layer(torch.relu(model.first_layer(x)))
    expected = pyg.APPNP(K=10, alpha=0.1)(h, graph.edge_index)
    torch.testing.assert_close(model(x, graph), expected, rtol=1e-6, atol=1e-6)


def test_entries_of_the_matrix_are_dropped_in_training():
    graph = random_graph(2)
    x = torch.randn(graph.num_nodes, 6)
    model = APPNP(6, 5, 3, dropout=0.0, edge_dropout=0.5, num_layers=1)
    noise = Noise(0)
    kernel = model.drop_edges[0](graph.renormalised, noise).to_dense()
    assert (kernel == 0).sum() > (graph.renormalised.to_dense() == 0).sum()
    torch.testing.assert_close(model(x, graph, noise), by_the_formula(model, x, kernel))
