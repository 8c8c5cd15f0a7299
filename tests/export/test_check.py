import pytest
import torch

from akgnn.csr import CSR
from akgnn.data.catalogue import load_dataset
from akgnn.errors import ExportError
from akgnn.export.export import TOLERANCE, largest_difference, other_cases, own_case
from akgnn.export.program import inputs_of
from akgnn.graph import Graph

GRAPH = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]), num_nodes=3)
X = torch.tensor([[1.0, -4.0], [2.0, 3.0], [0.5, 0.0]])


def model(x, graph):
    return x


def difference(run, x=X):
    return largest_difference(model, run, [(x, GRAPH)])


def test_the_largest_difference_is_relative_to_the_largest_score():
    assert difference(model) == 0
    # The largest of the scores is 4.
    assert difference(lambda x, graph: x + 2e-5) == pytest.approx(5e-6, rel=0.05)
    # Below 1 it is the difference itself.
    found = difference(lambda x, graph: x + 2e-6, X / 100)
    assert found == pytest.approx(2e-6, rel=0.05)


def test_the_worst_of_all_graphs_counts():
    cases = [(X, GRAPH), (X[:1], Graph.from_edge_index(torch.empty(2, 0).long(), num_nodes=1))]
    found = largest_difference(model, lambda x, graph: x + 1e-6 * graph.num_nodes, cases)
    assert found == pytest.approx(3e-6 / 4, rel=0.1)


@pytest.mark.parametrize("wrong", [5 * TOLERANCE, float("nan"), float("inf")])
def test_other_answers_are_refused(wrong):
    with pytest.raises(ExportError, match=r"other answers: .* on a graph of 3 nodes and 2 edges"):
        difference(lambda x, graph: x + wrong)


def test_another_number_of_answers_is_refused():
    with pytest.raises(ExportError, match=r"gives \[3, 1\] numbers instead of \[3, 2\]"):
        difference(lambda x, graph: x[:, :1])


def test_sparse_features_are_shown_dense():
    data = load_dataset("cora")
    assert isinstance(data.x, CSR)
    x, graph = own_case(data)
    assert torch.equal(x, data.x.to_dense(torch.float32))
    assert graph is data.graph


@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_other_graphs_are_awkward(is_weighted):
    (x, graph), (few, empty) = other_cases(X, is_weighted=is_weighted)
    assert (len(x), len(few)) == (graph.num_nodes, empty.num_nodes)
    assert (graph.edge_weight is not None) == is_weighted
    assert graph.symmetrised().num_edges == graph.num_edges
    assert bool((graph.degree == 0).any())
    assert empty.num_edges == 0


def test_a_graph_without_weights_has_weights_of_1():
    x, edges, weight = inputs_of(X, GRAPH)
    assert x is X
    assert torch.equal(edges, GRAPH.edge_index)
    assert torch.equal(weight, torch.ones(2))
    heavy = Graph.from_edge_index(GRAPH.edge_index, torch.tensor([2.0, 3.0]), num_nodes=3)
    assert torch.equal(inputs_of(X, heavy)[2], heavy.edge_weight)
