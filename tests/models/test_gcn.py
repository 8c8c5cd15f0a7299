import pytest
import torch

from akgnn.models.gcn import GCN
from oracles import random_graph, renormalised


@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_equals_the_dense_formula(num_layers):
    graph = random_graph(0)
    model = GCN(6, 5, 3, num_layers=num_layers).double().eval()
    h = x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    kernel = renormalised(graph)
    for k, layer in enumerate(model.layers):
        h = kernel @ (torch.relu(h) if k else h) @ layer.linear.weight + layer.bias
    torch.testing.assert_close(model(x, graph), h)


def test_the_first_layer_is_named_for_weight_decay():
    model = GCN(6, 5, 3)
    assert model.first_layer is model.layers[0]
