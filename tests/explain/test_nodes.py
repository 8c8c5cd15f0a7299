import pytest
import torch

from akgnn.errors import DataError
from akgnn.explain.nodes import (
    direction_of,
    distances_from,
    facts_of,
    find_node,
    neighbours_of,
    role_of,
)
from akgnn.graph import Graph
from explain_data import star


@pytest.mark.parametrize(("name", "node"), [("0", 0), ("5", 5), (" 3 ", 3), ("0004", 4)])
def test_a_row_number_is_found(name, node):
    assert find_node(name, star()) == node


@pytest.mark.parametrize("name", ["", " ", "x", "-1", "+1", "1.0", "1e0", "0x1", "²", "٣", "1 2"])
def test_what_is_no_row_number_is_refused(name):
    with pytest.raises(DataError, match="A node of star is a number from 0 to 5, got"):
        find_node(name, star())


@pytest.mark.parametrize("name", ["6", "10", "9" * 5000])
def test_a_node_out_of_range_is_refused(name):
    with pytest.raises(DataError, match="star has the nodes 0 to 5; there is no node"):
        find_node(name, star())


def test_roles():
    roles = [role_of(node, star()) for node in range(6)]
    assert roles == ["test", "training", "training", "none", "validation", "none"]


def test_facts_name_the_classes():
    known, unknown = facts_of(0, 1, star()), facts_of(3, 0, star())
    assert (known.label, known.predicted) == ("a", "b")
    assert (unknown.label, unknown.predicted) == (None, "a")


def test_neighbours_in_either_direction():
    graph = Graph.from_edge_index(torch.tensor([[0, 2, 3], [1, 0, 2]]), num_nodes=5)
    assert neighbours_of(graph, 0).tolist() == [1, 2]
    assert neighbours_of(graph, 4).tolist() == []
    assert neighbours_of(star().graph, 0).tolist() == [1, 2, 3]


def test_distances():
    assert distances_from(star().graph, 0).tolist() == [0, 1, 1, 1, 2, -1]
    assert distances_from(star().graph, 5).tolist() == [-1, -1, -1, -1, -1, 0]
    path = Graph.from_edge_index(torch.tensor([[1, 1, 3], [0, 2, 2]]))
    assert distances_from(path, 0).tolist() == [0, 1, 2, 3]


def test_the_direction_of_edges_is_seen_from_the_neighbour():
    graph = Graph.from_edge_index(torch.tensor([[1, 0, 0, 3], [0, 2, 3, 0]]), num_nodes=4)
    found = [direction_of(graph, 0, other) for other in (1, 2, 3)]
    assert found == ["from it", "to it", "both ways"]
    assert direction_of(graph.symmetrised(), 0, 1) == ""
