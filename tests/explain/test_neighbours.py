import pytest
import torch

from akgnn.explain.neighbours import Neighbour, log_odds, neighbour_effects, without_edges
from akgnn.explain.nodes import NodeFacts
from akgnn.graph import Graph
from explain_data import Smoothing, star
from oracles import dense, random_graph, renormalised


def test_log_odds_are_those_of_the_probability():
    logits = torch.randn(4, dtype=torch.float64)
    probability = logits.softmax(0)
    for chosen in range(4):
        expected = (probability[chosen] / (1 - probability[chosen])).log()
        assert float(log_odds(logits, chosen)) == pytest.approx(float(expected))


def test_a_sure_model_still_has_log_odds():
    assert float(log_odds(torch.tensor([0.0, 200.0]), 1)) == pytest.approx(200)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_taking_out_edges(weighted, directed):
    graph = random_graph(0, weighted=weighted, directed=directed)
    source, target = graph.edge_index[:, 3].tolist()
    expected = dense(graph)
    expected[source, target] = expected[target, source] = 0
    fewer = without_edges(graph, source, target)
    assert torch.equal(dense(fewer), expected)
    assert fewer.is_symmetric or directed
    expected[source] = expected[:, source] = 0
    assert torch.equal(dense(without_edges(graph, source)), expected)


def test_nodes_without_a_common_edge_change_nothing():
    graph = star().graph
    assert torch.equal(dense(without_edges(graph, 2, 3)), dense(graph))


def test_effects_are_differences_of_the_formula():
    data = star()
    logits = Smoothing()(data.x, data.graph)
    found = neighbour_effects(Smoothing(), data, 0, [1, 2, 3], logits)
    chosen = int(logits[0].argmax())
    for neighbour in found:
        matrix = dense(data.graph)
        matrix[0, neighbour.facts.node] = matrix[neighbour.facts.node, 0] = 0
        smoothing = renormalised(Graph.from_edge_index(matrix.nonzero().T, num_nodes=6))
        without = (smoothing @ smoothing @ data.x.double())[0]
        before = float(log_odds(logits[0].double(), chosen))
        effect = before - float(log_odds(without, chosen))
        assert neighbour.effect == pytest.approx(effect, rel=1e-5)
        assert neighbour.without == data.class_names[int(without.argmax())]


def test_the_neighbour_that_decides_is_found():
    data = star()
    logits = Smoothing()(data.x, data.graph)
    assert data.class_names[int(logits[0].argmax())] == "b"
    first, *others = neighbour_effects(Smoothing(), data, 0, [3, 2, 1], logits)
    assert (first.facts.node, first.without, first.says) == (1, "a", "speaks for")
    assert {other.facts.node for other in others} == {2, 3}
    assert all(other.says == "speaks against" and other.without == "b" for other in others)


@pytest.mark.parametrize(
    ("effect", "says"),
    [
        (2.0, "speaks for"),
        (-2.0, "speaks against"),
        (0.009, "hardly matters"),
        (-0.009, "hardly matters"),
        (0.0, "hardly matters"),
    ],
)
def test_effects_in_words(effect, says):
    assert Neighbour(NodeFacts(0, "0", "none", None, "a"), effect, "a").says == says
