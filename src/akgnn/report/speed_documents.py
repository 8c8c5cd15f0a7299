"""Benchmarks in documents: tables by device in Markdown, and curves as SVG files."""

from collections.abc import Callable
from functools import partial

from akgnn.bench.record import BenchContents, BenchRecord, Case, newest
from akgnn.bench.tables import (
    Table,
    as_markdown,
    brief_table,
    case_table,
    growth_tables,
    title_of,
)
from akgnn.errors import UnknownNameError
from akgnn.report.figure_documents import PLOTS_FOLDER
from akgnn.report.panels import Panel
from akgnn.report.plots import Curve, Plot, plot_svg
from akgnn.report.speed import failures_in, note_of, plots_of

NOTHING = "Not measured yet; `make bench` measures on your machine.\n"


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
                blocks.append(f"{title[0].upper()}{title[1:]}:\n\n{as_markdown(table)}")
            failures = "".join(f"- {line}\n" for line in failures_in(record, suite))
            blocks += [f"What failed:\n\n{failures}"] if failures else []
        return "\n".join(blocks)

    return shown


def _cases(record: BenchRecord, suite: str) -> dict[str, Table]:
    """A table for each graph, by what it is."""
    return {title_of(case): case_table(case) for case in record.of(suite) if case.timed}


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
    "layer": _suite("layer", partial(_cases, suite="layer")),
    "epoch": _suite("epoch", partial(_cases, suite="epoch")),
    "growth": _suite("growth", growth_tables),
    "plots": _plots,
    "brief": _brief,
}


def svg(panel: Panel) -> str:
    """The panel of a figure of kind `scaling` as SVG, on two logarithmic axes."""
    curves = [Curve(line["name"], line["x"], line["y"]) for line in panel.drawn["lines"]]
    unit = panel.drawn["unit"]
    return plot_svg(Plot(panel.title, panel.summary, "edges", unit, curves, is_log=True))
