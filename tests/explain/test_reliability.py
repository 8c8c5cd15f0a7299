import math

import pytest
import torch

from akgnn.explain.reliability import reliability_bins, reliability_gap
from akgnn.training.metrics import calibration_error


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
