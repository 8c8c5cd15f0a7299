import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from akgnn.graph import Graph
from akgnn.ops.dropout import Noise
from akgnn.ops.sampling import sample_edges, sample_neighbours
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
