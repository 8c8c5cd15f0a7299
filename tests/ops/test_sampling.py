import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from akgnn.graph import Graph
from akgnn.ops.dropout import Noise
from akgnn.ops.sampling import evenly, sample_edges, sample_neighbours, straight_through_bernoulli
from oracles import dense, graphs, random_graph


@given(graphs(directed=True), st.integers(1, 4), st.integers(0, 99))
def test_each_node_keeps_as_many_neighbours_as_it_may(graph, fan_out, seed):
    index = sample_neighbours(graph, fan_out, Noise(seed).key(0))
    sampled = Graph.from_edge_index(index, num_nodes=graph.num_nodes)
    expected = graph.adjacency.pattern.rowptr.diff().clamp_max(fan_out).float()
    assert torch.equal(sampled.degree, expected)
    assert index.size(1) == int(expected.sum())
    assert bool((dense(sampled) <= (dense(graph) > 0)).all())


def test_neighbours_are_drawn_evenly():
    # A star whose centre draws 2 of 6 leaves: each leaf a third of the time.
    leaves = torch.arange(1, 7)
    graph = Graph.from_edge_index(torch.stack([leaves, torch.zeros_like(leaves)]), num_nodes=7)
    drawn = torch.zeros(7)
    for step in range(3000):
        drawn[sample_neighbours(graph, 2, Noise(0, step).key(0))[0]] += 1
    # Five standard deviations of 3000 draws at 1/3.
    assert float((drawn[1:] - 1000).abs().max()) < 5 * (3000 * 2 / 9) ** 0.5


@given(graphs(), st.floats(0, 1), st.integers(0, 99))
def test_so_many_edges_are_kept_in_both_directions(graph, keep, seed):
    sampled = sample_edges(graph, keep, Noise(seed).key(0))
    assert sampled.is_symmetric
    assert sampled.num_edges == 2 * round(keep * (graph.num_edges // 2))
    kept = dense(sampled) > 0
    assert torch.equal(dense(sampled)[kept], dense(graph)[kept])


@pytest.mark.parametrize("weighted", [False, True])
def test_keeping_all_keeps_the_graph(weighted):
    graph = random_graph(0, weighted=weighted)
    assert torch.equal(dense(sample_edges(graph, 1.0, 5)), dense(graph))


KEY = Noise(0).key(1)


def test_draws_are_even_and_stay_inside():
    v = evenly(200_001, KEY, torch.zeros(1))
    assert v.shape == (200_001,)
    assert 0 < float(v.min()) < float(v.max()) < 1
    assert torch.allclose(torch.histc(v, 10, 0, 1) / len(v), torch.tensor(0.1), atol=0.003)


def test_it_is_one_as_often_as_the_probability_says():
    for p in (0.0, 0.001, 0.3, 1.0):
        s = straight_through_bernoulli(torch.full((400_000,), p), 1.2, KEY)
        assert set(s.unique().tolist()) <= {0.0, 1.0}
        assert abs(float(s.mean()) - p) < 4 * (p * (1 - p) / len(s)) ** 0.5 + 1e-5


def test_the_value_is_hard_and_the_gradient_that_of_the_relaxed_sample():
    p = torch.rand(50, dtype=torch.float64, requires_grad=True)
    v = evenly(50, KEY, p)
    relaxed = torch.sigmoid((torch.logit(p) - torch.logit(v)) / 0.7)
    s = straight_through_bernoulli(p, 0.7, KEY)
    assert torch.equal(s, (relaxed > 0.5).double())
    direction = torch.randn(50, dtype=torch.float64)
    (expected,) = torch.autograd.grad(relaxed, p, direction)
    (found,) = torch.autograd.grad(s, p, direction)
    torch.testing.assert_close(found, expected)


def test_the_gradient_is_finite_at_the_ends():
    p = torch.tensor([0.0, 1e-30, 1.0], requires_grad=True)
    straight_through_bernoulli(p, 0.5, KEY).sum().backward()
    assert bool(torch.isfinite(p.grad).all())
