"""What labels and features do along the edges, in sentences, and what smoothing means for them."""

import math
from collections.abc import Sequence

from akgnn.data.homophily import Homophily
from akgnn.explain.signals import EnergyShare, Signals
from akgnn.report.words import homophily_words

# How far a share must lie from what it is compared with, as a part of that.
MARGIN = 0.1
# Fewer nodes with edges say nothing.
FEWEST_NODES = 20

FREQUENCIES_EXPLAINED = (
    "High frequencies change from node to neighbour: a signal that is equal along every edge has "
    f"0 % of its energy there, one that changes sign at every edge 100 %. More than "
    f"{100 * MARGIN:.0f} % below what chance gives is called smooth, as much above it rough. All "
    "labels were counted, those of the test among them: this is for reading a finished run, not "
    "for choosing its settings."
)


def signal_words(signals: Signals, smoothing: Sequence[float] = ()) -> list[str]:
    """Sentences about a graph's labels and features, and about what the layers make of signals.

    Args:
        signals: Of the data.
        smoothing: Shares of high-frequency energy of H^(0) … H^(K); empty where there are none.
    """
    if not signals.features.num_nodes and not signals.labels.num_nodes:
        return []
    # Beside kernels it stands among the words about these.
    sentences = [] if smoothing else [homophily_words(signals.train_homophily)]
    sentences += _homophily(signals.homophily)
    sentences += _energy("labels", signals.labels, _LABELS)
    sentences += _energy("features", signals.features, _FEATURES)
    known = [share for share in smoothing if not math.isnan(share)]
    if len(known) == len(smoothing) > 1:
        sentences.append(_layers(known))
        sentences += _verdict(_tendency(signals.labels), _change(known))
    return sentences


# What it means to be rough, neither, or smooth.
_LABELS = {
    -1: "classes are smooth along edges, and averaging neighbours keeps what tells them apart",
    0: "edges say little about classes",
    1: "classes are rough along edges, so averaging blurs them and subtracting keeps them",
}
_FEATURES = {
    -1: "linked nodes have like features",
    0: "linked nodes are no more alike than others",
    1: "linked nodes have unlike features",
}


def _homophily(homophily: Homophily) -> list[str]:
    if not homophily.num_edges:
        return []
    edges = "1 edge" if homophily.num_edges == 1 else f"{homophily.num_edges} edges"
    return [
        f"Over all labels, {100 * homophily.share:.0f} % of {edges} join nodes of one class; "
        f"{100 * homophily.expected:.0f} % would by chance."
    ]


def _energy(what: str, energy: EnergyShare, meaning: dict[int, str]) -> list[str]:
    if math.isnan(energy.share):
        return []
    said = meaning[_tendency(energy)]
    if energy.num_nodes < FEWEST_NODES:
        said = f"too few nodes with edges, {energy.num_nodes}, to tell"
    return [
        f"Of the {what}' energy {100 * energy.share:.0f} % is in high frequencies; "
        f"{100 * energy.expected:.0f} % would be by chance: {said}."
    ]


def _tendency(energy: EnergyShare) -> int:
    """1 where a signal is rougher than chance, -1 where it is smoother, 0 where nobody can tell."""
    if energy.num_nodes < FEWEST_NODES or math.isnan(energy.share):
        return 0
    return _beyond(energy.share, energy.expected)


def _change(smoothing: Sequence[float]) -> int:
    """1 where the layers leave a rougher signal, -1 where a smoother one, 0 where neither."""
    return _beyond(smoothing[-1], smoothing[0])


def _beyond(value: float, reference: float) -> int:
    room = MARGIN * reference
    return 0 if abs(value - reference) <= room else 1 if value > reference else -1


def _layers(smoothing: Sequence[float]) -> str:
    before, *after = (f"{100 * share:.0f}" for share in smoothing)
    listed = after[0] if len(after) == 1 else f"{', '.join(after[:-1])} and {after[-1]}"
    each = "after the layer" if len(after) == 1 else "after each of them"
    return (
        f"What enters the layers has {before} % of its energy in high frequencies; {each} it is "
        f"{listed} %."
    )


_VERDICTS = {
    (-1, -1): "The layers smooth, and classes are smooth along edges: the two fit.",
    (-1, 1): "The layers sharpen differences, although classes are smooth along edges.",
    (1, -1): "The layers smooth, although classes are rough along edges.",
    (1, 1): "The layers sharpen differences, and classes are rough along edges: the two fit.",
}


def _verdict(labels: int, change: int) -> list[str]:
    """Whether the layers do what suits the labels."""
    return [_VERDICTS[labels, change]] if (labels, change) in _VERDICTS else []
