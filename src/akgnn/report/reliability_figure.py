"""How often a model is right, over how sure it is: a figure of one run, and a sentence."""

import math
from collections.abc import Sequence

from akgnn.explain.reliability import ReliabilityBin, reliability_gap
from akgnn.report.figures import Figure
from akgnn.report.panel import Panel

# A smaller difference, in per cent, is nothing to speak of.
_CLOSE = 2.0


def reliability_words(bins: Sequence[ReliabilityBin]) -> str:
    """Whether the model is surer than it is right, or the other way round."""
    nodes = sum(part.count for part in bins)
    if not nodes:
        return "There are no test nodes: nothing tells whether the model is right when it is sure."
    filled = [part for part in bins if part.count]
    sure, right = (
        sum(part.count * value for part, value in zip(filled, values, strict=True)) / nodes
        for values in ([p.confidence for p in filled], [p.accuracy for p in filled])
    )
    gap = right - sure
    said = (
        "it is about as sure as it should be"
        if abs(gap) <= _CLOSE
        else "it is less sure than it could be"
        if gap > 0
        else "it is surer than it should be"
    )
    return (
        f"On {nodes} test {'node' if nodes == 1 else 'nodes'} the model is {sure:.0f} % sure on "
        f"average and right for {right:.0f} %: {said}. Expected calibration error: "
        f"{reliability_gap(bins):.1f} %."
    )


def reliability_figure(bins: Sequence[ReliabilityBin]) -> Figure:
    """The figure; nodes are grouped by the probability of their predicted class."""
    filled = [part for part in bins if part.count]
    panel = Panel(
        title="",
        summary="; ".join(
            f"of {part.count} nodes that the model is {part.confidence:.0f} % sure of it is right "
            f"for {part.accuracy:.0f} %"
            for part in filled
        ).capitalize()
        + ".",
        columns=("probability", "test nodes", "mean, %", "right, %"),
        rows=[(_range(part), str(part.count), *_scores(part)) for part in bins],
        drawn={
            "sure": [round(part.confidence, 2) for part in filled],
            "right": [round(part.accuracy, 2) for part in filled],
            "count": [part.count for part in filled],
        },
    )
    about = f"{reliability_words(bins)} {_ABOUT}"
    return Figure("reliability", "run-reliability", "Is it right when it is sure?", about, (panel,))


_ABOUT = (
    "Each point is the test nodes of one range of probabilities; the larger, the more nodes. On "
    "the line the model is as often right as it is sure, above it more often."
)


def _range(part: ReliabilityBin) -> str:
    return f"{part.low:.1f} to {part.high:.1f}"


def _scores(part: ReliabilityBin) -> tuple[str, str]:
    values = part.confidence, part.accuracy
    sure, right = ("–" if math.isnan(value) else f"{value:.1f}" for value in values)
    return sure, right
