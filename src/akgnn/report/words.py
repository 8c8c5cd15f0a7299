"""What kernels have learned, in sentences: which layers subtract, ignore or average neighbours."""

import math
from collections.abc import Sequence
from itertools import groupby

from akgnn.data.homophily import Homophily
from akgnn.training.kernel_places import Place

# A smaller share of a node's new signal is nothing to speak of.
IGNORED_BELOW = 0.05
# Neighbours with a larger share outweigh the node itself.
MOSTLY_ABOVE = 0.5
# Fewer edges between training nodes say nothing about homophily.
FEWEST_EDGES = 20
# How many deviations a share of edges must lie from chance.
DEVIATIONS = 2

NO_EDGES = "The graph has no edges: every kernel is the identity."
THRESHOLDS = (
    f"Mostly: more than {100 * MOSTLY_ABOVE:.0f} % of a node's new signal. Ignored: less than "
    f"{100 * IGNORED_BELOW:.0f} %."
)
# What one layer does, and what several do.
_VERBS = {
    "mostly subtract": "mostly subtracts",
    "partly subtract": "partly subtracts",
    "ignore": "ignores",
    "partly average": "partly averages",
    "mostly average": "mostly averages",
}
_NEIGHBOURS = {"": "neighbours", "in": "in-neighbours", "out": "out-neighbours"}


def words_of(
    places: Sequence[Place],
    shares: Sequence[float],
    homophily: Homophily | None,
    *,
    num_edges: int,
) -> list[str]:
    """Sentences about a learned stack of kernels; none for a model without.

    Args:
        places: Of the kernels.
        shares: What each takes from neighbours, from -1 to 1; empty where that is not known.
        homophily: Of the edges between training nodes; None where it is not known.
        num_edges: Of the whole graph.
    """
    if not places:
        return []
    if num_edges == 0:
        return [NO_EDGES]
    sentences: list[str] = []
    pairs = list(zip(places, shares, strict=True)) if shares else []
    for way in dict.fromkeys(place.way for place, _ in pairs):
        layers: dict[int, list[str]] = {}
        for place, share in pairs:
            if place.way == way:
                layers.setdefault(place.layer, []).append(deed(share))
        sentences += _of_layers(layers, _NEIGHBOURS[way])
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
    verdict = {0: "too close to tell", 1: "linked nodes tend to agree"}
    said = verdict.get(_tendency(homophily), "linked nodes tend to differ")
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
    beyond = homophily.share - expected
    return 0 if abs(beyond) <= DEVIATIONS * deviation else 1 if beyond > 0 else -1


def _disagreement(homophily: Homophily, pairs: Sequence[tuple[Place, float]]) -> list[str]:
    """A sentence where the kernels do other than homophily suggests; it gives no reason."""
    subtracting = sorted({place.layer for place, share in pairs if share <= -IGNORED_BELOW})
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
        parts = [f"{deeds.count(done)} {_verb(done, deeds.count(done))}" for done in _VERBS]
        told = [part for part, done in zip(parts, _VERBS, strict=True) if done in deeds]
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
    return _VERBS[done] if how_many == 1 else done


def _layers(numbers: Sequence[int], total: int = 0) -> str:
    """Layers by their numbers: layers 1, 3 and 5 to 8."""
    if len(numbers) == total > 1:
        return f"all {total} layers" if total > 2 else "both layers"
    parts = []
    for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        row = [number for _, number in run]
        if len(row) > 2:
            parts.append(f"{row[0]} to {row[-1]}")
        else:
            parts += [str(number) for number in row]
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"{'layer' if len(numbers) == 1 else 'layers'} {listed}"
