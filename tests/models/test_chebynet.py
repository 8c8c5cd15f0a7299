import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.nn import ChebConv as PyGChebConv

from akgnn.errors import GraphError
from akgnn.models.chebynet import ChebConv, ChebyNet, chebyshev_sum
from oracles import chebyshev, graphs, random_graph


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


@given(graphs(), st.integers(1, 5))
def test_the_sum_equals_the_polynomials_written_out(graph, order):
    signals = list(torch.randn(order, graph.num_nodes, 3, dtype=torch.float64))
    expected = sum(p @ z for p, z in zip(chebyshev(graph, order), signals, strict=True))
    torch.testing.assert_close(chebyshev_sum(graph, signals), expected)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_the_layer_of_pyg(order, weighted):
    graph = random_graph(1, weighted=weighted, isolated=2)
    ours, theirs = ChebConv(6, 4, order).double(), PyGChebConv(6, 4, order).double()
    with torch.no_grad():
        ours.bias.uniform_()
        theirs.bias.copy_(ours.bias)
        for linear, other in zip(ours.linears, theirs.lins, strict=True):
            other.weight.copy_(linear.weight.T)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    expected = theirs(x, graph.edge_index, graph.edge_weight, lambda_max=graph.largest_frequency)
    torch.testing.assert_close(ours(x, graph), expected, rtol=1e-6, atol=1e-6)


def test_gradients_equal_the_numerical_ones():
    graph = random_graph(2, weighted=True)
    z = torch.randn(3, graph.num_nodes, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda z: chebyshev_sum(graph, list(z)), z)


def test_a_directed_graph_is_refused():
    graph = random_graph(0, directed=True)
    with pytest.raises(GraphError, match="undirected"):
        ChebConv(6, 4, 3)(torch.randn(graph.num_nodes, 6), graph)
