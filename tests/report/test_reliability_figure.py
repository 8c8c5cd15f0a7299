import math

import pytest

from akgnn.explain.reliability import ReliabilityBin
from akgnn.report.reliability_figure import reliability_figure, reliability_words

EMPTY = ReliabilityBin(0.0, 0.5, 0, math.nan, math.nan)


def bins(confidence, accuracy, count=10):
    return [EMPTY, ReliabilityBin(0.5, 1.0, count, confidence, accuracy)]


@pytest.mark.parametrize(
    ("confidence", "accuracy", "said"),
    [
        (70.0, 85.0, "it is less sure than it could be"),
        (95.0, 85.0, "it is surer than it should be"),
        (86.0, 85.0, "it is about as sure as it should be"),
    ],
)
def test_sure_and_right_in_words(confidence, accuracy, said):
    assert reliability_words(bins(confidence, accuracy)) == (
        f"On 10 test nodes the model is {confidence:.0f} % sure on average and right for 85 %: "
        f"{said}. Expected calibration error: {abs(accuracy - confidence):.1f} %."
    )


def test_means_are_over_nodes():
    pair = [ReliabilityBin(0, 0.5, 1, 40, 0), ReliabilityBin(0.5, 1, 3, 80, 100)]
    assert "is 70 % sure on average and right for 75 %" in reliability_words(pair)


def test_one_node_and_none():
    assert reliability_words(bins(90.0, 100.0, 1)).startswith("On 1 test node the model")
    assert reliability_words([EMPTY]).startswith("There are no test nodes")


def test_empty_bins_are_listed_and_not_drawn():
    (panel,) = reliability_figure(bins(70.0, 85.0)).panels
    assert panel.rows == [
        ("0.0 to 0.5", "0", "–", "–"),
        ("0.5 to 1.0", "10", "70.0", "85.0"),
    ]
    assert panel.drawn == {"sure": [70.0], "right": [85.0], "count": [10]}
    assert panel.summary == "Of 10 nodes that the model is 70 % sure of it is right for 85 %."
