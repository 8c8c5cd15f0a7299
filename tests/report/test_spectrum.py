import numpy as np
import pytest
import torch
from scipy import sparse

from akgnn.errors import GraphError
from akgnn.graph import Graph
from akgnn.report.spectrum import jackson, spectrum_of


def graph_of(dense):
    return Graph.from_scipy(sparse.coo_array(np.asarray(dense, dtype=np.float64)))


def random_graph(nodes, edges, seed=0):
    generator = torch.Generator().manual_seed(seed)
    index = torch.randint(nodes, (2, edges), generator=generator)
    return Graph.from_edge_index(torch.cat([index, index.flip(0)], 1), num_nodes=nodes)


def test_a_complete_graph_has_two_frequencies():
    spectrum = spectrum_of(graph_of(1 - np.eye(5)), bins=8)
    # 0 once and 5 / 4 four times; bins are a quarter wide.
    assert spectrum.share == pytest.approx([0.2, 0, 0, 0, 0, 0.8, 0, 0])
    assert spectrum.is_exact


def test_a_path_of_two_nodes_reaches_both_ends():
    spectrum = spectrum_of(graph_of([[0, 1], [1, 0]]), bins=4)
    assert spectrum.share == (0.5, 0, 0, 0.5)
    assert spectrum.edges == (0, 0.5, 1, 1.5, 2)


def test_an_isolated_node_has_frequency_zero():
    edges = torch.tensor([[0, 1], [1, 0]])
    spectrum = spectrum_of(Graph.from_edge_index(edges, num_nodes=4), bins=4)
    assert spectrum.share == (0.75, 0, 0, 0.25)


def test_a_directed_edge_counts_both_ways():
    one_way = Graph.from_edge_index(torch.tensor([[0], [1]]), num_nodes=2)
    assert spectrum_of(one_way, bins=4).share == (0.5, 0, 0, 0.5)


def test_shares_are_those_of_the_dense_laplacian():
    graph = random_graph(40, 90)
    dense = np.zeros((40, 40))
    source, target = graph.edge_index.numpy()
    dense[target, source] = 1
    degree = dense.sum(1)
    scale = np.diag(1 / np.sqrt(np.where(degree == 0, 1, degree)))
    laplacian = np.diag((degree > 0).astype(float)) - scale @ dense @ scale
    counts, _ = np.histogram(np.linalg.eigvalsh(laplacian).clip(0, 2), np.linspace(0, 2, 14))
    assert spectrum_of(graph, bins=13).share == pytest.approx(counts / 40)


def test_the_estimate_is_near_the_exact_spectrum():
    graph = random_graph(1200, 2400)
    exact = np.cumsum(spectrum_of(graph, bins=40).share)
    estimate = spectrum_of(graph, bins=40, most_nodes=100)
    assert not estimate.is_exact
    assert sum(estimate.share) == pytest.approx(1)
    # In the middle of a bin that holds many equal frequencies the estimate is smeared.
    assert np.abs(np.cumsum(estimate.share) - exact).mean() < 0.005
    assert np.abs(np.cumsum(estimate.share) - exact).max() < 0.02


def test_the_estimate_repeats():
    graph = random_graph(300, 700)
    first, second = (spectrum_of(graph, most_nodes=10) for _ in range(2))
    assert first == second


def test_jackson_damps_from_one_towards_zero():
    factors = jackson(50)
    assert factors[0] == pytest.approx(1)
    assert (np.diff(factors) < 0).all()
    assert 0 <= factors[-1] < 0.01


def test_negative_weights_are_refused():
    graph = graph_of([[0, -1], [-1, 0]])
    with pytest.raises(GraphError, match="Negative edge weights"):
        spectrum_of(graph)
