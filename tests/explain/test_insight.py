import json
import math
from dataclasses import replace

import pytest
import torch

from akgnn.data.catalogue import load_dataset
from akgnn.explain.insight import (
    class_scores,
    insight_of,
    reliability_bins,
    reliability_gap,
    suspects,
)
from akgnn.explain.signals import high_frequency_share
from akgnn.files import without_nan
from akgnn.models.akgnn import AKGNN
from akgnn.models.registry import build_model
from akgnn.runs.presets import default_settings
from akgnn.training.metrics import accuracy, calibration_error
from explain_data import star


@pytest.fixture(scope="module")
def data():
    return load_dataset("csbm:num_nodes=200")


@pytest.fixture(scope="module")
def model(data):
    return AKGNN(data.num_features, 8, data.num_classes, num_layers=3).eval()


def test_numbers_agree_with_each_other(model, data):
    found = insight_of(model, data)
    nodes = data.split.test
    with torch.no_grad():
        score = accuracy(model(data.x, data.graph)[nodes].argmax(1), data.y[nodes])
    assert found.num_test == len(nodes) == sum(part.count for part in found.reliability)
    assert 100 * (1 - found.num_mistakes / found.num_test) == pytest.approx(score)
    assert [part.support for part in found.classes] == [sum(row) for row in found.confusion]
    assert len(found.suspects) == 20


def test_smoothing_is_that_of_the_hidden_signals(model, data):
    found = insight_of(model, data)
    signals = model.signals(data.x, data.graph)
    expected = [high_frequency_share(data.graph, signal).share for signal in signals]
    assert found.smoothing == pytest.approx(expected)
    assert len(found.smoothing) == 4


def test_a_model_without_kernels_has_no_smoothing(data):
    model = build_model("gcn", default_settings("gcn").model, data.num_features, data.num_classes)
    assert insight_of(model.eval(), data).smoothing == ()


def test_without_test_nodes_there_are_no_scores(model, data):
    split = replace(data.split, test=data.split.test[:0])
    found = insight_of(model, data.with_split(split))
    assert found.classes == found.reliability == ()
    assert found.num_test == found.num_mistakes == 0
    assert found.suspects


def test_a_class_without_test_nodes_is_listed(model, data):
    nodes = data.split.test
    split = replace(data.split, test=nodes[data.y[nodes] != 2])
    absent = insight_of(model, data.with_split(split)).classes[2]
    assert absent.support == 0
    assert absent.recall != absent.recall


def test_it_can_be_written_as_json(model, data):
    content = json.loads(json.dumps(without_nan(insight_of(model, data).to_dict())))
    assert content["calibration_gap"] > 0
    assert content["signals"]["labels"]["num_nodes"] <= 200
    assert len(content["reliability"]) == 15


def test_scores_of_classes_by_hand():
    scores = class_scores(torch.tensor([[3, 1], [2, 4]]), ("a", "b"))
    assert scores[0].precision == pytest.approx(60)
    assert scores[0].recall == pytest.approx(75)
    assert scores[0].f1 == pytest.approx(200 * 0.6 * 0.75 / 1.35)
    assert [score.support for score in scores] == [4, 6]


def test_a_class_without_test_nodes_has_no_recall():
    absent = class_scores(torch.tensor([[3, 1], [0, 0]]), ("a", "b"))[1]
    assert math.isnan(absent.recall)
    assert (absent.precision, absent.f1, absent.support) == (0, 0, 0)


def test_a_class_that_is_never_predicted_has_no_precision():
    never = class_scores(torch.tensor([[3, 0], [2, 0]]), ("a", "b"))[1]
    assert math.isnan(never.precision)
    assert (never.recall, never.f1) == (0, 0)


def test_a_class_that_is_nowhere_has_no_score():
    nowhere = class_scores(torch.tensor([[3, 0], [0, 0]]), ("a", "b"))[1]
    assert all(map(math.isnan, (nowhere.precision, nowhere.recall, nowhere.f1)))


