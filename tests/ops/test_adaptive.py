import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from akgnn.errors import GraphError, SettingsError
from akgnn.graph import Graph
from akgnn.ops.adaptive import (
    adaptive_propagate,
    adaptive_propagate_reference,
    edgewise_propagate,
    neighbour_mean,
)
from oracles import FORMS, KINDS, dense, dense_kernel, graphs, random_graph, with_gradients

WEIGHTS = [(0.7, 1.0), (0.0, 1.0), (2.5, -0.8), (0.7, 0.0), (1e6, 1.0), (1e-9, 1.0)]
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


SELF = st.just(0.0) | st.floats(0.01, 100)
NEIGHBOUR = st.just(0.0) | st.floats(0.01, 10) | st.floats(-10, -0.01)


def dense_step(graph, h, a, w, *, normalisation):
    """The formula channel by channel, each with its own dense matrix, left to autograd."""
    matrix = dense(graph)
    a, w = a.expand(h.size(1)), w.expand(h.size(1))
    columns = [dense_kernel(matrix, a[c], w[c], normalisation) @ h[:, c] for c in range(h.size(1))]
    return torch.stack(columns, 1)


@pytest.mark.parametrize(("weighted", "directed", "form"), KINDS)
@pytest.mark.parametrize(("a", "w"), WEIGHTS)
@pytest.mark.parametrize("per_channel", [(), (0,), (1,), (0, 1)])
def test_step_and_gradients_equal_the_dense_formula(weighted, directed, form, a, w, per_channel):
    graph = random_graph(0, weighted=weighted, directed=directed)
    h = torch.randn(graph.num_nodes, 3, dtype=torch.float64)
    grad = torch.randn(graph.num_nodes, 3, dtype=torch.float64)
    spread = torch.tensor([1.0, 0.5, 2.0], dtype=torch.float64)
    weights = [torch.tensor(x, dtype=torch.float64) for x in (a, w)]
    weights = [x * spread if i in per_channel else x for i, x in enumerate(weights)]
    expected = with_gradients(dense_step, graph, h, *weights, form, grad)
    for function in (adaptive_propagate, adaptive_propagate_reference):
        found = with_gradients(function, graph, h, *weights, form, grad)
        for one, other in zip(found, expected, strict=True):
            assert one.shape == other.shape
            torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def dense_both_ways(graph, h, a, w, v):
    """C^-1 (a I + w A + v Aᵀ) channel by channel, with C = diag(a + |w| d + |v| e)."""
    matrix, identity = dense(graph), torch.eye(graph.num_nodes, dtype=torch.float64)
    into, out = matrix.sum(1), matrix.sum(0)
    columns = []
    a, w, v = (x.expand(h.size(1)) for x in (a, w, v))
    for c, (own, one, other) in enumerate(zip(a, w, v, strict=True)):
        total = own + one.abs() * into + other.abs() * out
        alone = (into + out == 0) | (total == 0)
        kernel = own * identity + one * matrix + other * matrix.T
        kernel = kernel / torch.where(alone, 1, total)[:, None]
        columns.append(torch.where(alone[:, None], identity, kernel) @ h[:, c])
    return torch.stack(columns, 1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(
    ("a", "w", "v"),
    [(0.7, 1.0, 0.5), (1.0, -0.8, 0.4), (1.0, 0.0, -2.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)],
)
@pytest.mark.parametrize("per_channel", [(), (1,), (0, 1, 2)])
def test_both_directions_equal_the_dense_formula(weighted, directed, a, w, v, per_channel):
    graph = random_graph(16, weighted=weighted, directed=directed)
    h = torch.randn(graph.num_nodes, 3, dtype=torch.float64)
    grad = torch.randn_like(h)
    spread = torch.tensor([1.0, 0.5, 2.0], dtype=torch.float64)
    weights = [torch.tensor(x, dtype=torch.float64) for x in (a, w, v)]
    weights = [x * spread if i in per_channel else x for i, x in enumerate(weights)]

    def with_gradients(function, **options):
        inputs = [x.detach().clone().requires_grad_() for x in (h, *weights)]
        out = function(graph, *inputs, **options)
        return [out, *torch.autograd.grad(out, inputs, grad)]

    expected = with_gradients(dense_both_ways)
    for function in (adaptive_propagate, adaptive_propagate_reference):
        found = with_gradients(function, normalisation="row")
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def test_both_directions_of_an_undirected_graph_are_one_with_twice_the_weight():
    graph = random_graph(17, weighted=True)
    h = torch.randn(graph.num_nodes, 3, dtype=torch.float64)
    both = adaptive_propagate(graph, h, 0.7, -0.3, -0.3, normalisation="row")
    torch.testing.assert_close(both, adaptive_propagate(graph, h, 0.7, -0.6, normalisation="row"))


def test_out_neighbours_alone_are_the_transposed_graph():
    graph = random_graph(18, directed=True)
    h = torch.randn(graph.num_nodes, 3, dtype=torch.float64)
    out = adaptive_propagate(graph, h, 0.7, 0.0, 1.3, normalisation="row")
    turned = adaptive_propagate(graph.transpose, h, 0.7, 1.3, normalisation="row")
    torch.testing.assert_close(out, turned)


def test_out_neighbours_need_the_row_form():
    with pytest.raises(SettingsError, match="out_weight needs normalisation='row'"):
        adaptive_propagate(random_graph(19), torch.ones(12, 1), 1.0, 1.0, 1.0)


@given(graphs(), st.sampled_from(FORMS), SELF, NEIGHBOUR)
def test_any_graph_equals_the_specification(graph, form, a, w):
    h = torch.randn(graph.num_nodes, 2, dtype=torch.float64)
    grad = torch.randn_like(h)
    weights = [torch.tensor(x, dtype=torch.float64) for x in (a, w)]
    found = with_gradients(adaptive_propagate, graph, h, *weights, form, grad)
    expected = with_gradients(adaptive_propagate_reference, graph, h, *weights, form, grad)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("weighted", "directed", "form"), KINDS)
