import json
import math
from dataclasses import replace

import pytest
import torch

from akgnn.csr import CSR
from akgnn.data.catalogue import load_dataset
from akgnn.data.node_data import NodeData
from akgnn.errors import DataError, SettingsError
from akgnn.explain.explanation import (
    Neighbour,
    by_distance,
    explain_node,
    feature_effects,
    log_odds,
    neighbour_effects,
    without_edges,
)
from akgnn.explain.nodes import NodeFacts
from akgnn.graph import Graph
from akgnn.models.akgnn import AKGNN
from akgnn.models.akgnn_grand import AKGNNGrand
from akgnn.models.registry import MODELS, build_model
from akgnn.runs.presets import default_settings
from explain_data import Smoothing, star
from oracles import dense, random_graph, renormalised, sparse


def test_the_whole_explanation_of_a_known_node():
    found = explain_node(Smoothing(), star(), 0)
    assert (found.facts.role, found.facts.label, found.facts.predicted) == ("test", "a", "b")
    assert (found.predicted.name, found.runner_up.name) == ("b", "a")
    p = found.predicted.probability
    assert found.log_odds == pytest.approx(math.log(p / (1 - p)), rel=1e-4)
    assert p + found.runner_up.probability == pytest.approx(1)
    # It has no features of its own.
    assert found.alone.probability == pytest.approx(0.5)
    assert found.neighbours[0].facts.node == 1
    assert [far.facts.node for far in found.far] == [4]
    assert found.far[0].distance == 2
    assert found.by_distance[0] == 0
    assert len(found.by_distance) == 3
    assert sum(found.by_distance) == pytest.approx(found.log_odds, rel=1e-5)


def test_an_isolated_node_is_alone():
    found = explain_node(Smoothing(), star(), 5)
    assert found.neighbours == found.far == ()
    assert found.num_neighbours == 0
    assert found.alone == found.predicted
    assert found.by_distance == (3.0,)


def test_of_a_hub_those_that_count_most_are_looked_at():
    found = explain_node(Smoothing(), star(), 0, most_neighbours=1)
    assert [neighbour.facts.node for neighbour in found.neighbours] == [1]
    assert found.num_neighbours == 3


def test_as_json_it_is_flat():
    content = json.loads(json.dumps(explain_node(Smoothing(), star(), 0).to_dict()))
    assert content["node"] == 0
    assert set(content["neighbours"][0]) == {
        *("node", "name", "role", "label", "predicted", "effect", "without", "direction", "says")
    }
    assert content["neighbours"][0]["says"] == "speaks for"
    assert set(content["far"][0]) == {
        *("node", "name", "role", "label", "predicted", "distance", "effect")
    }
    assert content["predicted"] == "b"


@pytest.fixture(scope="module")
def data():
    return load_dataset("csbm:num_nodes=120,degree=4")


@pytest.mark.parametrize("name", MODELS)
def test_every_model_can_be_explained(name, data):
    model = build_model(name, default_settings(name).model, data.num_features, data.num_classes)
    model.eval()
    node = int(data.graph.degree.argmax())
    found = explain_node(model, data, node, top=3)
    assert len(found.neighbours) == found.num_neighbours == int(data.graph.degree[node])
    assert len(found.far) <= 3
    with torch.no_grad():
        before = model(data.x, data.graph)[node].softmax(0)
    assert found.predicted.probability == pytest.approx(float(before.max()), rel=1e-5)
    uses_edges = name != "mlp"
    assert any(abs(neighbour.effect) > 1e-5 for neighbour in found.neighbours) == uses_edges
    assert (len(found.by_distance) > 1) == uses_edges


@pytest.mark.gpu
def test_a_gpu_finds_the_same(data):
    model = AKGNN(data.num_features, 16, data.num_classes).eval()
    node = int(data.graph.degree.argmax())
    here = explain_node(model, data, node)
    there = explain_node(model.to("cuda"), data.to("cuda"), node)
    effects = [{n.facts.node: n.effect for n in e.neighbours} for e in (here, there)]
    assert effects[1] == pytest.approx(effects[0], abs=1e-4)
    assert there.by_distance == pytest.approx(here.by_distance, abs=1e-4)


