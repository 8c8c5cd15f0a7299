"""Benchmarks in documents: tables by device in Markdown, and curves as SVG files.

The colours of the curves are the page's, light or dark as the reader's system has it.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from akgnn.bench.record import BenchContents, BenchRecord, Case, newest
from akgnn.bench.tables import Table, as_markdown, brief_table, growth_tables, record_table
from akgnn.errors import UnknownNameError
from akgnn.report.html import asset, environment
from akgnn.report.panels import Panel
from akgnn.report.speed import failures_in, note_of, plots_of

NOTHING = "Not measured yet; `make bench` measures on your machine.\n"
# Beside the documents.
PLOTS_FOLDER = "plots"
_WIDTH, _HEIGHT = 720, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 18, 78, 52
_COLOUR = re.compile(r"--([\w-]+): light-dark\((#\w+), (#\w+)\);")
_USED = ("paper", "ink", "muted", "rule", *(f"series-{k}" for k in range(1, 7)))


def speed_markdown(name: str, contents: BenchContents) -> str:
    """What a document shows of the newest records of each device.

    Args:
        name: `layer`, `epoch` or `growth` for the tables of a suite; `plots` for the curves;
            `brief` for akgnn beside its quickest peer.
        contents: The records.
    """
    if name not in _SHOWN:
        raise UnknownNameError("table of benchmarks", name, _SHOWN)
    text = _SHOWN[name](contents)
    # Curves stand below a table that says it already.
    return text or ("" if name == "plots" else NOTHING)


def plot_files(contents: BenchContents) -> dict[str, str]:
    """The SVG files that documents show, by name."""
    return {f"{name}.svg": svg(panel) for name, panel in plots_of(contents).items()}


def _suite(suite: str, tables: Callable[[BenchRecord], dict[str, Table]]) -> Callable[..., str]:
    def shown(contents: BenchContents) -> str:
        blocks = []
        for record in newest(contents, suite):
            blocks.append(f"**{record.device}** ({note_of(record)})\n")
            for title, table in tables(record).items():
                heading = f"{title.capitalize()}:\n\n" if title else ""
                blocks.append(heading + as_markdown(table))
            failures = "".join(f"- {line}\n" for line in failures_in(record, suite))
            blocks += [f"What failed:\n\n{failures}"] if failures else []
        return "\n".join(blocks)

    return shown


def _plots(contents: BenchContents) -> str:
    return "\n".join(
        f"![{panel.summary}]({PLOTS_FOLDER}/{name}.svg)\n"
        for name, panel in plots_of(contents).items()
    )


def _brief(contents: BenchContents) -> str:
    cases: dict[str, list[Case]] = {}
    for suite in ("epoch", "layer"):
        for record in newest(contents, suite):
            cases.setdefault(record.device, []).extend(record.of(suite))
    return "\n".join(
        f"{device}:\n\n{as_markdown(brief_table(found))}" for device, found in sorted(cases.items())
    )


_SHOWN: dict[str, Callable[[BenchContents], str]] = {
    "layer": _suite("layer", lambda record: {"": record_table(record, "layer")}),
    "epoch": _suite("epoch", lambda record: {"": record_table(record, "epoch")}),
    "growth": _suite("growth", growth_tables),
    "plots": _plots,
    "brief": _brief,
}


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis from `low` to `high`, drawn from `start` to `end`."""

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
    """The panel of a figure of kind `scaling` as SVG, on two logarithmic axes."""
    lines: Sequence[Mapping[str, Any]] = panel.drawn["lines"]
    x = _axis([value for line in lines for value in line["x"]], _LEFT, _WIDTH - _RIGHT, (1,))
    y = _axis([value for line in lines for value in line["y"]], _HEIGHT - _BOTTOM, _TOP, (1, 2, 5))
    drawn = [
        {
            "name": line["name"],
            "points": [(x.at(a), y.at(b)) for a, b in zip(line["x"], line["y"], strict=True)],
        }
        for line in lines
    ]
    shown = {"panel": panel, "x": x, "y": y, "lines": drawn, "colours": _colours()}
    template = environment().get_template("plot.svg")
    return template.render(**shown, width=_WIDTH, height=_HEIGHT)


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
