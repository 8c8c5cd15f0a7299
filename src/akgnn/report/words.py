"""What was learned, in sentences.

Which layers subtract, ignore or average neighbours, what smoothing means for this graph, and
whether the model is right when it is sure.
"""

import math
from collections.abc import Sequence
from itertools import groupby

from akgnn.data.node_data import Homophily
from akgnn.explain.insight import ReliabilityBin, reliability_gap
from akgnn.explain.signals import EnergyShare, Signals
from akgnn.models.scalars import Position
from akgnn.report.values import count, listed, number, signed
from akgnn.runs.run import Run
from akgnn.runs.vote import shares_by_name

# A smaller share of a node's new signal is nothing to speak of.
IGNORED_BELOW = 0.05
# Neighbours with a larger share outweigh the node itself.
MOSTLY_ABOVE = 0.5
# Fewer edges between training nodes say nothing about homophily.
FEWEST_EDGES = 20
# How many deviations a share of edges must lie from chance.
DEVIATIONS = 2
# How far a share of energy must lie from what it is compared with, as a part of that.
MARGIN = 0.1
# Fewer nodes with edges say nothing about signals.
FEWEST_NODES = 20
# Of more layers than this a sentence names some.
_MOST_LISTED = 8
# A smaller difference between sure and right, in per cent, is nothing to speak of.
_CLOSE = 2.0

NO_EDGES = "The graph has no edges: every kernel is the identity."
THRESHOLDS = (
    f"Mostly: more than {100 * MOSTLY_ABOVE:.0f} % of a node's new signal. Ignored: less than "
    f"{100 * IGNORED_BELOW:.0f} %."
)
FREQUENCIES_EXPLAINED = (
    "High frequencies change from node to neighbour: a signal that is equal along every edge has "
    f"0 % of its energy there, one that changes sign at every edge 100 %. More than "
    f"{100 * MARGIN:.0f} % below what chance gives is called smooth, as much above it rough. All "
    "labels were counted, those of the test among them: this is for reading a finished run, not "
    "for choosing its settings."
)
# What several layers do with their neighbours; one layer does it with an s.
_DEEDS = ("mostly subtract", "partly subtract", "ignore", "partly average", "mostly average")
_NEIGHBOURS = {"": "neighbours", "in": "in-neighbours", "out": "out-neighbours"}
# What it means for a signal to be smooth, neither, or rough; then whether the layers do what suits.
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
_VERDICTS = {
    (-1, -1): "The layers smooth, and classes are smooth along edges: the two fit.",
    (-1, 1): "The layers sharpen differences, although classes are smooth along edges.",
    (1, -1): "The layers smooth, although classes are rough along edges.",
    (1, 1): "The layers sharpen differences, and classes are rough along edges: the two fit.",
}


def words_of(
    positions: Sequence[Position],
    shares: Sequence[float],
    homophily: Homophily | None,
    *,
    num_edges: int,
) -> list[str]:
    """Sentences about a learned stack of kernels; none for a model without.

    Args:
        positions: One a kernel.
        shares: What each takes from neighbours, from -1 to 1; empty where that is not known.
        homophily: That of the edges between training nodes; None where it is not known.
        num_edges: Number of edges of the whole graph.
    """
    if not positions:
        return []
    if num_edges == 0:
        return [NO_EDGES]
    sentences: list[str] = []
    pairs = list(zip(positions, shares, strict=True)) if shares else []
    for direction in dict.fromkeys(position.direction for position, _ in pairs):
        layers: dict[int, list[str]] = {}
        for position, share in pairs:
            if position.direction == direction:
                layers.setdefault(position.layer, []).append(deed(share))
        sentences += _of_layers(layers, _NEIGHBOURS[direction])
    if homophily is not None:
        sentences.append(homophily_words(homophily))
        sentences += _disagreement(homophily, pairs)
    return sentences


def deed(share: float) -> str:
    """What a kernel with this share of neighbours does with them, in the plural."""
    if abs(share) < IGNORED_BELOW:
        return "ignore"
    amount = "mostly" if abs(share) > MOSTLY_ABOVE else "partly"
    return f"{amount} {'average' if share > 0 else 'subtract'}"


