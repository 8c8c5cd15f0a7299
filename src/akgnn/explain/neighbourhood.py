"""A node among its neighbours, drawn: on both sides of it, or below it where there is little room.

Lines are as thick as the effects of neighbours, coloured by what they speak for.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from akgnn.explain.nodes import NodeFacts
from akgnn.explain.sentences import (
    FULL,
    HARDLY_BELOW,
    called,
    changed_class,
    class_of,
    edge_words,
    percent,
    together,
)
from akgnn.svg import clipped, element, filled, lined, width_of, words
from akgnn.text import count, signed

if TYPE_CHECKING:
    from akgnn.explain.explanation import Explanation, Neighbour

SMALL = 12.0
"""Size of lesser words."""
_NODE, _RADIUS = 24.0, 7.0
_THINNEST, _THICKEST = 1.2, 13.0
_LINE = 17.0
# Which sides there are, with what their neighbours do and the colour of it.
_SIDES = {-1: ("against ", "minus"), 1: ("for ", "plus")}


class Neighbourhood(ABC):
    """A node, its own signal and its neighbours.

    Args:
        found: What to draw.
        top: How many neighbours to draw; the others are added up.
        y: Where it starts.
    """

    width: ClassVar[float]
    margin: ClassVar[float]
    bottom: float
    """Where it ends."""

    def __init__(self, found: "Explanation", top: int, y: float) -> None:
        self.found, self.start = found, y
        self.own = found.by_distance[0]
        self.largest = max([FULL, abs(self.own), *(abs(each.effect) for each in found.neighbours)])
        self.shown = self._by_side(found.neighbours[:top])
        self.hidden = self._by_side(found.neighbours[top:])
        self.lines: list[str] = []
        self.marks: list[str] = []

    @abstractmethod
    def parts(self) -> list[str]:
        """All elements."""

    def _by_side(self, around: Sequence["Neighbour"]) -> dict[int, list["Neighbour"]]:
        return {
            side: [each for each in around if (each.effect < 0) == (side < 0)] for side in _SIDES
        }

    def _height(self, side: int) -> float:
        """What the neighbours on one side take."""
        rows = sum(70 if changed_class(each, self.found) else 54 for each in self.shown[side])
        return rows + (26 if self.hidden[side] else 0)

    def _heading(self, side: int, x: float, y: float, anchor: str, room: float) -> str:
        """What the neighbours on one side do, all of them together."""
        what, colour = _SIDES[side]
        name = called(self.found.predicted.name)
        around = [*self.shown[side], *self.hidden[side]]
        if not around:
            text, colour = f"none speaks {what}", "muted"
        elif any(_colour(each.effect) == colour for each in around):
            text = f"speak {what}"
        else:
            text, colour, name = "hardly matter", "muted", ""
        text += clipped(name, room - width_of(text, bold=True), bold=True)
        return words(x, y, text, colour, bold=True, anchor=anchor)

    def _rows(
        self, side: int, x: float, y: float, anchor: str, room: float
    ) -> Iterator[tuple["Neighbour", float]]:
        """Write beside each neighbour what is known of it; gives where its circle is to be."""
        for each in self.shown[side]:
            yield each, y + 22
            self.marks += self._label(each, x, y, anchor, room)
            y += 70 if changed_class(each, self.found) else 54
        if hidden := self.hidden[side]:
            text = f"and {count(len(hidden), 'other')}: together {together(hidden)}"
            self.marks.append(words(x, y + 16, text, "muted", size=SMALL, anchor=anchor))

    def _label(
        self, neighbour: "Neighbour", x: float, y: float, anchor: str, room: float
    ) -> Iterator[str]:
        """Lines beside a neighbour: its effect and id; its class; how that is known."""
        facts = neighbour.facts
        name, known = class_of(facts)
        effect, colour = signed(neighbour.effect, 2), _colour(neighbour.effect)
        taken = width_of(effect, bold=True) + 6
        first = x + taken if anchor == "start" else x - taken
        yield words(x, y + 15, effect, colour, bold=True, anchor=anchor)
        yield words(first, y + 15, facts.name, bold=True, anchor=anchor, room=room - taken)
        yield words(x, y + 15 + _LINE, called(name), anchor=anchor, room=room)
        small = y + 13 + 2 * _LINE
        edge = edge_words(neighbour)
        told = known if known != "prediction" else _predicted(facts, is_short=bool(edge))
        told += edge
        yield words(x, small, told, "muted", size=SMALL, anchor=anchor, room=room)
        if other := changed_class(neighbour, self.found):
            told = f"without it: {called(other)}"
            yield words(x, small + 15, told, size=SMALL, bold=True, anchor=anchor, room=room)

    def _stroke(self, path: str, effect: float) -> str:
        """A line as thick as an effect."""
        colour = _colour(effect)
        width = _THINNEST + (_THICKEST - _THINNEST) * abs(effect) / self.largest
        dashes = "2 4" if colour == "muted" else None
        return element(
            "path", d=path, **lined(colour, width, stroke_dasharray=dashes, opacity=0.75)
        )

    def _loop(self, x: float, y: float, size: float) -> str:
        """The node's own signal: a line that leaves it and comes back."""
        path = f"M{x - 13 * size:.1f} {y:.1f}C{x - 52 * size:.1f} {y - 62 * size:.1f} "
        path += f"{x + 52 * size:.1f} {y - 62 * size:.1f} {x + 13 * size:.1f} {y:.1f}"
        return self._stroke(path, self.own)

    @property
    def _own_words(self) -> str:
        return f"own features {signed(self.own, 2)}"


