"""An explanation as a picture: who speaks for the class of a node, and who against it.

Below the node and its neighbours are bars: what features add by distance, and the nodes behind the
neighbours that add most.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from akgnn.explain.neighbourhood import SMALL, Fan, Stack, circle
from akgnn.explain.sentences import (
    EXPLAINED,
    FULL,
    FULL_FAR,
    called,
    class_of,
    class_sentences,
    distances,
    far_shown,
    not_looked_at,
)
from akgnn.svg import drawing, element, filled, lined, width_of, words, wrapped
from akgnn.text import printable, signed

if TYPE_CHECKING:
    from akgnn.explain.explanation import Explanation, FarNode

TOP = 10
"""So many neighbours, and so many nodes behind them, are drawn if not told otherwise."""
KEY = (
    "Filled circle: the class is a training label. Hollow: it is predicted. The thicker the line, "
    "the larger the effect."
)
"""How to read the picture."""
# Width of a group of bars.
_PANEL = 404.0


def picture(found: Sequence["Explanation"], *, top: int = TOP) -> str:
    """Explanations below each other as one SVG, with the words of the terminal.

    Args:
        found: What to draw.
        top: How many neighbours of each to draw, and how many nodes behind them.
    """
    parts: list[str] = []
    y = 0.0
    for number, each in enumerate(found):
        if number:
            parts.append(element("path", d=f"M0 {y:.1f}H{Fan.width}", **lined("rule", 1)))
        first, *others = class_sentences(each)
        y = _lines(parts, [first], y + Fan.margin, 16, bold=True)
        y = _lines(parts, [" ".join(others)], y, 13) + 12
        y = _one(parts, each, top, y, Fan)
        below = [*filter(None, [not_looked_at(each)]), KEY, *EXPLAINED]
        y = _lines(parts, below, y + 4, SMALL, "muted") + Fan.margin / 2
    title = "; ".join(map(_title, found))
    summary = " ".join(sentence for each in found for sentence in _summary(each))
    return drawing(Fan.width, y, title, summary, parts)


def bare_picture(found: "Explanation", *, top: int = TOP, narrow: bool = False) -> str:
    """One explanation as SVG without the words, for pages that have them beside it.

    Args:
        found: What to draw.
        top: How many neighbours to draw, and how many nodes behind them.
        narrow: Whether it is for a phone, with everything below each other.
    """
    parts: list[str] = []
    layout = Stack if narrow else Fan
    y = _one(parts, found, top, 12, layout)
    return drawing(layout.width, y, _title(found), " ".join(_summary(found)), parts)


def _title(found: "Explanation") -> str:
    return f"Why node {found.facts.name} is {called(found.predicted.name)}"


def _summary(found: "Explanation") -> Iterator[str]:
    """The picture in sentences, for those who do not see it."""
    yield from class_sentences(found)
    for neighbour in found.neighbours[:3]:
        effect = signed(neighbour.effect, 2)
        yield f"Neighbour {neighbour.facts.name} {neighbour.says}: {effect}."


def _one(
    parts: list[str], found: "Explanation", top: int, y: float, layout: type[Fan] | type[Stack]
) -> float:
    """Add a node with its neighbours and the bars below it; gives where they end."""
    drawn = layout(found, top, y)
    parts += drawn.parts()
    y, left = drawn.bottom + 20, layout.margin
    near, behind = distances(found), far_shown(found, top)
    parts += _distances(near, left, y)
    heights = [36 + 20.0 * len(rows) for rows in (near, behind)]
    if 2 * _PANEL + 3 * left <= layout.width:
        parts += _far(behind, 2 * left + _PANEL, y)
        return y + max(heights)
    parts += _far(behind, left, y + heights[0] + 8)
    return y + heights[0] + (8 + heights[1] if behind else 0)


def _lines(
    parts: list[str],
    sentences: Sequence[str],
    y: float,
    size: float,
    colour: str = "ink",
    *,
    bold: bool = False,
) -> float:
    """Add wrapped sentences, each on lines of its own; gives where the next line may stand."""
    step = round(size * 1.4)
    for sentence in sentences:
        for line in wrapped(sentence, Fan.width - 2 * Fan.margin, size, bold=bold):
            y += step
            parts.append(words(Fan.margin, y - 4, line, colour, size=size, bold=bold))
    return y


def _distances(rows: Sequence[tuple[str, float]], x: float, y: float) -> list[str]:
    """What features add by distance, as bars."""
    largest = max([FULL, *(abs(value) for _, value in rows)])
    parts = [words(x, y + 12, "What features add, to the first order", bold=True)]
    for number, (name, value) in enumerate(rows):
        line = y + 24 + 20 * number
        parts.append(words(x, line + 12, name, "muted", size=SMALL))
        parts += _bar(x + 140, x + 330, line, value, largest)
        end = x + _PANEL - 16
        parts.append(words(end, line + 12, signed(value, 2), size=SMALL, anchor="end"))
    return parts


def _far(shown: Sequence["FarNode"], x: float, y: float) -> list[str]:
    """The nodes behind the neighbours that add most, as bars."""
    if not shown:
        return []
    largest = max([FULL_FAR, *(abs(each.effect) for each in shown)])
    # Ids take what they need up to here, and names of classes the rest.
    names = min(105.0, max(width_of(printable(each.facts.name), SMALL) for each in shown))
    away = x + 15 + names + 10
    parts = [words(x, y + 12, "Nodes behind the neighbours that add most", bold=True)]
    for number, each in enumerate(shown):
        line = y + 24 + 20 * number
        name, _ = class_of(each.facts)
        colour = "plus" if each.effect > 0 else "minus"
        told = signed(each.effect, 3)
        parts += [
            circle(x + 5, line + 8, 4, each.facts, colour),
            words(x + 15, line + 12, each.facts.name, size=SMALL, room=names + 1),
            words(away, line + 12, f"{each.distance} edges", "muted", size=SMALL),
            words(
                away + 60, line + 12, called(name), "muted", size=SMALL, room=x + 280 - away - 60
            ),
            *_bar(x + 284, x + 352, line, each.effect, largest),
            words(x + _PANEL, line + 12, told, size=SMALL, anchor="end"),
        ]
    return parts


def _bar(left: float, right: float, y: float, value: float, largest: float) -> list[str]:
    """A bar to the right of a middle for what speaks for the class, to the left for the rest."""
    middle, half = (left + right) / 2, (right - left) / 2
    length = half * abs(value) / largest
    start = middle if value > 0 else middle - length
    colour = "plus" if value > 0 else "minus"
    return [
        element("rect", x=start, y=y + 2, width=length, height=12, **filled(colour)),
        element("path", d=f"M{middle:.1f} {y:.1f}v16", **lined("muted", 1)),
    ]
