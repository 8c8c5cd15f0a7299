import pytest
import torch
import torch.nn.functional as F
from hypothesis import given

from akgnn.errors import GraphError
from akgnn.graph import Graph
from akgnn.ops.dropout import Noise
from akgnn.ops.pairs import AllPairs, ListedPairs
from oracles import dense, graphs, random_graph

KINDS = {
    "all": AllPairs,
    "listed": lambda graph: ListedPairs.most_similar(
        graph, torch.rand(graph.num_nodes, 3), graph.num_nodes
    ),
}


def upper(matrix):
    return matrix[tuple(torch.triu_indices(*matrix.shape, 1))]


@pytest.mark.parametrize("kind", KINDS)
@given(graph=graphs())
def test_they_are_the_upper_triangle(kind, graph):
    pairs = KINDS[kind](graph)
    z = torch.randn(graph.num_nodes, 4, dtype=torch.float64)
    torch.testing.assert_close(pairs.inner(z), upper(z @ z.T))
    assert torch.equal(pairs.edges, upper(dense(graph)).nonzero().view(-1))


@pytest.mark.parametrize("kind", KINDS)
@given(graph=graphs())
def test_the_matrix_is_symmetric_with_an_empty_diagonal(kind, graph):
    pairs = KINDS[kind](graph)
    values = torch.rand_like(upper(dense(graph)))
    expected = torch.zeros_like(dense(graph))
    expected[tuple(torch.triu_indices(*expected.shape, 1))] = values
    h = torch.randn(graph.num_nodes, 3, dtype=torch.float64)
    torch.testing.assert_close(pairs.symmetric(values) @ h, (expected + expected.T) @ h)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_equal_the_numerical_ones(kind):
    graph = random_graph(0, num_nodes=6)
    pairs = KINDS[kind](graph)
    values = torch.rand(15, dtype=torch.float64, requires_grad=True)
    h = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda values, h: pairs.symmetric(values) @ h, (values, h))
    assert torch.autograd.gradcheck(pairs.inner, h)


def test_the_sum_over_all_pairs_is_exact():
    z = torch.randn(12, 3, dtype=torch.float64)
    pairs = AllPairs(random_graph(0))
    torch.testing.assert_close(pairs.softplus_sum(z, pairs.inner(z), 0), F.softplus(z @ z.T).sum())


def test_the_sum_from_a_sample_has_no_bias():
    z = torch.randn(12, 3, dtype=torch.float64)
    pairs = KINDS["listed"](random_graph(0))
    estimates = [pairs.softplus_sum(z, pairs.inner(z), Noise(0).key(k)) for k in range(500)]
    error = torch.stack(estimates) - F.softplus(z @ z.T).sum()
    assert abs(float(error.mean())) < 4 * float(error.std()) / 500**0.5


def test_candidates_are_the_most_similar_that_are_no_neighbours():
    # Nodes 0 to 3 look alike in this order; 0 and 1 are neighbours already.
    graph = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]), num_nodes=5)
    angle = torch.tensor([0.0, 0.1, 0.3, 0.6, 3.0])
    signal = torch.stack([angle.cos(), angle.sin()], 1) * torch.tensor([[1.0], [5], [2], [1], [1]])
    pairs = ListedPairs.most_similar(graph, signal, 1)
    listed = set(zip(pairs.row.tolist(), pairs.col.tolist(), strict=True))
    assert listed == {(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)}


def test_no_candidates_are_refused():
    with pytest.raises(GraphError, match="at least one candidate"):
        ListedPairs.most_similar(random_graph(0), torch.rand(12, 2), 0)
