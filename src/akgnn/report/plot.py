"""A panel of curves on two logarithmic axes as an SVG file, for documents.

The colours are the page's, light or dark as the reader's system has it.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from akgnn.report.html import asset, environment
from akgnn.report.panel import Panel

_WIDTH, _HEIGHT = 720, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 18, 78, 52
_COLOUR = re.compile(r"--([\w-]+): light-dark\((#\w+), (#\w+)\);")
_USED = ("paper", "ink", "muted", "rule", *(f"series-{k}" for k in range(1, 7)))


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis.

    Attributes:
        low: Its lower end.
        high: Its upper end.
        start: Where the lower end is drawn.
        end: Where the upper end is drawn.
        ticks: Values with their labels.
    """

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[tuple[float, str], ...]

    def at(self, value: float) -> float:
        """Where a value is drawn."""
        part = math.log(value / self.low) / math.log(self.high / self.low)
        return round(self.start + part * (self.end - self.start), 1)


def svg(panel: Panel) -> str:
    """The panel of a figure of kind `scaling` as SVG."""
    lines = panel.drawn["lines"]
    x = _axis([value for line in lines for value in line["x"]], _LEFT, _WIDTH - _RIGHT, (1,))
    y = _axis([value for line in lines for value in line["y"]], _HEIGHT - _BOTTOM, _TOP, (1, 2, 5))
    drawn = [
        {"name": line["name"], "points": [(x.at(a), y.at(b)) for a, b in _pairs(line)]}
        for line in lines
    ]
    return (
        environment()
        .get_template("plot.svg")
        .render(
            panel=panel,
            width=_WIDTH,
            height=_HEIGHT,
            x=x,
            y=y,
            lines=drawn,
            colours=_colours(),
        )
    )


def _pairs(line: dict[str, Any]) -> list[tuple[float, float]]:
    return list(zip(line["x"], line["y"], strict=True))


def _axis(values: Sequence[float], start: float, end: float, steps: Sequence[int]) -> Axis:
    """An axis with some room around the values, and ticks at steps of every power of ten."""
    low, high = min(values) / 1.25, max(values) * 1.25
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    wanted = [step * 10.0**power for power in powers for step in steps]
    ticks = tuple((value, _label(value)) for value in wanted if low <= value <= high)
    return Axis(low, high, start, end, ticks)


def _label(value: float) -> str:
    if value < 1e4:
        return f"{value:,g}"
    power = math.floor(math.log10(value) + 1e-9)
    digits = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(power))
    factor = round(value / 10**power)
    return f"10{digits}" if factor == 1 else f"{factor}·10{digits}"


def _colours() -> list[tuple[str, str, str]]:
    """Names with their light and dark values, from the page's style sheet."""
    found = {name: (light, dark) for name, light, dark in _COLOUR.findall(asset("page.css"))}
    return [(name, *found[name]) for name in _USED]
