import pytest
import torch

from akgnn.graph import Graph
from akgnn.models.mlp import MLP
from akgnn.ops.dropout import Noise
from oracles import random_graph, sparse


@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_equals_the_formula(num_layers):
    graph = random_graph(0)
    model = MLP(6, 5, 3, num_layers=num_layers).double().eval()
    h = x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    for k, layer in enumerate(model.layers):
        torch.nn.init.normal_(layer.bias)
        h = (torch.relu(h) if k else h) @ layer.weight + layer.bias
    torch.testing.assert_close(model(x, graph), h, rtol=1e-10, atol=1e-10)


def test_edges_do_not_matter():
    one, other = random_graph(0), random_graph(1)
    none = Graph.from_edge_index(torch.zeros(2, 0, dtype=torch.int64), num_nodes=one.num_nodes)
    x = torch.randn(one.num_nodes, 6)
    model = MLP(6, 5, 3)
    for graph in (other, none):
        assert torch.equal(model(x, one, Noise(1)), model(x, graph, Noise(1)))


@pytest.mark.parametrize("noise", [None, Noise(2)])
def test_sparse_features_give_what_dense_ones_give(noise):
    graph = random_graph(0)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64).relu()
    model = MLP(6, 5, 3).double().train(noise is not None)
    torch.testing.assert_close(model(sparse(x), graph, noise), model(x, graph, noise))


def test_every_layers_input_is_dropped():
    graph = random_graph(0)
    x = torch.randn(graph.num_nodes, 6)
    model, noise = MLP(6, 5, 3, dropout=0.5), Noise(3)
    hidden = torch.relu(model.layers[0](model.drops[0](x, noise)))
    expected = model.layers[1](model.drops[1](hidden, noise))
    torch.testing.assert_close(model(x, graph, noise), expected)
    assert model.drops[0].place != model.drops[1].place


def test_the_first_layer_is_named_for_weight_decay():
    model = MLP(6, 5, 3)
    assert model.first_layer is model.layers[0]
