import pytest
import torch

from akgnn.models.chebynet import ChebyNet
from oracles import chebyshev, random_graph


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_the_dense_formula(order, weighted):
    graph = random_graph(0, weighted=weighted)
    model = ChebyNet(6, 5, 3, order=order).double().eval()
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)

    def layer(layer, h):
        polynomials = chebyshev(graph, order)
        weights = [linear.weight for linear in layer.linears]
        return sum(p @ h @ w for p, w in zip(polynomials, weights, strict=True)) + layer.bias

    hidden = torch.relu(layer(model.first_layer, x))
    torch.testing.assert_close(model(x, graph), layer(model.second_layer, hidden))
