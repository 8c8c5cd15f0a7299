"""Figures of experiments in documents: SVG files drawn from the records, and images of them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from akgnn.bench.record import slug
from akgnn.data.catalogue import graph_name
from akgnn.errors import UnknownNameError
from akgnn.experiments.results import CellResult
from akgnn.report.homophily_figure import homophily_panels
from akgnn.report.panels import Panel, depth_panels, evenly, lambda_panels, loss_panels
from akgnn.report.plots import Curve, NumberMap, Plot, map_svg, plot_svg

# Beside the documents.
PLOTS_FOLDER = "plots"
# So many epochs of a curve are drawn.
_EPOCHS = 100


@dataclass(frozen=True)
class Drawn:
    """A file of a figure: its name without the ending, its words and its text."""

    name: str
    summary: str
    text: str


Rows = list[list[Drawn]]
"""Files that stand beside each other, row by row."""


def figure_rows(shows: str, name: str, results: Sequence[CellResult]) -> Rows:
    """The files of a figure.

    Args:
        shows: What it shows: `loss`, `lambda`, `depth` or `homophily`.
        name: What names of files begin with.
        results: Its cells; those without a finished run are left out.
    """
    if shows not in _DRAWN:
        raise UnknownNameError("figure of documents", shows, _DRAWN)
    known = [result for result in results if result.finished]
    return _DRAWN[shows](name, known) if known else []


def figure_markdown(rows: Rows) -> str:
    """The images of a figure in Markdown, a paragraph for each row."""
    return "\n".join(
        "".join(f"![{each.summary}]({PLOTS_FOLDER}/{each.name}.svg)\n" for each in row)
        for row in rows
    )


def figure_files(rows: Rows) -> dict[str, str]:
    """The files of a figure, by name."""
    return {f"{each.name}.svg": each.text for row in rows for each in row}


def _plot(name: str, plot: Plot) -> Drawn:
    return Drawn(slug(name), plot.summary, plot_svg(plot))


def _by_graph(results: Iterable[CellResult]) -> dict[str, list[CellResult]]:
    found: dict[str, list[CellResult]] = {}
    for result in results:
        found.setdefault(graph_name(result.cell.dataset), []).append(result)
    return found


def _ends(curves: Iterable[Curve], x: str, digits: int) -> str:
    """Both ends of every curve in words."""
    return "; ".join(
        f"{curve.name} {curve.y[0]:.{digits}f} at {x} {curve.x[0]:g}, "
        f"{curve.y[-1]:.{digits}f} at {curve.x[-1]:g}"
        for curve in curves
    )


def _loss(name: str, results: Sequence[CellResult]) -> Rows:
    """For every graph all variants in one plot of training and one of validation."""
    rows = []
    for graph, here in _by_graph(results).items():
        panels = loss_panels(here)
        if panels:
            parts = (("train", "Training"), ("val", "Validation"))
            rows.append([_loss_plot(name, graph, panels, *part) for part in parts])
    return rows


def _loss_plot(name: str, graph: str, panels: Sequence[Panel], part: str, word: str) -> Drawn:
    curves = []
    for panel in panels:
        band = panel.drawn[part]
        kept = evenly(len(band["mid"]), _EPOCHS)
        mid, low, high = ([band[kind][k] for k in kept] for kind in ("mid", "low", "high"))
        curves.append(Curve(panel.title, [k + 1 for k in kept], mid, low, high))
    plot = Plot(
        title=f"{word} loss, {graph}",
        summary=f"{word} loss by epoch on {graph}, medians over seeds: "
        f"{_ends(curves, 'epoch', 2)}.",
        x_label="epoch",
        y_label="loss",
        curves=curves,
        has_zero=True,
    )
    return _plot(f"{name}-{graph}-{word}", plot)


def _lambda(name: str, results: Sequence[CellResult]) -> Rows:
    """For every graph a map of λ by layer and number of layers."""
    return [
        [
            Drawn(slug(f"{name}-{graph}"), panel.summary, map_svg(_lambda_map(graph, panel)))
            for graph, here in _by_graph(results).items()
            for panel in lambda_panels(here)
        ]
    ]


def _lambda_map(graph: str, panel: Panel) -> NumberMap:
    return NumberMap(
        title=f"λ of each layer, {graph}",
        summary=panel.summary,
        x_label="layer",
        y_label="number of layers K",
        rows=[*zip(map(str, panel.drawn["depths"]), panel.drawn["values"], strict=True)],
        middle=2.0,
        reach=1.0,
    )


def _depth(name: str, results: Sequence[CellResult]) -> Rows:
    """Test accuracy of every graph on an axis of its own, then training accuracy of all."""
    panels = {graph: depth_panels(here) for graph, here in _by_graph(results).items()}
    test = [
        _depth_plot(f"{name}-{graph}", f"Test accuracy, {graph}", [_spread(graph, panel, "test")])
        for graph, found in panels.items()
        for panel in found
    ]
    train = [_spread(graph, panel, "train") for graph, found in panels.items() for panel in found]
    return [[*test, _depth_plot(f"{name}-training", "Training accuracy", train)]]


def _depth_plot(name: str, title: str, curves: Sequence[Curve]) -> Drawn:
    plot = Plot(
        title=title,
        summary=f"{title} by number of layers, means over seeds in per cent: "
        f"{_ends(curves, 'K =', 1)}.",
        x_label="number of layers K",
        y_label="accuracy, %",
        curves=curves,
    )
    return _plot(name, plot)


def _spread(name: str, panel: Panel, part: str) -> Curve:
    return _with_band(name, panel.drawn["depths"], panel.drawn[part])


def _with_band(name: str, x: Sequence[float], drawn: dict[str, Any]) -> Curve:
    """A curve of means with one deviation to each side."""
    both = [*zip(drawn["mean"], drawn["std"], strict=True)]
    low, high = [mean - std for mean, std in both], [mean + std for mean, std in both]
    return Curve(name, x, drawn["mean"], low, high)


def _homophily(name: str, results: Sequence[CellResult]) -> Rows:
    """The scores of all rows, then for every row with kernels the share of neighbours."""
    scores: list[Drawn] = []
    shares: list[Drawn] = []
    for panel in homophily_panels(results):
        is_score = "rows" in panel.drawn
        lines = panel.drawn["rows" if is_score else "layers"]
        (chance, *_) = panel.drawn["chance"]
        plot = Plot(
            title=f"{panel.title} over homophily" if is_score else panel.title,
            summary=panel.summary,
            x_label="homophily",
            y_label=panel.drawn["metric"] if is_score else "share of neighbours",
            curves=[_with_band(line["name"], line["x"], line) for line in lines],
            upright=(chance, "links say nothing"),
        )
        (scores if is_score else shares).append(_plot(f"{name}-{panel.title}", plot))
    return [row for row in (scores, shares) if row]


_DRAWN: dict[str, Callable[[str, Sequence[CellResult]], Rows]] = {
    "loss": _loss,
    "lambda": _lambda,
    "depth": _depth,
    "homophily": _homophily,
}
