"""An explanation as a picture: who speaks for the class of a node, and who against it.

The node stands in the middle. Neighbours that speak for its class are on its right, those that
speak against it on its left, joined by lines as thick as their effects. Below it are bars: what
features add by distance, and the nodes behind the neighbours that add most.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from akgnn.explain.nodes import NodeFacts
from akgnn.explain.sentences import (
    EXPLAINED,
    FULL,
    FULL_FAR,
    HARDLY_BELOW,
    changed_class,
    class_of,
    class_sentences,
    distances,
    far_shown,
    not_looked_at,
    percent,
    together,
)
from akgnn.svg import clipped, drawing, element, filled, lined, width_of, words, wrapped
from akgnn.text import count, printable, signed

if TYPE_CHECKING:
    from akgnn.explain.explanation import Explanation, FarNode, Neighbour

TOP = 10
"""So many neighbours, and so many nodes behind them, are drawn if not told otherwise."""
WIDTH = 880.0
_MARGIN = 24.0
_MIDDLE = WIDTH / 2
_NODE, _RADIUS = 24.0, 7.0
# Neighbours' circles, their words and the headings, from the middle.
_REACH, _BEND, _LABELS, _HEADINGS = 178.0, 34.0, 196.0, 110.0
_LABEL_ROOM = _MIDDLE - _LABELS - _MARGIN
_THINNEST, _THICKEST = 1.2, 13.0
_PANEL = (WIDTH - 3 * _MARGIN) / 2
_LINE, _SMALL = 17.0, 12.0
# The least height of the middle, which holds the node's own signal and its name.
_LEAST = 190.0
KEY = (
    "Filled circle: the class is a training label. Hollow: it is predicted. The thicker the line, "
    "the larger the effect."
)
"""How to read the picture."""


def picture(found: Sequence["Explanation"], *, top: int = TOP, with_words: bool = True) -> str:
    """Explanations below each other as one SVG.

    Args:
        found: What to draw.
        top: How many neighbours of each to draw, and how many nodes behind them.
        with_words: Whether the sentences of the terminal stand around it.
    """
    parts, y = [], 0.0
    for number, each in enumerate(found):
        if number:
            parts.append(element("path", d=f"M0 {y}H{WIDTH}", **lined("rule", 1)))
        drawn, y = _one(each, y, top, with_words)
        parts += drawn
    title = "; ".join(f"Why node {each.facts.name} is {each.predicted.name}" for each in found)
    summary = " ".join(sentence for each in found for sentence in _summary(each))
    return drawing(WIDTH, y, title, summary, parts)


def _summary(found: "Explanation") -> Iterator[str]:
    """The picture in sentences, for those who do not see it."""
    yield from class_sentences(found)
    for neighbour in found.neighbours[:3]:
        effect = signed(neighbour.effect, 2)
        yield f"Neighbour {neighbour.facts.name} {neighbour.says}: {effect}."


def _one(found: "Explanation", y: float, top: int, with_words: bool) -> tuple[list[str], float]:
    """The parts of one explanation that starts at y, and where the next may start."""
    sentences = class_sentences(found)
    parts: list[str] = []
    y += _MARGIN
    if with_words:
        y = _lines(parts, sentences[:1], y, 16, bold=True)
        y = _lines(parts, [" ".join(sentences[1:])], y, 13) + 12
    fan = _Fan(found, found.neighbours[:top], y)
    parts += fan.parts()
    y = fan.bottom + 20
    near, behind = distances(found), far_shown(found, top)
    parts += [*_distances(near, y), *_far(behind, y)]
    y += 24 + 20.0 * max(len(near), len(behind)) + 12
    if with_words:
        below = [*filter(None, [not_looked_at(found)]), KEY, *EXPLAINED]
        y = _lines(parts, below, y + 4, _SMALL, "muted")
    return parts, y + _MARGIN / 2


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
        for line in wrapped(sentence, WIDTH - 2 * _MARGIN, size, bold=bold):
            y += step
            parts.append(words(_MARGIN, y - 4, line, colour, size=size, bold=bold))
    return y


@dataclass
class _Fan:
    """The node in the middle of its neighbours."""

    found: "Explanation"
    shown: Sequence["Neighbour"]
    top: float

    def __post_init__(self) -> None:
        hidden = self.found.neighbours[len(self.shown) :]
        self.sides = {
            side: (
                [each for each in self.shown if (each.effect < 0) == (side < 0)],
                [each for each in hidden if (each.effect < 0) == (side < 0)],
            )
            for side in (-1, 1)
        }
        self.own = self.found.by_distance[0]
        sizes = [abs(each.effect) for each in self.found.neighbours]
        self.largest = max([FULL, abs(self.own), *sizes])
        heights = [self._height(side) for side in self.sides]
        self.height = max(_LEAST, *heights)
        self.middle = self.top + 26 + self.height / 2
        self.bottom = self.top + 26 + self.height

    def _height(self, side: int) -> float:
        shown, hidden = self.sides[side]
        return sum(map(self._room, shown)) + (26 if hidden else 0)

    def _room(self, neighbour: "Neighbour") -> float:
        return 70 if changed_class(neighbour, self.found) else 54

    def parts(self) -> list[str]:
        """All of it; lines first, so that circles and words lie on them."""
        lines: list[str] = []
        marks: list[str] = []
        for side in self.sides:
            for drawn, line in self._side(side):
                (lines if line else marks).append(drawn)
        return [*self._own(), *lines, *marks, *self._node()]

    def _side(self, side: int) -> Iterator[tuple[str, bool]]:
        """What is drawn on one side of the node, and whether it is a line."""
        shown, hidden = self.sides[side]
        x = _MIDDLE + side * _LABELS
        anchor = "start" if side > 0 else "end"
        if self.found.num_neighbours:
            yield self._heading(side, anchor), False
        y = self.middle - self._height(side) / 2
        for neighbour in shown:
            at = y + 22
            reach = _REACH - _BEND * (2 * (at - self.middle) / self.height) ** 2
            end = _MIDDLE + side * reach
            yield self._edge(end, at, neighbour.effect, side), True
            yield _circle(end, at, _RADIUS, neighbour.facts, self._colour(neighbour.effect)), False
            for drawn in self._label(neighbour, x, y, anchor):
                yield drawn, False
            y += self._room(neighbour)
        if hidden:
            text = f"and {count(len(hidden), 'other')}: together {together(hidden)}"
            yield words(x, y + 16, text, "muted", size=_SMALL, anchor=anchor), False

    def _heading(self, side: int, anchor: str) -> str:
        """What the neighbours on one side do, all of them together."""
        what, colour = ("for ", "plus") if side > 0 else ("against ", "minus")
        name = self.found.predicted.name
        x, room = _MIDDLE + side * _HEADINGS, _MIDDLE - _HEADINGS - _MARGIN
        around = [each for group in self.sides[side] for each in group]
        if not around:
            text, colour = f"none speaks {what}", "muted"
        elif any(self._colour(each.effect) == colour for each in around):
            text = f"speak {what}"
        else:
            text, colour, name = "hardly matter", "muted", ""
        text += clipped(name, room - width_of(text, bold=True), bold=True)
        return words(x, self.top + 12, text, colour, bold=True, anchor=anchor)

    def _colour(self, effect: float) -> str:
        if abs(effect) < HARDLY_BELOW:
            return "muted"
        return "plus" if effect > 0 else "minus"

    def _thickness(self, effect: float) -> float:
        return _THINNEST + (_THICKEST - _THINNEST) * abs(effect) / self.largest

    def _edge(self, x: float, y: float, effect: float, side: int) -> str:
        colour = self._colour(effect)
        start = _MIDDLE + side * _NODE
        bend = start + 0.6 * (x - start)
        path = f"M{start:.1f} {self.middle:.1f}C{bend:.1f} {self.middle:.1f} "
        path += f"{x - 0.6 * (x - start):.1f} {y:.1f} {x:.1f} {y:.1f}"
        dashes = "2 4" if colour == "muted" else None
        line = lined(colour, self._thickness(effect), stroke_dasharray=dashes, opacity="0.75")
        return element("path", d=path, **line)

    def _label(self, neighbour: "Neighbour", x: float, y: float, anchor: str) -> Iterator[str]:
        """Lines beside a neighbour: its effect and id; its class; how that is known."""
        facts, room = neighbour.facts, _LABEL_ROOM
        name, known = class_of(facts)
        effect, colour = signed(neighbour.effect, 2), self._colour(neighbour.effect)
        side = 1 if anchor == "start" else -1
        first = x + side * (width_of(effect, bold=True) + 6)
        yield words(x, y + 15, effect, colour, bold=True, anchor=anchor)
        yield words(first, y + 15, facts.name, bold=True, anchor=anchor, room=room - abs(first - x))
        yield words(x, y + 15 + _LINE, name, anchor=anchor, room=room)
        small = y + 13 + 2 * _LINE
        told = known if known != "prediction" else _predicted(facts)
        yield words(x, small, told, "muted", size=_SMALL, anchor=anchor, room=room)
        if other := changed_class(neighbour, self.found):
            told = f"without it: {other}"
            yield words(x, small + 15, told, size=_SMALL, bold=True, anchor=anchor, room=room)

    def _own(self) -> list[str]:
        """The node's own signal, as a loop above it."""
        top = self.middle - _NODE
        path = f"M{_MIDDLE - 13} {top + 4}C{_MIDDLE - 52} {top - 58} "
        path += f"{_MIDDLE + 52} {top - 58} {_MIDDLE + 13} {top + 4}"
        line = lined(self._colour(self.own), self._thickness(self.own), opacity="0.75")
        text = f"own features {signed(self.own, 2)}"
        loop = element("path", d=path, **line)
        return [loop, words(_MIDDLE, top - 54, text, self._colour(self.own), anchor="middle")]

    def _node(self) -> list[str]:
        """The node itself, with its id and class below it."""
        y, found = self.middle, self.found
        below = y + _NODE + 20
        text, room = percent(found.predicted), 250.0
        name = found.facts.name
        return [
            _circle(_MIDDLE, y, _NODE, found.facts, "ink"),
            words(_MIDDLE, below, name, bold=True, anchor="middle", room=room, halo=True),
            words(_MIDDLE, below + _LINE, text, anchor="middle", room=room, halo=True),
        ]