def homophily_words(homophily: Homophily) -> str:
    """Whether linked training nodes agree, with the number of edges and what chance would give."""
    edges = homophily.num_edges
    if edges == 0:
        return "No edge joins two training nodes: nothing tells whether linked nodes agree."
    if edges < FEWEST_EDGES:
        only = "Only 1 edge joins" if edges == 1 else f"Only {edges} edges join"
        return f"{only} two training nodes: too few to tell whether linked nodes agree."
    verdicts = ("too close to tell", "linked nodes tend to agree", "linked nodes tend to differ")
    said = verdicts[_tendency(homophily)]
    share, expected = 100 * homophily.share, 100 * homophily.expected
    return (
        f"Of {edges} edges between training nodes {share:.0f} % join nodes of one class; "
        f"{expected:.0f} % would by chance: {said}."
    )


def _tendency(homophily: Homophily) -> int:
    """1 where linked nodes agree, -1 where they differ, 0 where nobody can tell."""
    if homophily.num_edges < FEWEST_EDGES:
        return 0
    expected = homophily.expected
    deviation = math.sqrt(expected * (1 - expected) / homophily.num_edges)
    return _side(homophily.share, expected, DEVIATIONS * deviation)


def _side(value: float, reference: float, room: float) -> int:
    """1 where a value lies above another by more than the room, -1 where below, 0 otherwise."""
    return 0 if abs(value - reference) <= room else 1 if value > reference else -1


def _disagreement(homophily: Homophily, pairs: Sequence[tuple[Position, float]]) -> list[str]:
    """A sentence where the kernels do other than homophily suggests; it gives no reason."""
    subtracting = sorted({position.layer for position, share in pairs if share <= -IGNORED_BELOW})
    averages = any(share >= IGNORED_BELOW for _, share in pairs)
    match _tendency(homophily):
        case -1 if pairs and not subtracting:
            return ["Linked training nodes tend to differ, yet no layer subtracts neighbours."]
        case 1 if subtracting:
            does = "subtracts" if len(subtracting) == 1 else "subtract"
            who = _layers(subtracting)
            return [f"Linked training nodes tend to agree, yet {who} {does} neighbours."]
        case 1 if pairs and not averages:
            return ["Linked training nodes tend to agree, yet no layer averages neighbours."]
    return []


def _of_layers(layers: dict[int, list[str]], neighbours: str) -> list[str]:
    """One sentence for the layers whose groups agree, then one for each other layer."""
    agreed: dict[str, list[int]] = {}
    for layer, deeds in layers.items():
        if len(set(deeds)) == 1:
            agreed.setdefault(deeds[0], []).append(layer)
    clauses = [
        f"{_layers(found, len(layers))} {_verb(done, len(found))}" for done, found in agreed.items()
    ]
    sentences = [_joined(clauses, neighbours)] if clauses else []
    for layer, deeds in layers.items():
        numbers = {done: deeds.count(done) for done in _DEEDS if done in deeds}
        told = [f"{number} {_verb(done, number)}" for done, number in numbers.items()]
        if len(told) > 1:
            start = f"Of the {len(deeds)} groups of layer {layer}, "
            sentences.append(start + _joined(told, neighbours, ", "))
    return sentences


def _joined(clauses: Sequence[str], neighbours: str, between: str = "; ") -> str:
    """Clauses as one sentence, which names the neighbours once."""
    first, *others = clauses
    text = between.join([f"{first} the {neighbours}", *(f"{clause} them" for clause in others)])
    return f"{text[0].upper()}{text[1:]}."


def _verb(done: str, how_many: int) -> str:
    return f"{done}s" if how_many == 1 else done


def _layers(numbers: Sequence[int], total: int = 0) -> str:
    """Layers by their numbers: layers 1, 3 and 5 to 8."""
    if len(numbers) == total > 1:
        return f"all {total} layers" if total > 2 else "both layers"
    parts: list[str] = []
    for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        row = [number for _, number in run]
        parts += [f"{row[0]} to {row[-1]}"] if len(row) > 2 else map(str, row)
    return f"{'layer' if len(numbers) == 1 else 'layers'} {listed(parts)}"


