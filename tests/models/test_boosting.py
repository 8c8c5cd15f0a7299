import sys

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier

from akgnn.data.transforms import sparse_if_sparse
from akgnn.errors import DataError, MissingExtraError, SettingsError
from akgnn.graph import Graph
from akgnn.models.boosting import BoostingSettings, Task, boost, tables_of
from akgnn.models.registry import MODELS, ModelEntry, build_model, find_model, register_model
from akgnn.training.metrics import accuracy
from oracles import dense, random_graph

QUICK = BoostingSettings(rounds=5)
NOTHING = torch.empty(2, 0, dtype=torch.int64)


def task(y, num_classes=2, **changes):
    nodes = torch.arange(len(y))
    half = len(y) // 2
    parts = {"train": nodes[:half], "val": nodes[half:], **changes}
    return Task(
        y=y,
        num_classes=num_classes,
        score=lambda logits, y: accuracy(logits.argmax(1), y),
        **parts,
    )


def test_columns_are_features_their_averages_and_the_degree():
    graph = random_graph(3, weighted=True)
    x = torch.randn(graph.num_nodes, 4)
    adjacency = dense(graph).float()
    degree = adjacency.sum(1, keepdim=True)
    mean = adjacency / torch.where(degree > 0, degree, 1)
    (table,) = tables_of(BoostingSettings(), x, graph).values()
    expected = torch.cat([x, mean @ x, mean @ mean @ x, degree], 1)
    torch.testing.assert_close(torch.from_numpy(table), expected)
    (alone,) = tables_of(BoostingSettings(hops=0), x, graph).values()
    assert alone.shape == (graph.num_nodes, 5)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_many_features_are_tried_as_directions_too(is_sparse, monkeypatch):
    graph = random_graph(3, num_nodes=60, num_edges=100)
    x = torch.rand(60, 400) * (torch.rand(60, 400) < 0.05)
    x = sparse_if_sparse(x) if is_sparse else x
    tables = tables_of(BoostingSettings(directions=7), x, graph)
    assert {name: table.shape[1] for name, table in tables.items()} == {
        "all features": 3 * 400 + 1,
        "7 directions": 3 * 7 + 1,
    }
    monkeypatch.setattr("akgnn.models.boosting._MOST_NUMBERS", 1000)
    assert list(tables_of(BoostingSettings(), x, graph)) == ["50 directions"]


def test_directions_of_features_have_their_distances():
    graph = Graph.from_edge_index(NOTHING, num_nodes=20)
    x = torch.randn(20, 3) @ torch.randn(3, 400)
    table = tables_of(BoostingSettings(directions=3, hops=0), x, graph)["3 directions"]
    found = torch.from_numpy(table[:, :3])
    torch.testing.assert_close(torch.cdist(found, found), torch.cdist(x, x), rtol=1e-2, atol=1e-2)


def test_classes_of_neighbours_are_learned():
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(400, (2, 1200), generator=generator)
    graph = Graph.from_edge_index(edges, num_nodes=400).symmetrised()
    x = torch.randn(400, 3, generator=generator)
    # Nothing in a node's own features tells its class.
    y = ((dense(graph).float() @ x[:, :1])[:, 0] > 0).long()
    nodes = torch.arange(400)
    asked = task(y, train=nodes[:250], val=nodes[250:300])
    boosted = boost(BoostingSettings(), x, graph, asked)
    assert accuracy(boosted.logits[300:].argmax(1), y[300:]) > 85
    without = boost(BoostingSettings(hops=0), x, graph, asked)
    assert accuracy(without.logits[300:].argmax(1), y[300:]) < 70


