"""How objects show themselves in a notebook: a few facts, and small curves.

All of it is plain HTML in which every text is escaped. It takes the notebook's own colours, except
for drawings, which stand on a background of their own.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial

from akgnn.svg import drawing, element, lined, words
from akgnn.text import escaped

_WIDTH, _HEIGHT = 380.0, 110.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 12.0, 26.0, 22.0
# A curve of so many points looks like one of more.
_MOST_POINTS = 150
_COLOURS = ("minus", "plus")
_CELL = "text-align: left; padding: 1px 12px 1px 0; vertical-align: top"


def card(title: str, facts: Sequence[tuple[str, str]], below: str = "") -> str:
    """Facts about an object: a title, and names with values below it.

    Args:
        title: What the object is.
        facts: Names and values.
        below: More, as markup.
    """
    rows = "".join(
        element(
            "tr",
            element("th", escaped(name), scope="row", style=f"{_CELL}; font-weight: normal")
            + element("td", escaped(value), style=_CELL),
        )
        for name, value in facts
    )
    table = element("table", element("tbody", rows)) if rows else ""
    return element("div", element("strong", escaped(title)) + table + below)


def curves(title: str, lines: Mapping[str, Sequence[float]], marked: int) -> str:
    """Up to two lines over epochs, as SVG; nothing where there are not two epochs to draw.

    Args:
        title: What is drawn.
        lines: Values by name, one an epoch; those that are no numbers are left out.
        marked: The epoch, counted from 1, at which a line goes up.
    """
    points = {name: _points(values) for name, values in lines.items()}
    known = [value for found in points.values() for _, value in found]
    epochs = max((found[-1][0] for found in points.values() if found), default=0)
    if epochs < 2:
        return ""
    low, high = min(known), max(known)
    span = (high - low) or 1.0

    def x(epoch: float) -> float:
        return _LEFT + (epoch - 1) / (epochs - 1) * (_WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return _TOP + (high - value) / span * (_HEIGHT - _TOP - _BOTTOM)

    base = _HEIGHT - _BOTTOM
    parts = [element("path", d=f"M{_LEFT} {_TOP}V{base}H{_WIDTH - _RIGHT}", **lined("rule", 1))]
    if 1 <= marked <= epochs:
        dashes = lined("muted", 1, stroke_dasharray="2 3")
        parts.append(element("path", d=f"M{x(marked):.1f} {_TOP}V{base}", **dashes))
    for number, (name, found) in enumerate(points.items()):
        path = "L".join(f"{x(epoch):.1f} {y(value):.1f}" for epoch, value in found)
        colour = _COLOURS[number % len(_COLOURS)]
        parts.append(element("path", d=f"M{path}", **lined(colour, 1.5)) if found else "")
        parts.append(words(_LEFT + 150 * number, 16, name, colour, size=11))
    small = partial(words, colour="muted", size=10)
    parts += [
        small(_LEFT - 5, y(high) + 4, f"{high:.3g}", anchor="end"),
        small(_LEFT - 5, y(low) + 4, "0" if abs(low) < high / 1000 else f"{low:.3g}", anchor="end"),
        small(_LEFT, _HEIGHT - 7, "epoch 1"),
        small(_WIDTH - _RIGHT, _HEIGHT - 7, str(epochs), anchor="end"),
    ]
    ends = "; ".join(
        f"{name} ends at {found[-1][1]:.3g}" for name, found in points.items() if found
    )
    return drawing(_WIDTH, _HEIGHT, title, f"{epochs} epochs: {ends}.", parts)


def _points(values: Sequence[float]) -> list[tuple[int, float]]:
    """Epochs and values of a line, a part of them where there are many, the last among them."""
    found = [(epoch, value) for epoch, value in enumerate(values, 1) if math.isfinite(value)]
    step = max(1, math.ceil(len(found) / _MOST_POINTS))
    return [*found[:-1:step], *found[-1:]]
