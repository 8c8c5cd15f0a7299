import pytest
import torch
import torch_geometric.nn as pyg

from akgnn.graph import Graph
from akgnn.models.predict_first import APPNP, GPRGNN, MLP
from akgnn.ops.dropout import Noise
from oracles import normalised, random_graph, renormalised, sparse


@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_equals_the_formula(num_layers):
    graph = random_graph(0)
    model = MLP(6, 5, 3, num_layers=num_layers).double().eval()
    h = x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    for k, layer in enumerate(model.layers):
        torch.nn.init.normal_(layer.bias)
        h = (torch.relu(h) if k else h) @ layer.weight + layer.bias
    torch.testing.assert_close(model(x, graph), h, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("norm", ["layer", "batch", "length"])
def test_hidden_layers_are_normalised(norm):
    graph = random_graph(0)
    model = MLP(6, 5, 3, num_layers=3, norm=norm).double().eval()
    x = h = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    for layer, each in zip(model.layers[:-1], model.norms, strict=True):
        torch.nn.init.normal_(layer.bias)
        h = torch.relu(normalised(each, norm, h @ layer.weight + layer.bias))
    last = model.layers[-1]
    torch.testing.assert_close(model(x, graph), h @ last.weight + last.bias)


def test_without_a_norm_the_state_is_what_it_was():
    names = [f"layers.{k}.{part}" for k in range(2) for part in ("weight", "bias")]
    assert list(MLP(6, 5, 3).state_dict()) == names
    assert list(MLP(6, 5, 3, norm="layer").state_dict()) == [
        *names,
        "norms.0.weight",
        "norms.0.bias",
    ]


def test_edges_do_not_matter():
    one, other = random_graph(0), random_graph(1)
    none = Graph.from_edge_index(torch.zeros(2, 0, dtype=torch.int64), num_nodes=one.num_nodes)
    x = torch.randn(one.num_nodes, 6)
    model = MLP(6, 5, 3)
    for graph in (other, none):
        assert torch.equal(model(x, one, Noise(1)), model(x, graph, Noise(1)))


@pytest.mark.parametrize("noise", [None, Noise(2)])
def test_sparse_features_give_an_mlp_what_dense_ones_give(noise):
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
    assert model.drops[0].key != model.drops[1].key


def appnp_by_the_formula(model, x, kernel):
    first, second = model.first_layer, model.second_layer
    h = torch.relu(x @ first.weight + first.bias) @ second.weight + second.bias
    z = h
    for _ in range(model.settings.num_layers):
        z = (1 - model.settings.alpha) * kernel @ z + model.settings.alpha * h
    return z


def test_appnp_equals_the_dense_formula():
    graph = random_graph(0)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = APPNP(6, 5, 3, num_layers=4).double().eval()
    torch.testing.assert_close(model(x, graph), appnp_by_the_formula(model, x, renormalised(graph)))


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
    torch.testing.assert_close(model(x, graph, noise), appnp_by_the_formula(model, x, kernel))


EXACT = {"rtol": 1e-10, "atol": 1e-10}


def predicted(model, x):
    first, second = model.mlp.layers
    return torch.relu(x @ first.weight + first.bias) @ second.weight + second.bias


def gprgnn_by_the_formula(gamma, h, kernel):
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
def test_gprgnn_equals_the_dense_formula(num_layers, weighted):
    graph = random_graph(0, weighted=weighted)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = with_other_weights(GPRGNN(6, 5, 3, num_layers=num_layers).double().eval())
    expected = gprgnn_by_the_formula(model.gamma, predicted(model, x), renormalised(graph))
    torch.testing.assert_close(model(x, graph), expected, **EXACT)


def test_gradients_equal_those_of_the_dense_formula():
    graph = random_graph(1)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = with_other_weights(GPRGNN(6, 5, 3, num_layers=4).double().eval())
    parameters = list(model.parameters())
    assert any(parameter is model.gamma for parameter in parameters)
    into = torch.randn(graph.num_nodes, 3, dtype=torch.float64)
    dense = gprgnn_by_the_formula(model.gamma, predicted(model, x), renormalised(graph))
    expected = torch.autograd.grad(dense, parameters, into)
    found = torch.autograd.grad(model(x, graph), parameters, into)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, **EXACT)


def test_gamma_is_initially_personalised_pagerank():
    gamma = GPRGNN(6, 5, 3, num_layers=3, alpha=0.2).gamma
    torch.testing.assert_close(gamma, torch.tensor([0.2, 0.16, 0.128, 0.512]))
    assert GPRGNN(6, 5, 3).gamma.shape == (11,)
    assert GPRGNN(6, 5, 3).gamma.sum().item() == pytest.approx(1)


@pytest.mark.parametrize(("alpha", "initial"), [(1.0, [1.0, 0, 0]), (0.0, [0, 0, 1.0])])
def test_gamma_may_be_initially_at_either_end(alpha, initial):
    assert GPRGNN(6, 5, 3, num_layers=2, alpha=alpha).gamma.tolist() == initial


def test_before_training_it_is_appnp():
    graph = random_graph(2)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = GPRGNN(6, 5, 3, num_layers=5).double().eval()
    appnp = APPNP(6, 5, 3, num_layers=5).double().eval()
    appnp.first_layer.load_state_dict(model.mlp.layers[0].state_dict())
    appnp.second_layer.load_state_dict(model.mlp.layers[1].state_dict())
    # The initial γ was rounded to float32 once.
    torch.testing.assert_close(model(x, graph), appnp(x, graph), rtol=1e-6, atol=1e-6)


def test_without_edges_the_prediction_is_scaled():
    graph = Graph.from_edge_index(torch.zeros(2, 0, dtype=torch.int64), num_nodes=4)
    x = torch.randn(4, 6, dtype=torch.float64)
    model = with_other_weights(GPRGNN(6, 5, 3).double().eval())
    expected = model.gamma.sum() * predicted(model, x)
    torch.testing.assert_close(model(x, graph), expected, **EXACT)


@pytest.mark.parametrize("noise", [None, Noise(2)])
def test_sparse_features_give_gprgnn_what_dense_ones_give(noise):
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
    expected = gprgnn_by_the_formula(model.gamma, h, renormalised(graph))
    torch.testing.assert_close(model(x, graph, noise), expected, **EXACT)
    keys = [drop.key for drop in (*model.mlp.drops, model.drop_propagation)]
    assert len(set(keys)) == 3
