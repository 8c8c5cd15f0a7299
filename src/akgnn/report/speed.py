"""Benchmarks on the page and in documents: tables by device, and curves over the graph's size."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from akgnn.bench.peers import OURS
from akgnn.bench.record import BOTH, BenchContents, BenchRecord, Case, Timed, newest, slug
from akgnn.bench.tables import (
    Table,
    failures_of,
    largest_of,
    per_edge,
    per_node,
    record_table,
    shown_graph,
    title_of,
)
from akgnn.report.figures import Figure
from akgnn.report.panels import Panel
from akgnn.report.values import pairs

_ABOUT = (
    "Medians of one run on one device, in which the contestants and a large copy take turns. "
    "“× akgnn” is a time divided by ours; “of copy” is what a product must read, divided by its "
    "time, as a share of what the copy reads and writes in that time; memory is the most that is "
    "taken beyond graph, signal and gradient."
)
_SUITES = {"layer": "One adaptive layer", "epoch": "A whole epoch"}
_Measure = Callable[[Case, Timed | None], float | None]
_MEASURES: dict[str, tuple[str, _Measure]] = {
    "time": ("ns an edge", per_edge),
    "memory": ("bytes a node", per_node),
}


@dataclass(frozen=True)
class SpeedTable:
    """A suite on one device: what was measured, when and with what, and who failed."""

    title: str
    note: str
    table: Table
    failures: tuple[str, ...]


@dataclass(frozen=True)
class Bar:
    """A contestant: its time in milliseconds, and how many times ours that is."""

    name: str
    milliseconds: float
    times: float
    share: float

    @property
    def time(self) -> str:
        """The time with about three digits."""
        digits = 0 if self.milliseconds >= 100 else 1 if self.milliseconds >= 10 else 2
        return f"{self.milliseconds:,.{digits}f} ms"

    @property
    def said(self) -> str:
        """The time beside ours, in words."""
        if self.name == OURS:
            return "1"
        return f"{self.times:.1f} times" if self.times < 99.5 else f"{self.times:,.0f} times"


@dataclass(frozen=True)
class Bars:
    """The times of one case, as bars of which the longest is 1."""

    title: str
    graph: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Speed:
    """The section on speed: bars, tables, then curves."""

    about: str
    bars: tuple[Bars, ...]
    tables: tuple[SpeedTable, ...]
    figure: Figure


def speed_of(contents: BenchContents) -> Speed | None:
    """The section of the newest records of every device; None where there are none."""
    tables = [
        SpeedTable(
            f"{title}: {record.device}",
            note_of(record),
            record_table(record, suite),
            tuple(failures_in(record, suite)),
        )
        for suite, title in _SUITES.items()
        for record in newest(contents, suite)
    ]
    plots = plots_of(contents)
    if not (tables or plots):
        return None
    figure = Figure("speed-curves", "scaling", "Growth with the graph", "", tuple(plots.values()))
    return Speed(_ABOUT, tuple(bars_of(contents)), tuple(tables), figure)


def bars_of(contents: BenchContents) -> list[Bars]:
    """Every contestant's time beside ours: of epochs, and of the largest layers in float32."""
    return [
        Bars(f"{title}, {record.device}", title_of(case), tuple(bars))
        for suite, title in _SUITES.items()
        for record in newest(contents, suite)
        for case in largest_of(record.of(suite))
        if (bars := _bars(case))
    ]


def _bars(case: Case) -> list[Bar]:
    """Quickest first; nothing where ours or all others failed."""
    task = case.tasks[-1]
    known = {t.name: t.median for t in case.timed if t.task == task and t.median is not None}
    ours = known.get(OURS)
    if not ours or len(known) < 2:
        return []
    longest = max(known.values())
    order = sorted(known.items(), key=lambda pair: pair[1])
    return [Bar(name, 1000 * time, time / ours, time / longest) for name, time in order]


def note_of(record: BenchRecord) -> str:
    """When and with what a record was measured."""
    shown = ("torch", "torch_geometric", "commit")
    versions = pairs({name: record.versions[name] for name in shown if name in record.versions})
    return f"{record.began[:10]}, {record.repetitions} repetitions, {versions}."


def failures_in(record: BenchRecord, suite: str) -> list[str]:
    """Who failed on which graph, and why."""
    return [
        line if case.error else f"{title_of(case)}: {line}"
        for case in record.cases
        if case.suite == suite
        for line in failures_of(case)
    ]


def plots_of(contents: BenchContents) -> dict[str, Panel]:
    """Curves by file name: time an edge and memory a node, where a device has several sizes."""
    plots: dict[str, Panel] = {}
    for suite in ("growth", "layer"):
        for record in newest(contents, suite):
            for cases in _by_kind(record.of(suite)):
                plots |= _plots(record, cases)
    return plots


def _by_kind(cases: Sequence[Case]) -> list[list[Case]]:
    """Cases that differ in size only, where there are several, in rising order."""
    found: dict[tuple[str, str, int], dict[int, Case]] = {}
    for case in cases:
        found.setdefault((case.graph, case.dtype, case.channels), {})[case.num_edges] = case
    return [[sizes[edges] for edges in sorted(sizes)] for sizes in found.values() if len(sizes) > 1]


def _plots(record: BenchRecord, cases: Sequence[Case]) -> dict[str, Panel]:
    first = cases[0]
    kind = f"{shown_graph(first)}, {first.channels} channels, {first.dtype}"
    degree = round(first.num_edges / first.num_nodes)
    plots = {}
    for measure, (unit, value) in _MEASURES.items():
        lines = _lines(cases, value)
        if not any(line["x"] for line in lines):
            continue
        parts = (first.suite, measure, first.graph, first.dtype, str(first.channels), record.device)
        plots[slug("-".join(parts))] = Panel(
            title=f"{record.device}: {measure}, {kind}",
            summary=f"{measure.capitalize()} of forward and backward in {unit} on {record.device}, "
            f"{kind}, mean degree {degree}: {'; '.join(map(_said, lines))}.",
            columns=("edges", *(line["name"] for line in lines)),
            rows=_rows(lines),
            drawn={"unit": unit, "lines": lines},
            key=[line["name"] for line in lines],
        )
    return plots


def _lines(cases: Sequence[Case], value: _Measure) -> list[dict[str, Any]]:
    """A line for every contestant, so that each has its colour in all panels; some are empty."""
    lines = []
    for name in dict.fromkeys(name for case in cases for name in case.names):
        points = [(case.num_edges, value(case, case.find(name, BOTH))) for case in cases]
        # Four digits are more than a time has to say.
        known = {x: float(f"{y:.4g}") for x, y in points if y is not None and y > 0}
        lines.append({"name": name, "x": list(known), "y": list(known.values())})
    return lines


def _said(line: Mapping[str, Any]) -> str:
    """Both ends of a line."""
    name, x, y = line["name"], line["x"], line["y"]
    if not x:
        return f"{name} not known"
    text = f"{name} {y[0]:g} at {x[0]:,} edges"
    return text if len(x) == 1 else f"{text}, {y[-1]:g} at {x[-1]:,}"


def _rows(lines: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    values = [dict(zip(line["x"], line["y"], strict=True)) for line in lines]
    return [
        [f"{size:,}", *(f"{known[size]:g}" if size in known else "–" for known in values)]
        for size in sorted({size for known in values for size in known})
    ]
