"""How long runs took and how much memory they held, by method, device and graph."""

from collections.abc import Sequence
from dataclasses import dataclass

from akgnn.report.tables import Table, Time


@dataclass(frozen=True)
class TimeRow:
    """A method on one device: its times by graph, None where there are none."""

    label: str
    device: str
    times: tuple[Time | None, ...]


@dataclass(frozen=True)
class RunTimes:
    """The times of a table's rows."""

    title: str
    graphs: tuple[str, ...]
    rows: tuple[TimeRow, ...]


def run_times_of(tables: Sequence[Table]) -> list[RunTimes]:
    """The run times of every table that has finished runs."""
    return [_of_table(table) for table in tables if any(row.summary for row in table.rows)]


def _of_table(table: Table) -> RunTimes:
    rows: dict[tuple[str, str], list[Time | None]] = {
        (row.label, device): [] for row in table.rows for device in row.runs.times
    }
    for graph in table.graphs:
        by_label = {row.label: row.runs.times for row in graph.rows}
        for (label, device), times in rows.items():
            times.append(by_label.get(label, {}).get(device))
    graphs = tuple(graph.name for graph in table.graphs)
    lines = (TimeRow(label, device, tuple(times)) for (label, device), times in rows.items())
    order = list(dict.fromkeys(row.label for row in table.rows))
    ordered = sorted(lines, key=lambda line: (order.index(line.label), line.device))
    return RunTimes(table.title, graphs, tuple(ordered))
