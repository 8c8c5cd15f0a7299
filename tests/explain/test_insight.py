import json
from dataclasses import replace

import pytest
import torch

from akgnn.data.catalogue import load_dataset
from akgnn.explain.insight import insight_of
from akgnn.explain.signals import high_frequency_share
from akgnn.models.akgnn import AKGNN
from akgnn.models.registry import build_model
from akgnn.plain_json import without_nan
from akgnn.training.metrics import accuracy
from akgnn.training.presets import default_settings


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