@pytest.mark.parametrize("normalisation", ["row", "directed"])
def test_a_directed_graph_has_neighbours_on_both_sides(normalisation):
    # 1 → 0 → 2 → 3: node 0 hears of node 2 only where out-neighbours count.
    graph = Graph.from_edge_index(torch.tensor([[1, 0, 2], [0, 2, 3]]), num_nodes=6)
    data = replace(star(torch.rand(6, 2) + 0.1), graph=graph)
    model = AKGNN(2, 4, 2, num_layers=2, normalisation=normalisation, kernel="signed").eval()
    around = explain_node(model, data, 0).neighbours
    assert {n.facts.node: n.direction for n in around} == {1: "from it", 2: "to it"}
    found = {n.facts.node: n.effect for n in around}
    assert abs(found[1]) > 1e-6
    assert (abs(found[2]) > 1e-6) == (normalisation == "directed")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"node": 6}, DataError, "star has the nodes 0 to 5; there is no node 6"),
        ({"node": -1}, DataError, "there is no node -1"),
        ({"node": 0, "top": 0}, SettingsError, "top must be at least 1, got 0"),
        (
            {"node": 0, "most_neighbours": 0},
            SettingsError,
            "most_neighbours must be at least 1, got 0",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        explain_node(Smoothing(), star(), **options)


def test_one_class_leaves_nothing_to_decide():
    data = star()
    one = NodeData("one", data.x, torch.zeros(6).long(), data.graph, data.split, ("a",))
    with pytest.raises(DataError, match="one has one class only"):
        explain_node(Smoothing(), one, 0)


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


def test_a_linear_model_is_the_sum_of_its_effects():
    # With two classes the log-odds are a difference of logits, so nothing is rounded away.
    data = star()
    logits = Smoothing()(data.x, data.graph)
    effects = feature_effects(Smoothing(), data, 0, 1)
    assert float(effects.sum()) == pytest.approx(float(log_odds(logits[0], 1)), rel=1e-5)
    assert float(effects[5]) == 0
    assert float(effects[1]) > 0 > float(effects[2])


def test_effects_are_what_the_gradient_says():
    data = star(torch.rand(6, 2))
    effects = feature_effects(Smoothing(), data, 0, 0)
    for node in range(6):
        moved = data.x.clone()
        moved[node] *= 1.001
        change = [float(log_odds(Smoothing()(x, data.graph)[0], 0)) for x in (moved, data.x)]
        assert 1000 * (change[0] - change[1]) == pytest.approx(float(effects[node]), abs=2e-3)


@pytest.mark.parametrize("name", MODELS)
def test_sparse_features_give_the_same(name):
    data = star()
    model = build_model(name, default_settings(name).model, 2, 2).eval()
    few = star(sparse(data.x))
    expected = feature_effects(model, data, 0, 1)
    torch.testing.assert_close(feature_effects(model, few, 0, 1), expected)
    assert not data.x.requires_grad
    assert not few.x.value.requires_grad


def test_entries_that_are_all_one_need_not_be_stored():
    x = (star().x > 0).float()
    model = build_model("akgnn", default_settings("akgnn").model, 2, 2).eval()
    bare = CSR(sparse(x).pattern)
    expected = feature_effects(model, star(x), 0, 1)
    torch.testing.assert_close(feature_effects(model, star(bare), 0, 1), expected)


@pytest.mark.parametrize("options", [{}, {"readout": "max"}, {"node_dropout": 0.5}])
def test_sparse_features_that_are_propagated_first(options):
    model = AKGNNGrand(2, 4, 2, **options).eval()
    data = star()
    expected = feature_effects(model, data, 0, 1)
    torch.testing.assert_close(feature_effects(model, star(sparse(data.x)), 0, 1), expected)


def test_effects_add_up_by_distance():
    effects = torch.tensor([1.0, 2, 4, 8, 16, 0])
    assert by_distance(effects, torch.tensor([0, 1, 1, 2, -1, 3])) == [1, 6, 8]
    assert by_distance(torch.zeros(3), torch.tensor([0, 1, 2])) == [0]


def test_it_is_short_as_text_and_a_picture_in_notebooks():
    found = explain_node(Smoothing(), star(), 0)
    assert repr(found).startswith("Explanation(node 0: b, ")
    assert repr(found).endswith("%; 3 neighbours)")
    assert found.picture() in found._repr_html_()
    assert found.picture(top=1) != found.picture()
