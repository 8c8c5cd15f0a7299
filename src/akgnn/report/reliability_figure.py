"""Whether a model is right when it is sure: test nodes by the probability of their class."""

from collections.abc import Sequence

from akgnn.explain.insight import ReliabilityBin
from akgnn.report.figures import Figure
from akgnn.report.panels import Panel
from akgnn.report.values import count, number
from akgnn.report.words import reliability_words

_ABOUT = (
    "Each point is the test nodes of one range of probabilities: the larger, the more nodes, and "
    "open where there are fewer than five. The bar through it is its 95 % interval; where that "
    "reaches the line, so few nodes cannot tell the point from one on it. On the line the model is "
    "as often right as it is sure, above it more often."
)


def reliability_figure(bins: Sequence[ReliabilityBin]) -> Figure:
    """The figure; nodes are grouped by the probability of their predicted class."""
    filled = [part for part in bins if part.count]
    panel = Panel(
        title="",
        summary="; ".join(map(_words, filled)).capitalize() + ".",
        columns=("probability, %", "test nodes", "mean, %", "right, %", "95 % interval"),
        rows=[_row(part) for part in bins],
        drawn={
            "sure": [round(part.confidence, 2) for part in filled],
            "right": [round(part.accuracy, 2) for part in filled],
            "low": [round(part.ci95[0], 2) for part in filled],
            "high": [round(part.ci95[1], 2) for part in filled],
            "count": [part.count for part in filled],
        },
    )
    about = f"{reliability_words(bins)} {_ABOUT}"
    return Figure("reliability", "run-reliability", "Is it right when it is sure?", about, (panel,))


def _words(part: ReliabilityBin) -> str:
    low, high = part.ci95
    return (
        f"of {count(part.count, 'node')} that the model is {part.confidence:.0f} % sure of it is "
        f"right for {part.accuracy:.0f} % ({low:.0f} to {high:.0f})"
    )


def _row(part: ReliabilityBin) -> tuple[str, ...]:
    low, high = part.ci95
    return (
        f"{100 * part.low:.0f} to {100 * part.high:.0f}",
        f"{part.count}",
        number(part.confidence),
        number(part.accuracy),
        f"{low:.0f} to {high:.0f}" if part.count else "–",
    )
