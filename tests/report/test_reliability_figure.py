import math

from akgnn.explain.insight import ReliabilityBin
from akgnn.report.reliability_figure import reliability_figure
from akgnn.training.metrics import CALIBRATION_BINS


def test_empty_bins_are_listed_and_not_drawn():
    bins = [
        ReliabilityBin(0.0, 0.5, 0, math.nan, math.nan),
        ReliabilityBin(0.5, 1.0, 10, 70.0, 80.0),
    ]
    (panel,) = reliability_figure(bins).panels
    assert panel.rows == [
        ("0 to 50", "0", "–", "–", "–"),
        ("50 to 100", "10", "70.0", "80.0", "49 to 94"),
    ]
    assert panel.drawn == {
        "sure": [70.0], "right": [80.0], "low": [49.02], "high": [94.33], "count": [10],
    }  # fmt: skip
    said = "Of 10 nodes that the model is 70 % sure of it is right for 80 % (49 to 94)."
    assert panel.summary == said


def test_one_node_is_no_certainty():
    (panel,) = reliability_figure([ReliabilityBin(0.4, 0.5, 1, 41.0, 100.0)]).panels
    assert panel.summary.startswith("Of 1 node that ")
    assert (panel.drawn["low"], panel.drawn["high"]) == ([20.65], [100.0])


def test_no_two_ranges_are_printed_alike():
    ends = [k / CALIBRATION_BINS for k in range(CALIBRATION_BINS + 1)]
    bins = [ReliabilityBin(*ends[k : k + 2], 5, 50.0, 60.0) for k in range(CALIBRATION_BINS)]
    (panel,) = reliability_figure(bins).panels
    ranges = [row[0] for row in panel.rows]
    assert ranges[:3] == ["0 to 7", "7 to 13", "13 to 20"]
    assert len(set(ranges)) == CALIBRATION_BINS
    assert all(len(set(text.split(" to "))) == 2 for text in ranges)
