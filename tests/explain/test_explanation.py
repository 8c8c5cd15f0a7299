import json
import math
from dataclasses import replace

import pytest
import torch

from akgnn.data.catalogue import load_dataset
from akgnn.data.node_data import NodeData
from akgnn.errors import DataError, SettingsError
from akgnn.explain.explanation import explain_node
from akgnn.graph import Graph
from akgnn.models.akgnn import AKGNN
from akgnn.models.registry import MODELS, build_model
from akgnn.training.presets import default_settings
from explain_data import Smoothing, star


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
        *("node", "name", "role", "label", "predicted", "effect", "without", "says")
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
    found = {n.facts.node: n.effect for n in explain_node(model, data, 0).neighbours}
    assert found.keys() == {1, 2}
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
