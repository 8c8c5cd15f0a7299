import torch

from akgnn.models.pgso import PGSO
from oracles import dense, paper_kernel, random_graph, renormalised


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


def test_it_starts_as_gcn():
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
