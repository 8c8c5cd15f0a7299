"""One panel of a figure, and the results that several panels are made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from akgnn.data.catalogue import graph_name
from akgnn.experiments.results import CellResult


@dataclass(frozen=True)
class Panel:
    """One panel.

    Attributes:
        title: Above it.
        summary: What it shows, in words, for those who cannot see it.
        columns: Headings of its numbers.
        rows: Its numbers as text.
        drawn: What the script needs to draw it.
        key: Names of its lines, where each panel has its own; they follow the order of the colours.
    """

    title: str
    summary: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    drawn: Mapping[str, Any]
    key: Sequence[str] = ()


@dataclass(frozen=True)
class Group:
    """The results of one row on one graph, which one panel shows.

    Attributes:
        label: Of the row.
        graph: Name of the graph.
        title: The graph's name, after the label where the figure has several rows.
        results: In the order given.
    """

    label: str
    graph: str
    title: str
    results: tuple[CellResult, ...]


def groups_of(results: Sequence[CellResult]) -> list[Group]:
    """The results by row and graph, in the order in which these first come."""
    found: dict[tuple[str, str], list[CellResult]] = {}
    for result in results:
        found.setdefault((result.cell.row.label, result.cell.dataset), []).append(result)
    several = len({label for label, _ in found}) > 1
    groups = []
    for (label, dataset), group in found.items():
        graph = graph_name(dataset)
        title = f"{label}, {graph}" if several else graph
        groups.append(Group(label, graph, title, tuple(group)))
    return groups