def _predicted(facts: NodeFacts) -> str:
    """How a class is known that is not a training label."""
    if facts.label is None:
        return "predicted, no label"
    role = "" if facts.role == "none" else f" ({facts.role})"
    if facts.label == facts.predicted:
        return f"predicted, rightly{role}"
    return f"predicted, but {facts.label}{role}"


def _circle(x: float, y: float, radius: float, facts: NodeFacts, colour: str) -> str:
    """A node: filled where its class is a training label, hollow where it is predicted."""
    is_label = class_of(facts)[1] == "training label"
    line = lined(colour, 2.5 if radius > _RADIUS else 2)
    fill = filled(colour if is_label else "paper")
    both = {**line, "fill": fill["fill"], "class_": f"{line['class_']} {fill['class_']}"}
    return element("circle", cx=x, cy=y, r=radius, **both)


def _distances(rows: Sequence[tuple[str, float]], y: float) -> list[str]:
    """What features add by distance, as bars."""
    largest = max([FULL, *(abs(value) for _, value in rows)])
    parts = [words(_MARGIN, y + 12, "What features add, to the first order", bold=True)]
    for number, (name, value) in enumerate(rows):
        line = y + 24 + 20 * number
        parts.append(words(_MARGIN, line + 12, name, "muted", size=_SMALL))
        parts += _bar(_MARGIN + 140, _MARGIN + 330, line, value, largest)
        end = _MARGIN + _PANEL - 16
        parts.append(words(end, line + 12, signed(value, 2), size=_SMALL, anchor="end"))
    return parts