def test_validation_alone_chooses():
    graph, x = random_graph(0, num_nodes=80), torch.rand(80, 5)
    y = torch.arange(80) % 3
    scores = iter([1.0, 3.0, 2.0])
    seen = []

    def score(logits, y):
        seen.append(y)
        return next(scores)

    nodes = torch.arange(80)
    asked = Task(y, 3, nodes[:40], nodes[40:60], score)
    boosted = boost(QUICK, x, graph, asked)
    assert boosted.chosen == "all features, learning rate 0.1, 31 leaves"
    assert all(torch.equal(each, y[40:60]) for each in seen)
    assert boosted.logits.shape == (80, 3)
    assert 1 <= boosted.rounds <= 5
    # What the other nodes are has no say.
    scores = iter([1.0, 3.0, 2.0])
    other = y.clone()
    other[60:] = 0
    again = boost(QUICK, x, graph, Task(other, 3, nodes[:40], nodes[40:60], score))
    assert torch.equal(again.logits, boosted.logits)


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_are_those_of_the_trees(classes):
    graph, x = random_graph(0, num_nodes=80), torch.rand(80, 5)
    y, nodes = torch.arange(80) % classes, torch.arange(80)
    # Of equal scores the first is taken.
    asked = Task(y, classes, nodes[:50], nodes[50:], lambda logits, y: 0.0)
    logits = boost(QUICK, x, graph, asked).logits
    (table,) = tables_of(QUICK, x, graph).values()
    trees = HistGradientBoostingClassifier(
        learning_rate=0.1, max_leaf_nodes=8, max_iter=5, min_samples_leaf=2, max_bins=63
    ).fit(table[:50], y[:50])
    assert np.allclose(logits.softmax(1), trees.predict_proba(table), atol=1e-6)


def test_classes_that_no_training_node_has_are_never_predicted():
    graph, x = random_graph(0, num_nodes=80), torch.rand(80, 5)
    y = torch.arange(80) % 2
    y[::3] = 3
    nodes = torch.arange(80)
    train = nodes[y < 3][:30]
    boosted = boost(QUICK, x, graph, task(y, 4, train=train, val=nodes[60:]))
    assert set(boosted.logits.argmax(1).tolist()) <= {0, 1}
    assert boosted.logits.isfinite().all()
    # Nor do validation nodes of such classes alone end the rounds.
    only = boost(QUICK, x, graph, task(y, 4, train=train, val=nodes[y == 3]))
    assert only.rounds == 5


def test_all_weigh_alike_if_asked():
    graph, x = random_graph(0, num_nodes=80), torch.rand(80, 5)
    y = (torch.arange(80) % 10 == 0).long()
    nodes = torch.arange(80)
    plain, balanced = (
        boost(QUICK, x, graph, task(y, train=nodes, val=nodes, is_balanced=each)).logits.softmax(1)
        for each in (False, True)
    )
    assert balanced[:, 1].mean() > plain[:, 1].mean()


@pytest.mark.parametrize("features", [5, 400])
def test_features_that_are_all_0_and_no_edges(features):
    graph = Graph.from_edge_index(NOTHING, num_nodes=30)
    y = torch.arange(30) % 2
    assert boost(QUICK, torch.zeros(30, features), graph, task(y)).logits.isfinite().all()


def test_one_class_is_refused():
    graph = random_graph(0)
    y = torch.zeros(graph.num_nodes, dtype=torch.int64)
    with pytest.raises(DataError, match="two classes or more"):
        boost(QUICK, torch.rand(graph.num_nodes, 3), graph, task(y))


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    graph = random_graph(0)
    y = torch.arange(graph.num_nodes) % 2
    with pytest.raises(MissingExtraError, match=r"Gradient boosting needs .*akgnn\[sklearn\]"):
        boost(QUICK, torch.rand(graph.num_nodes, 3), graph, task(y))


def test_there_is_no_network_of_it():
    assert "gradient-boosting" not in MODELS
    settings = find_model("gradient-boosting").settings()
    with pytest.raises(SettingsError, match=r"no network.*akgnn reproduce FILE\.toml"):
        build_model("gradient-boosting", settings, 4, 3)
    with pytest.raises(SettingsError, match="There is a model 'gradient-boosting' already"):
        register_model("gradient-boosting", ModelEntry(None, BoostingSettings, "mine", "nowhere"))