def ensemble_words(run: Run) -> list[str]:
    """What the members of an ensemble add to each other; nothing for a single run."""
    if run.votes:
        first, together = run.members[0].test_accuracy, run.result.test_accuracy
        parts = shares_by_name(run.votes)
        shares = listed([f"{name} {100 * weight:.0f} %" for name, weight in parts.items()])
        seeds = len(run.votes) // len(parts)
        models = f"{len(run.votes)} models vote{f', {seeds} seeds of each' * (seeds > 1)}"
        return [
            f"{models}: {shares}. Together {number(together)} %; the first "
            f"alone {number(first)} % ({signed(together - first)}). Epochs and kernels are those "
            "of the first."
        ]
    if not run.members:
        return []
    together, alone = run.result.test_accuracy, run.member_accuracy
    return [
        f"{len(run.members)} members: {number(together)} %; a member alone {number(alone)} % on "
        f"average ({signed(together - alone)}). Epochs and kernels are those of the first."
    ]


def signal_words(signals: Signals, smoothing: Sequence[float] = ()) -> list[str]:
    """Sentences about a graph's labels and features, and about what the layers make of signals.

    Args:
        signals: What is known of the data's signals.
        smoothing: Shares of high-frequency energy of H^(0) … H^(K); empty where there are none.
    """
    if not signals.features.num_nodes and not signals.labels.num_nodes:
        return []
    # Beside kernels it stands among the words about these.
    sentences = [] if smoothing else [homophily_words(signals.train_homophily)]
    if edges := signals.homophily.num_edges:
        share, expected = 100 * signals.homophily.share, 100 * signals.homophily.expected
        sentences.append(
            f"Over all labels, {share:.0f} % of {count(edges, 'edge')} join nodes of one class; "
            f"{expected:.0f} % would by chance."
        )
    sentences += _energy("labels", signals.labels, _LABELS)
    sentences += _energy("features", signals.features, _FEATURES)
    known = [share for share in smoothing if not math.isnan(share)]
    if len(known) == len(smoothing) > 1:
        sentences.append(_smoothing(known))
        sides = _roughness(signals.labels), _side(known[-1], known[0], MARGIN * known[0])
        sentences += [_VERDICTS[sides]] if sides in _VERDICTS else []
    return sentences


def _energy(what: str, energy: EnergyShare, meaning: dict[int, str]) -> list[str]:
    if math.isnan(energy.share):
        return []
    said = meaning[_roughness(energy)]
    if energy.num_nodes < FEWEST_NODES:
        said = f"too few nodes with edges, {energy.num_nodes}, to tell"
    return [
        f"Of the {what}' energy {100 * energy.share:.0f} % is in high frequencies; "
        f"{100 * energy.expected:.0f} % would be by chance: {said}."
    ]


def _roughness(energy: EnergyShare) -> int:
    """1 where a signal is rougher than chance, -1 where it is smoother, 0 where nobody can tell."""
    if energy.num_nodes < FEWEST_NODES or math.isnan(energy.share):
        return 0
    return _side(energy.share, energy.expected, MARGIN * energy.expected)


def _smoothing(smoothing: Sequence[float]) -> str:
    before, *after = (f"{100 * share:.0f}" for share in smoothing)
    each = "after the layer" if len(after) == 1 else "after each of them"
    found = f"{each} it is {listed(after)} %"
    if len(after) > _MOST_LISTED:
        least = min(range(1, len(smoothing)), key=smoothing.__getitem__)
        found = (
            f"after layer 1 it is {after[0]} %, after layer {least} lowest with "
            f"{after[least - 1]} %, and after the last {after[-1]} %"
        )
    return f"What enters the layers has {before} % of its energy in high frequencies; {found}."


def reliability_words(bins: Sequence[ReliabilityBin]) -> str:
    """Whether the model is surer than it is right, or the other way round."""
    nodes = sum(part.count for part in bins)
    if not nodes:
        return "There are no test nodes: nothing tells whether the model is right when it is sure."
    filled = [part for part in bins if part.count]
    sure = sum(part.count * part.confidence for part in filled) / nodes
    right = sum(part.count * part.accuracy for part in filled) / nodes
    said = {-1: "surer than it should be", 1: "less sure than it could be"}
    verdict = said.get(_side(right, sure, _CLOSE), "about as sure as it should be")
    return (
        f"On {count(nodes, 'test node')} the model is {sure:.0f} % sure on "
        f"average and right for {right:.0f} %: it is {verdict}. Expected calibration error: "
        f"{reliability_gap(bins):.1f} %."
    )