class Fan(Neighbourhood):
    """The node in the middle: who speaks for its class on the right, who against it on the left."""

    width, margin = 880.0, 24.0
    # Neighbours' circles, their words and the headings, from the middle.
    _REACH, _BEND, _LABELS, _HEADINGS = 178.0, 34.0, 196.0, 110.0
    # The least height, which holds the node's own signal and its name.
    _LEAST = 190.0

    def __init__(self, found: "Explanation", top: int, y: float) -> None:
        super().__init__(found, top, y)
        self.height = max(self._LEAST, *map(self._height, _SIDES))
        self.bottom = y + 26 + self.height
        self.x, self.y = self.width / 2, self.bottom - self.height / 2

    def parts(self) -> list[str]:
        """All elements; lines first, so that circles and words lie on them."""
        for side in _SIDES:
            self._side(side)
        own = words(
            self.x, self.y - _NODE - 54, self._own_words, _colour(self.own), anchor="middle"
        )
        loop = self._loop(self.x, self.y - _NODE + 4, 1)
        return [loop, own, *self.lines, *self.marks, *self._node()]

    def _side(self, side: int) -> None:
        anchor = "start" if side > 0 else "end"
        if self.found.num_neighbours:
            room = self.x - self._HEADINGS - self.margin
            x = self.x + side * self._HEADINGS
            self.marks.append(self._heading(side, x, self.start + 12, anchor, room))
        x, room = self.x + side * self._LABELS, self.x - self._LABELS - self.margin
        rows = self._rows(side, x, self.y - self._height(side) / 2, anchor, room)
        for each, y in rows:
            reach = self._REACH - self._BEND * (2 * (y - self.y) / self.height) ** 2
            start, end = self.x + side * _NODE, self.x + side * reach
            bend = 0.6 * (end - start)
            path = f"M{start:.1f} {self.y:.1f}C{start + bend:.1f} {self.y:.1f} "
            path += f"{end - bend:.1f} {y:.1f} {end:.1f} {y:.1f}"
            self.lines.append(self._stroke(path, each.effect))
            self.marks.append(circle(end, y, _RADIUS, each.facts, _colour(each.effect)))

    def _node(self) -> list[str]:
        """The node itself, with its id and class below it."""
        facts, text, room = self.found.facts, percent(self.found.predicted), 250.0
        y = self.y + _NODE + 20
        return [
            circle(self.x, self.y, _NODE, facts, "ink"),
            words(self.x, y, facts.name, bold=True, anchor="middle", room=room, halo=True),
            words(self.x, y + _LINE, text, anchor="middle", room=room, halo=True),
        ]


class Stack(Neighbourhood):
    """The node above its neighbours, for narrow pages."""

    width, margin = 436.0, 16.0
    _NODE_AT, _CIRCLES, _LABELS = 40.0, 74.0, 92.0

    def __init__(self, found: "Explanation", top: int, y: float) -> None:
        super().__init__(found, top, y)
        heights = sum(self._height(side) + 30 for side in _SIDES) if found.num_neighbours else 0
        self.bottom = y + 96 + heights

    def parts(self) -> list[str]:
        """All elements; lines first, so that circles and words lie on them."""
        x, y, facts = self._NODE_AT, self.start + 52, self.found.facts
        room = self.width - self._LABELS - self.margin
        own = words(self._LABELS, y + 30, self._own_words, _colour(self.own))
        node = [
            circle(x, y, 18, facts, "ink"),
            words(self._LABELS, y - 6, facts.name, bold=True, room=room),
            words(self._LABELS, y + 12, percent(self.found.predicted), room=room),
            own,
        ]
        below = y + 44
        for side in reversed(_SIDES) if self.found.num_neighbours else ():
            self.marks.append(self._heading(side, self._LABELS, below + 14, "start", room))
            for each, at in self._rows(side, self._LABELS, below + 20, "start", room):
                # Lines of both sides lie beside each other.
                down = x + side * 7
                path = f"M{down:.1f} {y + 16:.1f}V{at - 30:.1f}"
                path += f"C{down:.1f} {at - 8:.1f} {down:.1f} {at:.1f} {self._CIRCLES:.1f} {at:.1f}"
                self.lines.append(self._stroke(path, each.effect))
                mark = circle(self._CIRCLES, at, _RADIUS, each.facts, _colour(each.effect))
                self.marks.append(mark)
            below += self._height(side) + 30
        return [self._loop(x, y - 14, 0.6), *self.lines, *node, *self.marks]


def circle(x: float, y: float, radius: float, facts: NodeFacts, colour: str) -> str:
    """A node: filled where its class is a training label, hollow where it is predicted."""
    is_label = class_of(facts)[1] == "training label"
    line = lined(colour, 2.5 if radius > _RADIUS else 2)
    fill = filled(colour if is_label else "paper")
    both = {**line, "fill": fill["fill"], "class_": f"{line['class_']} {fill['class_']}"}
    return element("circle", cx=x, cy=y, r=radius, **both)


def _colour(effect: float) -> str:
    if abs(effect) < HARDLY_BELOW:
        return "muted"
    return "plus" if effect > 0 else "minus"


def _predicted(facts: NodeFacts, *, is_short: bool) -> str:
    """How a class is known that is not a training label."""
    if facts.label is None:
        return "predicted, no label"
    role = "" if facts.role == "none" else f" ({facts.role})"
    if facts.label == facts.predicted:
        return f"predicted{role}" if is_short else f"predicted, rightly{role}"
    return f"predicted, but {called(facts.label)}{role}"