@pytest.mark.parametrize("w", [1.0, -0.6])
def test_gradcheck(weighted, directed, form, w):
    graph = random_graph(1, num_nodes=6, num_edges=8, weighted=weighted, directed=directed)
    h = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    for shape in [(), (2,)]:
        a_ = torch.full(shape, 0.8, dtype=torch.float64, requires_grad=True)
        w_ = torch.full(shape, w, dtype=torch.float64, requires_grad=True)
        assert gradcheck(
            lambda h, a, w: adaptive_propagate(graph, h, a, w, normalisation=form), (h, a_, w_)
        )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 3e-2)])
@pytest.mark.parametrize("shape", [(), (5,)])
@pytest.mark.parametrize("form", FORMS)
def test_lower_precision_follows_the_specification(device, dtype, tolerance, shape, form):
    graph = random_graph(2, weighted=True)
    h = torch.randn(graph.num_nodes, 5, dtype=torch.float64).to(dtype)
    grad = torch.randn(graph.num_nodes, 5, dtype=torch.float64).to(dtype)
    a, w = torch.full(shape, 0.8), torch.full(shape, -1.2)
    found = with_gradients(
        adaptive_propagate,
        graph.to(device),
        *(x.to(device) for x in (h, a, w)),
        form,
        grad.to(device),
    )
    wide = [x.double() for x in (h, a, w)]
    expected = with_gradients(adaptive_propagate_reference, graph, *wide, form, grad.double())
    for one, other in zip(found, expected, strict=True):
        # The gradients of the weights are sums in which large terms cancel.
        scale = max(other.abs().max().item(), 1.0)
        torch.testing.assert_close(one.cpu().double(), other, rtol=0, atol=tolerance * scale)


def test_numbers_serve_as_weights():
    graph = random_graph(3)
    h = torch.randn(graph.num_nodes, 2, dtype=torch.float64, requires_grad=True)
    for w in (1.0, -0.5):
        found = adaptive_propagate(graph, h, 0.5, w)
        expected = adaptive_propagate_reference(graph, h, 0.5, w)
        torch.testing.assert_close(found, expected)
        grads = [torch.autograd.grad(out.square().sum(), h)[0] for out in (found, expected)]
        torch.testing.assert_close(*grads)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("r", [0.0, 0.5, 3.0])
def test_the_dominant_eigenvalue_is_one(form, r):
    graph = random_graph(4, isolated=0, num_edges=40)
    c = (graph.degree.double() + r).unsqueeze(1)
    signal = c.sqrt() if form == "sym" else torch.ones_like(c)
    torch.testing.assert_close(adaptive_propagate(graph, signal, r, normalisation=form), signal)


