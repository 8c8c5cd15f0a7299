"""Figures: the data that the page draws, a sentence that says what they show, and a table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from akgnn.errors import SettingsError
from akgnn.experiments.results import CellResult
from akgnn.experiments.spec import SHOWN, Spec, shown_name
from akgnn.report.homophily_figure import homophily_panels
from akgnn.report.panels import Panel, depth_panels, lambda_panels, loss_panels
from akgnn.report.tables import point_name
from akgnn.report.training_figure import training_panels
from akgnn.report.varied_figure import varied_panels


@dataclass(frozen=True)
class Figure:
    """A figure of one or more panels; `kind` is the chart that draws it."""

    name: str
    kind: str
    title: str
    about: str
    panels: tuple[Panel, ...]
    failures: tuple[str, ...] = ()


@dataclass(frozen=True)
class FigureKind:
    """How the results of a spec become a figure: its panels and a note on how to read it.

    `chart` says which chart of the page draws it; the page's script has one for each of `loss`,
    `lambda`, `depth`, `homophily`, `varied` and `training`.
    """

    panels: Callable[[Sequence[CellResult]], Sequence[Panel]]
    note: str
    chart: str


FIGURES: dict[str, FigureKind] = {
    "loss": FigureKind(
        loss_panels,
        "Lines are medians over seeds and bands run between the quartiles. A curve ends where "
        "fewer than half of the seeds still train.",
        "loss",
    ),
    "lambda": FigureKind(
        lambda_panels,
        "Means over seeds. The colour is neutral at λ = 2, where a layer is GCN's.",
        "lambda",
    ),
    "depth": FigureKind(
        depth_panels,
        "Lines are means over seeds and bands one standard deviation to each side.",
        "depth",
    ),
    "homophily": FigureKind(
        homophily_panels,
        "Lines are means over runs and bands one standard deviation to each side. At the dotted "
        "line edges say nothing about classes: left of it linked nodes tend to differ. The share "
        "of neighbours is the part of a node's new signal that a layer takes from them.",
        "homophily",
    ),
    "varied": FigureKind(
        varied_panels,
        "Lines are means over seeds and bands one standard deviation to each side.",
        "varied",
    ),
    "training": FigureKind(
        training_panels,
        "The part of a node's new signal that a layer takes from its neighbours: lines are means "
        "over seeds and bands one standard deviation to each side. A curve ends where fewer than "
        "half of the seeds still train.",
        "training",
    ),
}


def register_figure(name: str, kind: FigureKind) -> None:
    """Add a kind of figure of one's own, for specs that say `shows = NAME`.

    Raises:
        SettingsError: The name is taken.
    """
    if name in SHOWN:
        raise SettingsError(f"There is a kind of figure called {name!r} already.")
    SHOWN.append(name)
    FIGURES[name] = kind


def figure_of(spec: Spec, results: Sequence[CellResult]) -> Figure:
    """The figure of a spec; what has no records is left out."""
    kind = FIGURES[spec.shows]
    panels = kind.panels([result for result in results if result.finished])
    about = f"{spec.about} {kind.note}".strip()
    failures = tuple(failure for result in results for failure in _failures(result))
    return Figure(spec.name, kind.chart, spec.title, about, tuple(panels), failures)


def _failures(result: CellResult) -> list[str]:
    cell = result.cell
    where = ", ".join(filter(None, [cell.row.label, shown_name(cell.dataset), point_name(cell)]))
    return [f"{where}, seed {record.seed}: {record.error}" for record in result.failed]
