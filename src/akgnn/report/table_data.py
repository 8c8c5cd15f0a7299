"""What the script needs of the tables: single runs, intervals, and how a row was made.

Written out as HTML these would be most of a page, and hardly any of it is ever looked at.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from akgnn.experiments.spec import DRAW_SIGN
from akgnn.experiments.statistics import Comparison
from akgnn.report.tables import GraphTable, Table, TableRow
from akgnn.report.values import duration, p_value

COMMAND = "Command"


class Texts:
    """Texts that many rows share, each kept once."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        """Where a text stands in the list; a new one is added."""
        return self._places.setdefault(text, len(self._places))

    @property
    def all(self) -> list[str]:
        """The texts in their order."""
        return list(self._places)


def table_data(tables: Sequence[Table]) -> dict[str, Any]:
    """The data of all tables: `texts`, and `tables` by the id that the page gives them."""
    texts = Texts()
    found = {
        f"{table.name}-{number}": _graph_data(table, graph, texts)
        for table in tables
        for number, graph in enumerate(table.graphs, start=1)
    }
    return {"tables": found, "texts": texts.all}


def _graph_data(table: Table, graph: GraphTable, texts: Texts) -> dict[str, Any]:
    return {
        "dataset": _drawn(graph),
        "low": graph.scale.low,
        "high": graph.scale.high,
        "rows": [_row_data(table, graph, row, texts) for row in graph.rows],
    }


def _drawn(graph: GraphTable) -> str:
    """The graph as commands name it, with G for the draw."""
    return graph.dataset.replace(DRAW_SIGN, "G")


def _row_data(table: Table, graph: GraphTable, row: TableRow, texts: Texts) -> dict[str, Any]:
    """The numbers of a row; what it does not have is left out."""
    digits = row.digits + 1
    summary, seeds = row.summary, list(row.scores)
    found: dict[str, Any] = {
        "ci": [_known(end, digits) for end in summary.ci95] if summary else None,
        "scores": [_known(score, digits) for score in row.scores.values()],
        "seeds": None if seeds == list(range(len(seeds))) else seeds,
        "detail": [texts.place(text) for pair in details(table, graph, row) for text in pair],
    }
    return {name: value for name, value in found.items() if value is not None}


def _known(value: float, digits: int) -> float | None:
    return round(value, digits) if math.isfinite(value) else None


def details(table: Table, graph: GraphTable, row: TableRow) -> Iterator[tuple[str, str]]:
    """How the numbers of a row came about: terms and texts.

    In commands `@` stands for the data set, so that one serves the graphs of a table.
    """
    if row.about:
        yield "Remark", row.about
    if row.chosen:
        chosen = (f"{label}: {times}" for label, times in row.chosen.items())
        yield "Chosen by validation", "; ".join(chosen)
    if row.comparison:
        yield f"Compared with {table.reference}", _compared(row.comparison)
    yield COMMAND, row.runs.command.replace(f"--dataset {_drawn(graph)}", "--dataset @")
    for reason in dict.fromkeys(reason for _, reason in row.failures):
        seeds = [str(seed) for seed, why in row.failures if why == reason]
        yield f"Failed: {'seed' if len(seeds) == 1 else 'seeds'} {', '.join(seeds)}", reason
    if splits := row.runs.splits:
        yield "Split" if len(splits) == 1 else "Splits", ", ".join(splits)
    yield "Device", "; ".join(row.runs.devices)
    if row.runs.times:
        times = (f"{duration(t.seconds)}, {t.held} ({d})" for d, t in row.runs.times.items())
        yield "A run, median", "; ".join(times)
    yield "Versions", "; ".join(row.runs.versions)


def _compared(comparison: Comparison) -> str:
    """The runs that were compared, and both p values; many rows have the same."""
    if not comparison.is_tested:
        return f"too few runs for a test ({comparison.design})"
    tests = ("t-test", "Wilcoxon") if comparison.paired else ("Welch", "Mann–Whitney")
    values = (comparison.t_test_holm, comparison.rank_test_holm)
    p_values = ", ".join(f"{p_value(p)} ({t})" for p, t in zip(values, tests, strict=True))
    return f"runs {comparison.design}; corrected p {p_values}"