def _far(shown: Sequence["FarNode"], y: float) -> list[str]:
    """The nodes behind the neighbours that add most, as bars."""
    if not shown:
        return []
    x = 2 * _MARGIN + _PANEL
    largest = max([FULL_FAR, *(abs(each.effect) for each in shown)])
    # Ids take what they need up to here, and names of classes the rest.
    names = min(105.0, max(width_of(printable(each.facts.name), _SMALL) for each in shown))
    away = x + 15 + names + 10
    parts = [words(x, y + 12, "Nodes behind the neighbours that add most", bold=True)]
    for number, each in enumerate(shown):
        line = y + 24 + 20 * number
        name, _ = class_of(each.facts)
        colour = "plus" if each.effect > 0 else "minus"
        told = signed(each.effect, 3)
        parts += [
            _circle(x + 5, line + 8, 4, each.facts, colour),
            words(x + 15, line + 12, each.facts.name, size=_SMALL, room=names + 1),
            words(away, line + 12, f"{each.distance} edges", "muted", size=_SMALL),
            words(away + 60, line + 12, name, "muted", size=_SMALL, room=x + 280 - away - 60),
            *_bar(x + 284, x + 352, line, each.effect, largest),
            words(WIDTH - _MARGIN, line + 12, told, size=_SMALL, anchor="end"),
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
        element("path", d=f"M{middle:.1f} {y}v16", **lined("muted", 1)),
    ]
