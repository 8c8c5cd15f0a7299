import pytest
import torch
from hypothesis import given
from torch.autograd import gradcheck

from akgnn.errors import GraphError, SettingsError
from akgnn.graph import Graph
from akgnn.ops.adaptive import adaptive_propagate
from akgnn.ops.edgewise import edgewise_propagate
from oracles import KINDS, dense_kernel, graphs, random_graph

F64 = torch.float64


def step(graph, h, *weights, **options):
    return edgewise_propagate(graph, graph.edge_index, graph.edge_weight, h, *weights, **options)


@pytest.mark.parametrize(("weighted", "directed", "form"), KINDS)
@pytest.mark.parametrize(("a", "w"), [(0.7, 1.0), (0.0, 1.0), (2.5, -0.8), (1.0, 0.0)])
def test_equals_the_fast_step(weighted, directed, form, a, w):
    graph = random_graph(0, weighted=weighted, directed=directed)
    h = torch.randn(graph.num_nodes, 3, dtype=F64)
    expected = adaptive_propagate(graph, h, a, w, normalisation=form)
    torch.testing.assert_close(step(graph, h, a, w, normalisation=form), expected)


@given(graphs(directed=True))
def test_equals_the_fast_step_both_ways_on_any_graph(graph):
    h = torch.randn(graph.num_nodes, 2, dtype=F64)
    a, w, v = 0.5, 0.8, -1.2
    expected = adaptive_propagate(graph, h, a, w, v, normalisation="row")
    torch.testing.assert_close(step(graph, h, a, w, v, normalisation="row"), expected)


def test_weights_of_groups():
    graph = random_graph(1)
    h = torch.randn(graph.num_nodes, 6, dtype=F64)
    a, w = torch.tensor([0.3, 2.0], dtype=F64), torch.tensor([1.0, -0.5], dtype=F64)
    torch.testing.assert_close(step(graph, h, a, w), adaptive_propagate(graph, h, a, w))


@pytest.mark.parametrize("weighted", [False, True])
def test_loops_and_repeats_mean_what_they_mean_in_a_graph(weighted):
    index = torch.tensor([[0, 1, 0, 1, 2, 1, 2], [1, 0, 1, 0, 2, 2, 1]])
    weight = torch.tensor([1.0, 1, 2, 2, 9, 3, 3], dtype=F64) if weighted else None
    graph = Graph.from_edge_index(index, weight)
    h = torch.randn(3, 2, dtype=F64)
    expected = adaptive_propagate(graph, h, 0.4)
    torch.testing.assert_close(edgewise_propagate(graph, index, weight, h, 0.4), expected)


def undirected(seed):
    """The edges of a graph, each once; and in both directions."""
    once = random_graph(seed, num_nodes=7, num_edges=12, isolated=1).edge_index
    once = once[:, once[0] < once[1]]
    return once, torch.cat([once, once.flip(0)], dim=1)


@pytest.mark.parametrize("form", ["sym", "row"])
def test_the_gradient_of_edge_weights_is_that_of_the_dense_formula(form):
    once, both = undirected(2)
    h = torch.randn(7, 3, dtype=F64, requires_grad=True)
    a, w = (torch.tensor(x, dtype=F64, requires_grad=True) for x in (0.7, -0.6))
    weight = (torch.rand(once.size(1), dtype=F64) + 0.1).requires_grad_()
    twice = torch.cat([weight, weight])
    graph = Graph.from_edge_index(both, twice.detach(), num_nodes=7)
    out = edgewise_propagate(graph, both, twice, h, a, w, normalisation=form)
    matrix = torch.zeros(7, 7, dtype=F64).index_put((both[1], both[0]), twice)
    expected = dense_kernel(matrix, a, w, form) @ h
    torch.testing.assert_close(out, expected)
    grad, inputs = torch.randn_like(out), (weight, h, a, w)
    for one, other in zip(
        torch.autograd.grad(out, inputs, grad),
        torch.autograd.grad(expected, inputs, grad),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("form", ["sym", "row"])
def test_gradcheck(form):
    once, both = undirected(3)
    h = torch.randn(7, 2, dtype=F64, requires_grad=True)
    weight = (torch.rand(once.size(1), dtype=F64) + 0.1).requires_grad_()

    def run(weight, h):
        twice = torch.cat([weight, weight])
        graph = Graph.from_edge_index(both, twice.detach(), num_nodes=7)
        return edgewise_propagate(graph, both, twice, h, 0.4, 1.3, normalisation=form)

    assert gradcheck(run, (weight, h))


def test_what_the_fast_step_refuses_is_refused():
    graph = random_graph(4, directed=True)
    h = torch.ones(graph.num_nodes, 2)
    with pytest.raises(GraphError, match="needs an undirected graph"):
        step(graph, h, 1.0)
    with pytest.raises(SettingsError, match="self_weight must not be negative"):
        step(graph, h, -1.0, normalisation="row")
    with pytest.raises(GraphError, match=r"must have shape \(nodes, channels\)"):
        step(graph, h.expand(2, -1, -1), 1.0, normalisation="row")