@given(graphs(), st.floats(0, 10))
def test_relabelled_nodes_give_relabelled_signals(graph, r):
    order = torch.randperm(graph.num_nodes)
    place = torch.argsort(order)
    moved = Graph.from_edge_index(
        place[graph.edge_index], graph.edge_weight, num_nodes=graph.num_nodes
    )
    h = torch.randn(graph.num_nodes, 2, dtype=torch.float64)
    torch.testing.assert_close(
        adaptive_propagate(moved, h[order], r), adaptive_propagate(graph, h, r)[order]
    )


def test_an_isolated_node_keeps_its_signal_even_without_self_weight():
    graph = random_graph(5, isolated=2)
    h = torch.randn(graph.num_nodes, 3)
    for r in (0.0, 1e-30, 1.0):
        assert torch.equal(adaptive_propagate(graph, h, r)[-2:], h[-2:])


def test_edges_that_weigh_nothing_do_not_divide_by_zero():
    index = torch.tensor([[0, 1], [1, 0]])
    graph = Graph.from_edge_index(index, torch.zeros(2))
    h = torch.randn(2, 3)
    assert torch.equal(adaptive_propagate(graph, h, 0.0), h)


def test_the_signal_is_not_overwritten():
    graph = random_graph(6)
    h = torch.randn(graph.num_nodes, 3)
    before = h.clone()
    adaptive_propagate(graph, h, 0.5, -2.0)
    assert torch.equal(h, before)


def test_negative_edge_weights_are_refused():
    graph = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]), torch.tensor([-1.0, -1.0]))
    with pytest.raises(GraphError, match="negative edge weights"):
        adaptive_propagate(graph, torch.ones(2, 1), 1.0)


def test_a_directed_graph_needs_the_row_form():
    graph = random_graph(8, directed=True)
    h = torch.ones(graph.num_nodes, 1)
    with pytest.raises(GraphError, match=r"graph\.symmetrised\(\).* or normalisation='row'"):
        adaptive_propagate(graph, h, 1.0)
    adaptive_propagate(graph, h, 1.0, normalisation="row")


@pytest.mark.parametrize(
    ("a", "w", "form", "message"),
    [
        (-1.0, 1.0, "sym", "self_weight must not be negative"),
        (torch.tensor(-1.5), 1.0, "sym", "self_weight must not be negative"),
        (math.inf, 1.0, "sym", "self_weight must be finite"),
        (1.0, math.nan, "sym", "neighbour_weight must be finite"),
        (torch.ones(3), 1.0, "sym", "self_weight: 2 channels cannot be shared out evenly among 3"),
        (1.0, torch.ones(3), "sym", "neighbour_weight: 2 channels cannot"),
        (1.0, 1.0, "column", "normalisation must be 'sym' or 'row', got 'column'"),
    ],
)
def test_wrong_weights_are_refused(a, w, form, message):
    graph = random_graph(9)
    with pytest.raises(SettingsError, match=message):
        adaptive_propagate(graph, torch.ones(graph.num_nodes, 2), a, w, normalisation=form)


def test_a_weight_that_is_not_a_number_stays_visible():
    graph = random_graph(12)
    out = adaptive_propagate(graph, torch.ones(graph.num_nodes, 1), torch.tensor(float("nan")))
    assert bool(out[graph.degree > 0].isnan().all())


def test_half_precision_runs_on_the_cpu():
    graph = random_graph(14)
    h = torch.randn(graph.num_nodes, 3)
    expected = adaptive_propagate(graph, h, 1.0)
    found = adaptive_propagate(graph, h.half(), 1.0)
    torch.testing.assert_close(found.float(), expected, rtol=1e-2, atol=1e-2)


def test_weights_that_fit_no_replica_are_refused():
    graph, h = random_graph(0), torch.zeros(4, 12, 3)
    with pytest.raises(SettingsError, match=r"a row for each of 4 replicas, got shape \[3\]"):
        adaptive_propagate(graph, h, torch.ones(3))


