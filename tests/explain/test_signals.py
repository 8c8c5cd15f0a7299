import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from akgnn.data.catalogue import load_dataset
from akgnn.explain.signals import dirichlet_energy, high_frequency_share, signals_of
from akgnn.graph import Graph
from akgnn.models.akgnn import AKGNN
from oracles import dense, graphs, random_graph, sparse


def dense_share(graph, x, nodes=None):
    """The formula of the module, written out."""
    matrix = dense(graph.symmetrised())
    if nodes is not None:
        matrix = matrix[nodes][:, nodes]
    linked = matrix.sum(1) > 0
    matrix, x = matrix[linked][:, linked], x[linked].double()
    scale = matrix.sum(1) ** -0.5
    laplacian = torch.eye(len(matrix), dtype=torch.float64) - scale[:, None] * matrix * scale
    return float(torch.trace(x.T @ laplacian @ x) / (2 * x.square().sum()))


@given(graphs(directed=True), st.integers(1, 3))
def test_equals_the_formula_on_any_graph(graph, channels):
    x = torch.randn(graph.num_nodes, channels)
    found = high_frequency_share(graph, x)
    expected = dense_share(graph, x) if graph.num_edges else math.nan
    assert found.share == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_signals_give_the_same(weighted):
    graph = random_graph(0, weighted=weighted)
    x = torch.randn(graph.num_nodes, 5) * (torch.rand(graph.num_nodes, 5) < 0.4)
    assert high_frequency_share(graph, sparse(x)).share == pytest.approx(dense_share(graph, x))


def test_blocks_of_rows_add_up(monkeypatch):
    graph = random_graph(1, num_nodes=30, num_edges=60)
    x = torch.randn(30, 4)
    whole = high_frequency_share(graph, x)
    monkeypatch.setattr("akgnn.explain.signals._ROWS", 7)
    assert high_frequency_share(graph, x).share == pytest.approx(whole.share)


def test_the_graph_of_some_nodes_has_their_edges_alone():
    graph = random_graph(2, num_nodes=20, num_edges=60)
    nodes = torch.arange(0, 20, 2)
    x = torch.randn(len(nodes), 3)
    found = high_frequency_share(graph, x, nodes)
    assert found.share == pytest.approx(dense_share(graph, x, nodes))


def test_chance_is_the_mean_over_all_orders():
    graph = random_graph(3, num_nodes=6, num_edges=7, isolated=0, weighted=True)
    x = torch.rand(6, 2)
    x = x[graph.degree > 0]
    graph = Graph.from_edge_index(*_without_isolated(graph))
    orders = itertools.permutations(range(len(x)))
    mean = np.mean([dense_share(graph, x[list(order)]) for order in orders])
    assert high_frequency_share(graph, x).expected == pytest.approx(mean)


def _without_isolated(graph):
    place = (graph.degree > 0).cumsum(0) - 1
    return place[graph.edge_index], graph.edge_weight


def test_the_dirichlet_energy_is_a_sum_over_edges():
    """tr(Hᵀ L H) = ½ Σ_ij A_ij ‖h_i / √d_i - h_j / √d_j‖² with A of both directions."""
    graph = random_graph(4, num_nodes=12, num_edges=30, isolated=0, weighted=True).symmetrised()
    h = torch.randn(12, 3, dtype=torch.float64)
    adjacency = dense(graph)
    linked = adjacency.sum(1) > 0
    scaled = h / adjacency.sum(1).where(linked, 1).sqrt()[:, None]
    squares = torch.cdist(scaled, scaled).square()
    expected = (adjacency * squares).sum() / 2 / h[linked].square().sum()
    assert dirichlet_energy(graph, h) == pytest.approx(float(expected))
    assert dirichlet_energy(graph, -5 * h) == pytest.approx(float(expected))


