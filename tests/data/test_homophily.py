import math

import pytest
import torch

from akgnn.data.homophily import homophily_among
from akgnn.graph import Graph

# A path 0-1-2-3, and node 4 linked to 3. Nodes 0 to 3 are chosen.
PATH = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
Y = torch.tensor([0, 0, 1, 0, 1])
CHOSEN = torch.tensor([0, 1, 2, 3])


def test_an_undirected_edge_counts_once():
    graph = Graph.from_edge_index(PATH, num_nodes=5).symmetrised()
    found = homophily_among(graph, Y, CHOSEN)
    assert found.num_edges == 3
    assert found.share == pytest.approx(1 / 3)
    # The degrees are 1, 2, 2, 1: class 0 has 4 of the 6 ends, class 1 has 2.
    assert found.expected == pytest.approx((4 / 6) ** 2 + (2 / 6) ** 2)


def test_sources_and_targets_of_directed_edges_are_counted_apart():
    found = homophily_among(Graph.from_edge_index(PATH, num_nodes=5), Y, CHOSEN)
    assert found.num_edges == 3
    assert found.share == pytest.approx(1 / 3)
    # Sources have the classes 0, 0, 1, targets 0, 1, 0.
    assert found.expected == pytest.approx((2 / 3) * (2 / 3) + (1 / 3) * (1 / 3))


def test_without_edges_nothing_is_known():
    found = homophily_among(Graph.from_edge_index(PATH, num_nodes=5), Y, torch.tensor([0, 2]))
    assert found.num_edges == 0
    assert math.isnan(found.share)
    assert math.isnan(found.expected)


def test_random_labels_agree_as_often_as_expected():
    draw = torch.Generator().manual_seed(0)
    graph = Graph.from_edge_index(torch.randint(400, (2, 4000), generator=draw)).symmetrised()
    y = (torch.rand(graph.num_nodes, generator=draw) < 0.2).long()
    found = homophily_among(graph, y, torch.arange(graph.num_nodes))
    assert found.share == pytest.approx(found.expected, abs=0.02)
