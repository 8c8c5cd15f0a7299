"""Plots and maps of numbers as SVG files for documents, legible in 350 pixels.

Their colours are the page's, light or dark as the reader's system has it.
"""

import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from akgnn.report.html import asset, environment
from akgnn.report.idea import idea_shown
from akgnn.report.panels import evenly

_WIDTH, _PLOT_HEIGHT = 480, 270
_LEFT, _RIGHT, _BOTTOM, _LINE = 72, 14, 46, 20
# Of text in 14 pixels, on average.
_LETTER = 7.6
_MARKS = 11
_COLOUR = re.compile(r"--([\w-]+): light-dark\((#\w+), (#\w+)\);")
_PLAIN = ("paper", "ink", "muted", "rule")
_SERIES = tuple(f"series-{k}" for k in range(1, 7))


@dataclass(frozen=True)
class Curve:
    """A named line; where `low` and `high` are given a band lies between them."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@dataclass(frozen=True)
class Plot:
    """Curves over two axes.

    `summary` says what they show to those who cannot see them. `upright` is a place on the x axis
    that deserves a dotted line, and what is written beside it.
    """

    title: str
    summary: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    is_log: bool = False
    has_zero: bool = False
    upright: tuple[float, str] | None = None


@dataclass(frozen=True)
class NumberMap:
    """Rows of numbers, each cell coloured by how far below or above `middle` its number is.

    A number `reach` away, or farther, has the full colour.
    """

    title: str
    summary: str
    x_label: str
    y_label: str
    rows: Sequence[tuple[str, Sequence[float]]]
    middle: float
    reach: float


@dataclass(frozen=True)
class Axis:
    """An axis from `low` to `high`, drawn from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[tuple[float, str], ...]
    is_log: bool

    def at(self, value: float) -> float:
        """Where a value is drawn."""
        low, high, value = (math.log(v) if self.is_log else v for v in (self.low, self.high, value))
        return round(self.start + (value - low) / (high - low) * (self.end - self.start), 1)


def plot_svg(plot: Plot) -> str:
    """The plot as the text of an SVG file."""
    title = textwrap.wrap(plot.title, 54)
    columns = _key_columns([curve.name for curve in plot.curves])
    # One curve alone is what the title says.
    key_rows = math.ceil(len(plot.curves) / columns) if len(plot.curves) > 1 else 0
    top = 14 + _LINE * (len(title) + key_rows) + 14
    height = top + _PLOT_HEIGHT
    across = [value for curve in plot.curves for value in curve.x]
    up = [v for curve in plot.curves for v in (*curve.y, *curve.low, *curve.high)]
    up += [0.0] * plot.has_zero
    make = _log_axis if plot.is_log else _axis
    x = make(across, _LEFT, _WIDTH - _RIGHT, 7 if plot.is_log else 11)
    y = make(up, height - _BOTTOM, top, 7)
    drawn = [
        {
            "name": curve.name,
            "points": [(x.at(a), y.at(b)) for a, b in zip(curve.x, curve.y, strict=True)],
            "band": [
                (x.at(a), y.at(b))
                for a, b in (
                    *zip(curve.x, curve.low, strict=False),
                    *reversed([*zip(curve.x, curve.high, strict=False)]),
                )
            ],
            "marked": evenly(len(curve.x), _MARKS) if curve.x else [],
        }
        for curve in plot.curves
    ]
    return _rendered(
        "plot.svg",
        (*_PLAIN, *_SERIES),
        plot=plot,
        title=title,
        key_width=(_WIDTH - 32) // columns,
        key_columns=columns,
        has_key=bool(key_rows),
        x=x,
        y=y,
        lines=drawn,
        height=height,
    )


def map_svg(numbers: NumberMap) -> str:
    """The map as the text of an SVG file."""
    longest = max(len(values) for _, values in numbers.rows)
    top, side = 54, (_WIDTH - _LEFT - _RIGHT) // longest
    cells = [
        {
            "x": _LEFT + column * side,
            "y": top + row * 28,
            "text": f"{value:.1f}" if value >= 10 else f"{value:.2f}",
            "class": "above" if value > numbers.middle else "below",
            "shade": round(0.48 * min(1.0, abs(value - numbers.middle) / numbers.reach), 2),
        }
        for row, (_, values) in enumerate(numbers.rows)
        for column, value in enumerate(values)
    ]
    return _rendered(
        "map.svg",
        (*_PLAIN, "ramp-low", "ramp-high"),
        map=numbers,
        cells=cells,
        top=top,
        left=_LEFT,
        side=side,
        longest=longest,
        height=top + len(numbers.rows) * 28 + 46,
    )


def idea_files() -> dict[str, str]:
    """The figure of the idea by file name: four in a row, and two by two for narrow screens."""
    return {
        name: _rendered(
            "idea.svg",
            (*_PLAIN, "series-1", "series-2"),
            **idea_shown(),
            columns=columns,
            style=asset("idea.css"),
        )
        for name, columns in (("idea.svg", 4), ("idea-narrow.svg", 2))
    }


def _rendered(template: str, colours: Sequence[str], **shown: Any) -> str:
    found = {name: (light, dark) for name, light, dark in _COLOUR.findall(asset("page.css"))}
    named = [(name, *found[name]) for name in colours]
    return environment().get_template(template).render(**shown, colours=named, width=_WIDTH)


def _key_columns(names: Sequence[str]) -> int:
    """How many entries of the key fit beside each other."""
    widest = 44 + _LETTER * max(map(len, names))
    return max(1, min(3, len(names), int((_WIDTH - 32) // widest)))


def _axis(values: Sequence[float], start: float, end: float, most: int) -> Axis:
    """An axis with a little room around the values, and at most so many round ticks."""
    low, high = min(values), max(values)
    room = 0.04 * (high - low or 1)
    # What begins at zero stands on the axis.
    low, high = low - room * (low != 0), high + room
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    numbers = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    ticks = tuple((k * step, f"{round(k * step, 9):g}".replace("-", "−")) for k in numbers)
    return Axis(low, high, start, end, ticks, is_log=False)


def _log_axis(values: Sequence[float], start: float, end: float, most: int) -> Axis:
    """A logarithmic axis, with ticks at powers of ten, and between them where there is room."""
    low, high = min(values) / 1.25, max(values) * 1.25
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1,)):
        wanted = [step * 10.0**power for power in powers for step in steps]
        ticks = tuple((value, _power(value)) for value in wanted if low <= value <= high)
        if len(ticks) <= most:
            break
    return Axis(low, high, start, end, ticks, is_log=True)


def _power(value: float) -> str:
    if value < 1e4:
        return f"{value:,g}"
    power = math.floor(math.log10(value) + 1e-9)
    digits = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(power))
    factor = round(value / 10**power)
    return f"10{digits}" if factor == 1 else f"{factor}·10{digits}"
