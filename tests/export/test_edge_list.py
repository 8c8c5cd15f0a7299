import pytest
import torch
from hypothesis import given

from akgnn.errors import ExportError
from akgnn.export.edge_list import EdgeList
from akgnn.graph import Graph
from oracles import graphs


@given(graphs(directed=True))
def test_it_says_what_the_graph_says(graph):
    edges = EdgeList.without_loops(graph.edge_index, graph.edge_weight, graph.num_nodes)
    for one, other in ((edges, graph), (edges.transpose, graph.transpose)):
        torch.testing.assert_close(one.degree, other.degree)
        assert float(one.mean_degree) == pytest.approx(other.mean_degree)


def test_self_loops_are_left_out_with_their_weights():
    index, weight = torch.tensor([[0, 1, 2, 2], [1, 1, 2, 0]]), torch.tensor([1.0, 2.0, 3.0, 4.0])
    edges = EdgeList.without_loops(index, weight, 3)
    graph = Graph.from_edge_index(index, weight, num_nodes=3)
    assert edges.edge_index.tolist() == [[0, 2], [1, 0]]
    torch.testing.assert_close(edges.degree, graph.degree)


def test_the_largest_frequency_has_to_be_known():
    index = torch.tensor([[0, 1], [1, 0]])
    assert EdgeList(index, None, 2, 2.0).largest_frequency == 2.0
    with pytest.raises(ExportError, match="largest eigenvalue"):
        EdgeList(index, None, 2).largest_frequency  # noqa: B018
