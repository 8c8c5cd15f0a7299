import pytest
import torch

from akgnn.graph import Graph
from akgnn.models.appnp import APPNP
from akgnn.models.gprgnn import GPRGNN
from akgnn.ops.dropout import Noise
from oracles import random_graph, renormalised, sparse

EXACT = {"rtol": 1e-10, "atol": 1e-10}


def predicted(model, x):
    first, second = model.mlp.layers
    return torch.relu(x @ first.weight + first.bias) @ second.weight + second.bias


def by_the_formula(gamma, h, kernel):
    powers = [torch.linalg.matrix_power(kernel, k) @ h for k in range(len(gamma))]
    return sum(weight * power for weight, power in zip(gamma, powers, strict=True))


def with_other_weights(model):
    """As training might leave it: γ of both signs, biases that are not zero."""
    with torch.no_grad():
        model.gamma.normal_()
        for layer in model.mlp.layers:
            layer.bias.normal_()
    return model


@pytest.mark.parametrize("num_layers", [1, 4, 10])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_the_dense_formula(num_layers, weighted):
    graph = random_graph(0, weighted=weighted)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = with_other_weights(GPRGNN(6, 5, 3, num_layers=num_layers).double().eval())
    expected = by_the_formula(model.gamma, predicted(model, x), renormalised(graph))
    torch.testing.assert_close(model(x, graph), expected, **EXACT)


def test_gradients_equal_those_of_the_dense_formula():
    graph = random_graph(1)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = with_other_weights(GPRGNN(6, 5, 3, num_layers=4).double().eval())
    parameters = list(model.parameters())
    assert any(parameter is model.gamma for parameter in parameters)
    into = torch.randn(graph.num_nodes, 3, dtype=torch.float64)
    dense = by_the_formula(model.gamma, predicted(model, x), renormalised(graph))
    expected = torch.autograd.grad(dense, parameters, into)
    found = torch.autograd.grad(model(x, graph), parameters, into)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, **EXACT)


def test_gamma_starts_at_personalised_pagerank():
    gamma = GPRGNN(6, 5, 3, num_layers=3, alpha=0.2).gamma
    torch.testing.assert_close(gamma, torch.tensor([0.2, 0.16, 0.128, 0.512]))
    assert GPRGNN(6, 5, 3).gamma.shape == (11,)
    assert GPRGNN(6, 5, 3).gamma.sum().item() == pytest.approx(1)


@pytest.mark.parametrize(("alpha", "start"), [(1.0, [1.0, 0, 0]), (0.0, [0, 0, 1.0])])
def test_gamma_may_start_at_either_end(alpha, start):
    assert GPRGNN(6, 5, 3, num_layers=2, alpha=alpha).gamma.tolist() == start


def test_at_its_start_it_is_appnp():
    graph = random_graph(2)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = GPRGNN(6, 5, 3, num_layers=5).double().eval()
    appnp = APPNP(6, 5, 3, num_layers=5).double().eval()
    appnp.first_layer.load_state_dict(model.mlp.layers[0].state_dict())
    appnp.second_layer.load_state_dict(model.mlp.layers[1].state_dict())
    # The start of γ was rounded to float32 once.
    torch.testing.assert_close(model(x, graph), appnp(x, graph), rtol=1e-6, atol=1e-6)


def test_without_edges_the_prediction_is_scaled():
    graph = Graph.from_edge_index(torch.zeros(2, 0, dtype=torch.int64), num_nodes=4)
    x = torch.randn(4, 6, dtype=torch.float64)
    model = with_other_weights(GPRGNN(6, 5, 3).double().eval())
    expected = model.gamma.sum() * predicted(model, x)
    torch.testing.assert_close(model(x, graph), expected, **EXACT)


@pytest.mark.parametrize("noise", [None, Noise(2)])
def test_sparse_features_give_what_dense_ones_give(noise):
    graph = random_graph(3)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64).relu()
    model = GPRGNN(6, 5, 3).double().train(noise is not None)
    torch.testing.assert_close(model(sparse(x), graph, noise), model(x, graph, noise), **EXACT)


def test_what_enters_the_propagation_is_dropped():
    graph = random_graph(4)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model, noise = GPRGNN(6, 5, 3, num_layers=3).double(), Noise(5)
    h = model.drop_propagation(model.mlp(x, graph, noise), noise)
    assert (h == 0).any()
    expected = by_the_formula(model.gamma, h, renormalised(graph))
    torch.testing.assert_close(model(x, graph, noise), expected, **EXACT)
    places = [drop.place for drop in (*model.mlp.drops, model.drop_propagation)]
    assert len(set(places)) == 3