def test_a_signal_that_says_the_degree_alone_has_no_dirichlet_energy():
    graph = random_graph(5, num_nodes=12, num_edges=30)
    h = graph.symmetrised().degree.double().sqrt()[:, None] * torch.tensor([1.0, -2.0])
    assert dirichlet_energy(graph, h) == pytest.approx(0, abs=1e-12)
    assert math.isnan(dirichlet_energy(graph, torch.zeros(12, 2)))


def test_networks_of_averages_alone_lose_their_dirichlet_energy():
    data = load_dataset("csbm:num_nodes=60")
    model = AKGNN(data.num_features, 8, data.num_classes, num_layers=12).eval()
    energies = [dirichlet_energy(data.graph, h) for h in model.signals(data.x, data.graph)]
    assert all(after < before for before, after in itertools.pairwise(energies))
    assert energies[-1] < 0.1 * energies[0]


def ring(num_nodes):
    nodes = torch.arange(num_nodes)
    index = torch.stack([nodes, nodes.roll(1)])
    return Graph.from_edge_index(torch.cat([index, index.flip(0)], dim=1))


def test_the_two_ends():
    alternating = torch.tensor([1.0, -1.0]).repeat(5)[:, None]
    assert high_frequency_share(ring(10), torch.ones(10, 1)).share == pytest.approx(0)
    assert high_frequency_share(ring(10), alternating).share == pytest.approx(1)


def test_isolated_nodes_change_nothing():
    graph = random_graph(4, num_nodes=12, isolated=0)
    more = Graph.from_edge_index(graph.edge_index, num_nodes=15)
    x = torch.randn(15, 2)
    assert high_frequency_share(more, x) == high_frequency_share(graph, x[:12])


@pytest.mark.parametrize(
    ("graph", "x"),
    [
        (
            Graph.from_edge_index(torch.zeros(2, 0, dtype=torch.int64), num_nodes=3),
            torch.ones(3, 1),
        ),
        (ring(4), torch.zeros(4, 2)),
        (
            Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]), torch.tensor([-1.0, -1.0])),
            torch.ones(2, 1),
        ),
    ],
    ids=["no edges", "nothing but zeros", "negative weights"],
)
def test_where_there_is_no_frequency_there_is_no_share(graph, x):
    found = high_frequency_share(graph, x)
    assert math.isnan(found.share)
    assert math.isnan(found.expected)
    assert found.num_nodes == 0


def test_labels_follow_homophily_and_features_need_no_labels():
    smooth, rough = (
        signals_of(load_dataset(f"csbm:num_nodes=300,homophily={h}")) for h in (0.95, 0.02)
    )
    assert smooth.labels.share < smooth.labels.expected / 2
    assert rough.labels.share > rough.labels.expected
    assert smooth.homophily.share > 0.9 > 0.1 > rough.homophily.share
    assert smooth.homophily.num_edges > smooth.train_homophily.num_edges
    assert smooth.features.share < rough.features.share


def test_only_labelled_nodes_count_for_labels():
    data = load_dataset("csbm:num_nodes=200")
    y = data.y.clone()
    y[data.split.test] = -1
    split = replace(data.split, test=data.split.test[:0])
    fewer = signals_of(replace(data, y=y, split=split))
    known = (y >= 0).nonzero().view(-1)
    classes = torch.nn.functional.one_hot(y[known], data.num_classes)
    assert fewer.labels.share == pytest.approx(dense_share(data.graph, classes, known))
    assert fewer.features == signals_of(data).features


def test_large_graphs_have_the_same_shares_in_single_precision(monkeypatch):
    graph, x = random_graph(0, num_nodes=30), torch.randn(30, 4)
    exact = high_frequency_share(graph, x)
    monkeypatch.setattr("akgnn.explain.signals._MANY_ENTRIES", 0)
    found = high_frequency_share(graph, x)
    assert found.share == pytest.approx(exact.share, rel=1e-5)
    assert found.share != exact.share
    assert found.expected == pytest.approx(exact.expected, rel=1e-5)
    assert found.num_nodes == exact.num_nodes