def test_weights_of_channels_may_stand_in_a_column():
    graph = random_graph(0)
    h = torch.randn(12, 3, dtype=torch.float64)
    column = torch.rand(3, 1, dtype=torch.float64, requires_grad=True)
    out = adaptive_propagate(graph, h, column)
    (grad,) = torch.autograd.grad(out.square().sum(), column)
    flat = column.detach().view(-1).requires_grad_()
    expected = adaptive_propagate(graph, h, flat)
    assert torch.equal(out, expected)
    assert torch.equal(grad.view(-1), torch.autograd.grad(expected.square().sum(), flat)[0])


@pytest.mark.parametrize("name", ["self_weight", "neighbour_weight"])
def test_a_weight_on_another_device_is_refused(name):
    graph = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]))
    weights = {"self_weight": 1.0, name: torch.ones((), device="meta")}
    with pytest.raises(GraphError, match=f"{name} lies on meta and the signals on cpu"):
        adaptive_propagate(graph, torch.ones(2, 3), **weights)


F64 = torch.float64


def edge_by_edge(graph, h, *weights, **options):
    return edgewise_propagate(graph, graph.edge_index, graph.edge_weight, h, *weights, **options)


@pytest.mark.parametrize(("weighted", "directed", "form"), KINDS)
@pytest.mark.parametrize(("a", "w"), [(0.7, 1.0), (0.0, 1.0), (2.5, -0.8), (1.0, 0.0)])
def test_edge_by_edge_equals_the_fast_step(weighted, directed, form, a, w):
    graph = random_graph(0, weighted=weighted, directed=directed)
    h = torch.randn(graph.num_nodes, 3, dtype=F64)
    expected = adaptive_propagate(graph, h, a, w, normalisation=form)
    torch.testing.assert_close(edge_by_edge(graph, h, a, w, normalisation=form), expected)


@given(graphs(directed=True))
def test_edge_by_edge_equals_the_fast_step_both_ways_on_any_graph(graph):
    h = torch.randn(graph.num_nodes, 2, dtype=F64)
    a, w, v = 0.5, 0.8, -1.2
    expected = adaptive_propagate(graph, h, a, w, v, normalisation="row")
    torch.testing.assert_close(edge_by_edge(graph, h, a, w, v, normalisation="row"), expected)


def test_edge_by_edge_with_weights_of_groups():
    graph = random_graph(1)
    h = torch.randn(graph.num_nodes, 6, dtype=F64)
    a, w = torch.tensor([0.3, 2.0], dtype=F64), torch.tensor([1.0, -0.5], dtype=F64)
    torch.testing.assert_close(edge_by_edge(graph, h, a, w), adaptive_propagate(graph, h, a, w))


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
def test_gradcheck_of_edge_weights(form):
    once, both = undirected(3)
    h = torch.randn(7, 2, dtype=F64, requires_grad=True)
    weight = (torch.rand(once.size(1), dtype=F64) + 0.1).requires_grad_()

    def run(weight, h):
        twice = torch.cat([weight, weight])
        graph = Graph.from_edge_index(both, twice.detach(), num_nodes=7)
        return edgewise_propagate(graph, both, twice, h, 0.4, 1.3, normalisation=form)

    assert gradcheck(run, (weight, h))


def test_edge_by_edge_what_the_fast_step_refuses_is_refused():
    graph = random_graph(4, directed=True)
    h = torch.ones(graph.num_nodes, 2)
    with pytest.raises(GraphError, match="needs an undirected graph"):
        edge_by_edge(graph, h, 1.0)
    with pytest.raises(SettingsError, match="self_weight must not be negative"):
        edge_by_edge(graph, h, -1.0, normalisation="row")
    with pytest.raises(GraphError, match=r"must have shape \(nodes, channels\)"):
        edge_by_edge(graph, h.expand(2, -1, -1), 1.0, normalisation="row")


@pytest.mark.parametrize("directed", [False, True])
def test_the_mean_over_no_neighbours_is_0(directed):
    graph = random_graph(3, weighted=True, directed=directed)
    h = torch.randn(2, graph.num_nodes, 4, dtype=torch.float64)
    adjacency = dense(graph)
    degree = adjacency.sum(1, keepdim=True)
    expected = adjacency / torch.where(degree > 0, degree, 1) @ h
    torch.testing.assert_close(neighbour_mean(graph, h), expected)
    assert bool((neighbour_mean(graph, h)[:, degree[:, 0] == 0] == 0).all())