def test_bins_by_hand():
    pairs = [[0.55, 0.45], [0.6, 0.4], [0.05, 0.95], [0.0, 1.0]]
    probability = torch.tensor(pairs, dtype=torch.float64)
    bins = reliability_bins(probability, torch.tensor([0, 1, 1, 1]), bins=10)
    assert [part.count for part in bins] == [0, 0, 0, 0, 0, 2, 0, 0, 0, 2]
    half, sure = bins[5], bins[9]
    assert (half.low, half.high) == (0.5, 0.6)
    assert (half.confidence, half.accuracy) == (pytest.approx(57.5), 50)
    assert (sure.confidence, sure.accuracy) == (pytest.approx(97.5), 100)
    assert reliability_gap(bins) == pytest.approx((7.5 + 2.5) / 2)


def test_an_empty_bin_has_no_numbers():
    (part,) = reliability_bins(torch.zeros(0, 2), torch.zeros(0).long(), bins=1)
    assert part.count == 0
    assert math.isnan(part.confidence)
    assert math.isnan(part.accuracy)


def test_without_nodes_there_is_no_gap():
    assert math.isnan(reliability_gap(reliability_bins(torch.zeros(0, 2), torch.zeros(0).long())))


def test_a_model_as_often_right_as_it_is_sure_has_no_gap():
    probability = torch.tensor([[0.75, 0.25]]).repeat(4, 1)
    assert reliability_gap(reliability_bins(probability, torch.tensor([0, 0, 0, 1]))) == 0


def test_every_node_is_in_one_bin():
    probability = torch.randn(500, 3).softmax(1)
    bins = reliability_bins(probability, torch.randint(3, (500,)), bins=7)
    assert sum(part.count for part in bins) == 500
    for part in bins:
        assert not part.count or 100 * part.low < part.confidence <= 100 * part.high


def test_the_error_is_the_one_that_training_reports():
    logits, y = 2 * torch.randn(200, 3), torch.randint(3, (200,))
    bins = reliability_bins(logits.double().softmax(1), y)
    assert reliability_gap(bins) == pytest.approx(calibration_error(logits, y))


def test_held_out_labels_come_before_those_that_were_learned_from():
    # All labels of class a (0, 2, 5) are doubted, the training node's most.
    probability = torch.tensor([[0.3, 0.7], [0.0, 1], [0.1, 0.9], [0, 1], [0, 1], [0.2, 0.8]])
    found = suspects(probability, star())
    assert [(suspect.node, suspect.role) for suspect in found] == [
        (5, "none"),
        (0, "test"),
        (2, "training"),
    ]
    doubted = found[1]
    assert (doubted.label, doubted.predicted) == ("a", "b")
    assert abs(doubted.probability - 0.3) < 1e-6 > abs(doubted.predicted_probability - 0.7)


def test_neighbours_with_a_known_label_are_counted():
    probability = torch.tensor([[0.3, 0.7]]).repeat(6, 1)
    first = next(suspect for suspect in suspects(probability, star()) if suspect.node == 0)
    # Nodes 1 (b), 2 (a) and 3, whose label is not known.
    assert (first.num_neighbours, first.neighbours_agree, first.neighbours_predicted) == (2, 1, 1)


def test_nodes_without_a_label_and_labels_that_are_believed_are_no_suspects():
    probability = torch.tensor([[1.0, 0], [0, 1], [1, 0], [0.5, 0.5], [0, 1], [1, 0]])
    assert suspects(probability, star()) == []


def test_only_so_many_of_each_part():
    probability = torch.tensor([[0.3, 0.7]]).repeat(6, 1)
    found = suspects(probability, star(), top=1)
    assert [suspect.role for suspect in found] == ["test", "training"]


def test_ties_are_ordered_by_how_sure_the_model_is_of_another_class():
    probability = torch.tensor([[0.0, 0.6, 0.4]]).repeat(6, 1)
    probability[5] = torch.tensor([0.0, 0.9, 0.1])
    data = star()
    # Of a published split, class c need not have a training node.
    split = replace(data.split, is_published=True)
    data = replace(data, split=split, class_names=("a", "b", "c"))
    assert suspects(probability, data)[0].node == 5


def test_flipped_labels_are_found():
    data = load_dataset("csbm:num_nodes=200,homophily=0.9")
    y = data.y.clone()
    wrong = data.split.test[:5]
    y[wrong] = (y[wrong] + 1) % data.num_classes
    truth = torch.full((200, data.num_classes), 0.01)
    truth[torch.arange(200), data.y] = 0.97
    assert {suspect.node for suspect in suspects(truth, replace(data, y=y))} == set(wrong.tolist())
