"""How long runs took and how much memory they held, by method and graph."""

from collections.abc import Sequence
from dataclasses import dataclass

from akgnn.report.tables import Runs, Table


@dataclass(frozen=True)
class RunTimes:
    """Medians over the runs of each method, by graph; None where there are none."""

    title: str
    graphs: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Runs | None, ...]], ...]
    devices: tuple[str, ...]


def run_times_of(tables: Sequence[Table]) -> list[RunTimes]:
    """The run times of every table that has finished runs."""
    return [_of_table(table) for table in tables if any(row.summary for row in table.rows)]


def _of_table(table: Table) -> RunTimes:
    labels = list(dict.fromkeys(row.label for row in table.rows if row.summary))
    by_graph = [
        {row.label: row.runs for row in graph.rows if row.summary} for graph in table.graphs
    ]
    rows = tuple((label, tuple(runs.get(label) for runs in by_graph)) for label in labels)
    devices = dict.fromkeys(device for row in table.rows for device in row.runs.devices)
    return RunTimes(table.title, tuple(graph.name for graph in table.graphs), rows, tuple(devices))
