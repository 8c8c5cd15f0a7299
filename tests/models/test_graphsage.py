import torch

from akgnn.models.graphsage import GraphSAGE
from akgnn.ops.dropout import Noise
from oracles import dense, random_graph


def mean_layer(neighbours, itself, x, adjacency):
    mean = adjacency @ x / adjacency.sum(1, keepdim=True).clamp_min(1)
    return mean @ neighbours.weight.T + neighbours.bias + x @ itself.weight.T


def test_equals_the_dense_formula():
    graph = random_graph(0)
    model = GraphSAGE(6, 5, 3).double().eval()
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    hidden = torch.relu(mean_layer(model.neighbours, model.itself, x, dense(graph)))
    torch.testing.assert_close(
        model(x, graph),
        mean_layer(model.second_layer.lin_l, model.second_layer.lin_r, hidden, dense(graph)),
    )


def test_training_draws_neighbours_anew():
    graph = random_graph(1, num_edges=60)
    model = GraphSAGE(6, 5, 3, dropout=0.0, first_fan_out=1, second_fan_out=1)
    x = torch.randn(graph.num_nodes, 6)
    out = model(x, graph, Noise(0, 0))
    assert torch.equal(out, model(x, graph, Noise(0, 0)))
    assert not torch.equal(out, model(x, graph, Noise(0, 1)))


def test_wide_fan_outs_take_all_neighbours():
    graph = random_graph(2)
    model = GraphSAGE(6, 5, 3, dropout=0.0)
    x = torch.randn(graph.num_nodes, 6)
    torch.testing.assert_close(model(x, graph, Noise(0)), model.eval()(x, graph))
