import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from akgnn.bench.graphs import GRAPHS, check_size, even_graph, power_law_graph
from akgnn.errors import SettingsError

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def seeded(seed=0, device="cpu"):
    return torch.Generator(device).manual_seed(seed)


@given(st.integers(1, 6), st.integers(1, 40), st.integers(0, 9))
def test_every_node_of_an_even_graph_has_the_same_degree(half, more, seed):
    degree = 2 * half
    graph = even_graph(degree + more, degree, seeded(seed))
    assert graph.is_symmetric
    assert graph.num_edges == graph.num_nodes * degree
    assert (graph.degree == degree).all()


@given(st.integers(1, 10), st.integers(1, 300), st.integers(0, 9))
def test_a_power_law_graph_is_undirected_and_has_no_more_edges_than_asked_for(half, more, seed):
    degree = 2 * half
    nodes = 5 * degree + more
    graph = power_law_graph(nodes, degree, seeded(seed))
    assert graph.is_symmetric
    assert graph.num_nodes == nodes
    assert 0 < graph.num_edges <= nodes * degree


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("nodes", "degree"), [(20_000, 10), (20_000, 20), (50_000, 4)])
def test_the_hub_of_a_power_law_graph_has_a_tenth_of_all_nodes(device, nodes, degree):
    graph = power_law_graph(nodes, degree, seeded(device=device))
    largest = graph.degree.sort(descending=True).values
    assert 0.08 * nodes < largest[0] < 0.12 * nodes
    # A tail, not one hub alone: the tenth is still far above the mean, the median below it.
    assert largest[9] > 5 * degree
    assert graph.degree.median() < degree
    assert 0.95 * nodes * degree < graph.num_edges <= nodes * degree


@pytest.mark.parametrize("kind", GRAPHS)
def test_neighbours_lie_far_apart(kind):
    graph = GRAPHS[kind](1000, 10, seeded())
    source, target = graph.edge_index
    distance = (source - target).abs().float().mean()
    # Of two random nodes it is a third of all.
    assert 250 < distance < 420


@pytest.mark.parametrize("kind", GRAPHS)
def test_the_seed_decides(kind):
    one, same, other = (GRAPHS[kind](500, 4, seeded(seed)).edge_index for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_an_even_graph_of_several_blocks_is_the_same(monkeypatch):
    whole = even_graph(100, 6, seeded())
    monkeypatch.setattr("akgnn.bench.graphs._BLOCK", 50)
    assert torch.equal(even_graph(100, 6, seeded()).edge_index, whole.edge_index)


@pytest.mark.parametrize(
    ("kind", "edges", "degree", "message"),
    [
        ("even", 1000, 7, "even number from 2 on, got 7"),
        ("even", 1000, 0, "even number from 2 on, got 0"),
        ("even", 109, 10, "needs at least 110 edges, got 109"),
        ("power-law", 509, 10, "needs at least 510 edges, got 509"),
    ],
)
def test_impossible_sizes_are_refused(kind, edges, degree, message):
    with pytest.raises(SettingsError, match=message):
        check_size(kind, edges, degree)


@pytest.mark.parametrize(("kind", "edges"), [("even", 110), ("power-law", 510)])
def test_the_smallest_sizes_allowed_can_be_made(kind, edges):
    check_size(kind, edges, 10)
    assert GRAPHS[kind](edges // 10, 10, seeded()).num_edges > 0
