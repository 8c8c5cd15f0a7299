"""Figures: the data that the page draws, a sentence that says what they show, and a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from akgnn.experiments.results import CellResult
from akgnn.experiments.spec import Spec, shown_name
from akgnn.report.depth_figure import depth_panels
from akgnn.report.homophily_figure import homophily_panels
from akgnn.report.lambda_figure import lambda_panels
from akgnn.report.loss_figure import loss_panels
from akgnn.report.panel import Panel
from akgnn.report.tables import point_name


@dataclass(frozen=True)
class Figure:
    """A figure of one or more panels.

    Attributes:
        name: Of the spec.
        kind: What draws it.
        title: For readers.
        about: For readers, with what was left out.
        panels: In reading order.
        failures: Runs that failed, each with its reason.
    """

    name: str
    kind: str
    title: str
    about: str
    panels: tuple[Panel, ...]
    failures: tuple[str, ...] = ()

    def drawn(self) -> list[dict[str, Any]]:
        """What the script needs to draw the panels."""
        return [dict(panel.drawn) for panel in self.panels]


_PANELS = {
    "loss": loss_panels,
    "lambda": lambda_panels,
    "depth": depth_panels,
    "homophily": homophily_panels,
}
_NOTES = {
    "loss": "Lines are medians over seeds and bands run between the quartiles. A curve ends where "
    "fewer than half of the seeds still train.",
    "lambda": "Means over seeds. The colour is neutral at λ = 2, where a layer is GCN's.",
    "depth": "Lines are means over seeds and bands one deviation to each side.",
    "homophily": "Lines are means over runs and bands one deviation to each side. At the dotted "
    "line edges say nothing about classes. The share of neighbours is the part of a node's new "
    "signal that a layer takes from them.",
}


def figure_of(spec: Spec, results: Sequence[CellResult]) -> Figure:
    """The figure of a spec; what has no records is left out."""
    panels = _PANELS[spec.shows]([result for result in results if result.finished])
    about = f"{spec.about} {_NOTES[spec.shows]}".strip()
    failures = tuple(failure for result in results for failure in _failures(result))
    return Figure(spec.name, spec.shows, spec.title, about, tuple(panels), failures)


def _failures(result: CellResult) -> list[str]:
    cell = result.cell
    where = ", ".join(filter(None, [cell.row.label, shown_name(cell.dataset), point_name(cell)]))
    return [f"{where}, seed {record.seed}: {record.error}" for record in result.failed]
