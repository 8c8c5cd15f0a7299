"""An explanation in words, as the terminal and pictures have them."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from akgnn.text import count, signed

if TYPE_CHECKING:
    from akgnn.explain.explanation import Answer, Explanation, FarNode, Neighbour
    from akgnn.explain.nodes import NodeFacts

# A smaller change of the log-odds is nothing to speak of.
HARDLY_BELOW = 0.01
# The longest bar and the thickest line stand for this at least, so that small effects look small:
# it doubles the odds.
FULL = math.log(2)
# The same of nodes behind the neighbours, which add less.
FULL_FAR = 0.1
# Distances beyond so many are told together; deep models have dozens.
MOST_DISTANCES = 6
# Effects of far nodes are shown with three digits.
FAR_DIGITS_FROM = 0.0005
EXPLAINED = (
    "The effect of a neighbour is exact: the log-odds now, less those without the edge. 0.69 "
    "doubles the odds.",
    "To the first order: gradient times features, by one backward pass.",
)


def class_sentences(found: "Explanation") -> list[str]:
    """Which class the node gets, whether that is its label, and what it would get by itself."""
    facts = found.facts
    used = "" if facts.role == "none" else f" ({facts.role})"
    sentences = [
        f"Node {facts.name}{used}: {percent(found.predicted)}; next {percent(found.runner_up)}."
    ]
    if facts.label is None:
        sentences.append("Its label is not known.")
    else:
        verdict = "as predicted" if facts.label == facts.predicted else "which the model doubts"
        sentences.append(f"Its label is {called(facts.label)}, {verdict}.")
    if found.num_neighbours:
        sentences.append(f"Without its edges: {percent(found.alone)}.")
    else:
        sentences.append("It has no neighbours: its own features decide.")
    return sentences


def called(name: str) -> str:
    """What a class is called in a sentence: one whose name is a number says that it is a class."""
    return f"class {name}" if name.isascii() and name.isdecimal() else name


def percent(answer: "Answer") -> str:
    """A class with its probability."""
    return f"{called(answer.name)}, {100 * answer.probability:.1f} %"


def class_of(facts: "NodeFacts") -> tuple[str, str]:
    """The class of a node as the model may know it, and how it does."""
    if facts.role == "training" and facts.label is not None:
        return facts.label, "training label"
    return facts.predicted, "prediction"


def changed_class(neighbour: "Neighbour", found: "Explanation") -> str:
    """The class that the node would get without this neighbour; empty where it stays."""
    return neighbour.without if neighbour.without != found.predicted.name else ""


def edge_words(neighbour: "Neighbour") -> str:
    """Which way the edges of a neighbour go, to stand behind other words; else nothing."""
    if not neighbour.direction:
        return ""
    both = neighbour.direction == "both ways"
    return f", edge{'s' if both else ''} {neighbour.direction}"


def together(neighbours: Sequence["Neighbour"]) -> str:
    """The effects of neighbours that are not shown one by one, added up."""
    return signed(sum(neighbour.effect for neighbour in neighbours), 2)


def not_looked_at(found: "Explanation") -> str:
    """A sentence where a hub has more neighbours than were looked at; else nothing."""
    looked = len(found.neighbours)
    if found.num_neighbours <= looked:
        return ""
    return (
        f"Of {found.num_neighbours} neighbours, the {looked} whose features count most were "
        "looked at."
    )


def far_shown(found: "Explanation", top: int) -> list["FarNode"]:
    """The nodes behind the neighbours that add most, without those that are 0 as they are shown."""
    return [far for far in found.far[:top] if abs(far.effect) >= FAR_DIGITS_FROM]


def distances(found: "Explanation") -> list[tuple[str, float]]:
    """What the features of nodes add by their distance; those far away are told together."""
    near, beyond = found.by_distance[: MOST_DISTANCES + 1], found.by_distance[MOST_DISTANCES + 1 :]
    rows = [
        ("own features" if away == 0 else f"{count(away, 'edge')} away", value)
        for away, value in enumerate(near)
    ]
    if beyond:
        first, last = len(near), len(found.by_distance) - 1
        away = f"{first} to {last} edges away" if last > first else f"{first} edges away"
        rows.append((away, sum(beyond)))
    return rows
