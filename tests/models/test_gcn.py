import pytest
import torch
import torch_geometric.nn as pyg
from torch_geometric.nn import JumpingKnowledge

from akgnn.models.gcn import GCN, PGSO, GCNConv, JKNet
from oracles import dense, paper_kernel, random_graph, renormalised


@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_equals_the_dense_formula(num_layers):
    graph = random_graph(0)
    model = GCN(6, 5, 3, num_layers=num_layers).double().eval()
    h = x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    kernel = renormalised(graph)
    for k, layer in enumerate(model.layers):
        h = kernel @ (torch.relu(h) if k else h) @ layer.linear.weight + layer.bias
    torch.testing.assert_close(model(x, graph), h)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_layer_equals_pygs(weighted):
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


def test_a_layer_equals_the_dense_formula():
    graph = random_graph(1)
    conv = GCNConv(6, 4).double()
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    expected = renormalised(graph) @ x @ conv.linear.weight + conv.bias
    torch.testing.assert_close(conv(x, graph), expected)


@pytest.mark.parametrize(("readout", "mode"), [("concat", "cat"), ("max", "max")])
def test_equals_the_dense_formula_with_pygs_jumping_knowledge(readout, mode):
    graph = random_graph(0)
    model = JKNet(6, 5, 3, num_layers=3, readout=readout).double().eval()
    h = x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    kernel, outputs = renormalised(graph), []
    for layer in model.layers:
        h = torch.relu(kernel @ h @ layer.linear.weight + layer.bias)
        outputs.append(h)
    together = JumpingKnowledge(mode)(outputs)
    expected = together @ model.classifier.weight + model.classifier.bias
    torch.testing.assert_close(model(x, graph), expected)


def operator(adjacency, phi):
    m1, m2, m3, e1, e2, e3, a = phi.tolist()
    identity = torch.eye(len(adjacency), dtype=torch.float64)
    a_a = adjacency + a * identity
    degree = a_a.sum(1)
    return (
        m1 * torch.diag(degree**e1)
        + m2 * torch.diag(degree**e2) @ a_a @ torch.diag(degree**e3)
        + m3 * identity
    )


def test_the_operator_equals_its_dense_formula():
    graph = random_graph(0, weighted=True)
    model = PGSO(6, 5, 3).double()
    h = torch.randn(graph.num_nodes, 4, dtype=torch.float64)
    with torch.no_grad():
        model.phi.copy_(torch.tensor([0.3, 1.2, -0.4, 0.2, -0.6, -0.3, 0.8]))
    torch.testing.assert_close(model.shift(h, graph), operator(dense(graph), model.phi) @ h)


def test_before_training_it_is_gcn():
    graph = random_graph(1)
    model = PGSO(6, 5, 3).double().eval()
    h = torch.randn(graph.num_nodes, 4, dtype=torch.float64)
    torch.testing.assert_close(model.shift(h, graph), renormalised(graph) @ h)


def test_the_adaptive_kernel_is_one_of_its_points():
    graph = random_graph(2, isolated=0, num_edges=40)
    model = PGSO(6, 5, 3).double()
    h = torch.randn(graph.num_nodes, 4, dtype=torch.float64)
    with torch.no_grad():
        model.phi[-1] = 0.7
    torch.testing.assert_close(model.shift(h, graph), paper_kernel(dense(graph), 1.7) @ h)


def test_all_seven_scalars_learn():
    graph = random_graph(3)
    model = PGSO(6, 5, 3).double().eval()
    with torch.no_grad():
        model.phi.copy_(torch.tensor([0.3, 1.2, -0.4, 0.2, -0.6, -0.3, 0.8]))
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model(x, graph).square().sum().backward()
    assert bool((model.phi.grad != 0).all())


@pytest.mark.parametrize("kind", [GCN, PGSO])
def test_biases_may_be_left_out(kind):
    model = kind(6, 4, 3, bias=False)
    assert not [name for name, _ in model.named_parameters() if name.endswith("bias")]
    graph = random_graph(0)
    x = torch.zeros(graph.num_nodes, 6)
    assert model.eval()(x, graph).abs().max() == 0
