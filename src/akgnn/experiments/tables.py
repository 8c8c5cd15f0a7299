"""The results of an experiment as a table of texts, for terminals and documents."""

from collections.abc import Sequence

from akgnn.experiments.comparisons import against_row
from akgnn.experiments.results import CellResult
from akgnn.experiments.spec import METRIC_NAMES, Spec, shown_name
from akgnn.experiments.statistics import Comparison


def table_of_texts(spec: Spec, results: Sequence[CellResult]) -> list[list[str]]:
    """The headings, then a line for each row and grid point with a column for each data set.

    Args:
        spec: The experiment.
        results: Its cells, from `collect`.
    """
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for result in results:
        cell = result.cell
        key = (cell.row.label, *(str(value) for value in cell.point.values()))
        lines.setdefault(key, {})[cell.dataset] = _shown(result)
    varied = ("K" if name == "num_layers" else name for name in results[0].cell.point)
    head = ["", *varied, *_headings(results)]
    return [head, *([*key, *(line[name] for name in spec.datasets)] for key, line in lines.items())]


def markdown_table(spec: Spec, results: Sequence[CellResult]) -> str:
    """The same in Markdown."""
    return _as_markdown(table_of_texts(spec, results))


def markdown_comparison(results: Sequence[CellResult]) -> str:
    """The first row against every other on each data set, in Markdown.

    A cell holds the mean difference, first minus other, its 95 % interval, and the verdict of both
    corrected tests.
    """
    label = results[0].cell.row.label
    compared = against_row(results, label)
    datasets = list(dict.fromkeys(dataset for _, dataset in compared))
    here = [result for result in results if result.cell.dataset in datasets]
    head = [f"{label} minus", *_headings(here)]
    rows = [
        [other, *(_compared(compared[other, name]) for name in datasets)]
        for other in dict.fromkeys(other for other, _ in compared)
    ]
    return _as_markdown([head, *rows])


def _headings(results: Sequence[CellResult]) -> list[str]:
    """The data sets, each once, with the metric where it is another than accuracy."""
    metrics = {result.cell.dataset: result.cell.metric for result in results}
    return [
        shown_name(name) + ("" if metric == "accuracy" else f", {METRIC_NAMES[metric]}")
        for name, metric in metrics.items()
    ]


def _compared(comparison: Comparison) -> str:
    if comparison.pairs < 2:
        return "–"
    low, high = comparison.ci95
    return f"{comparison.difference:+.1f} [{low:+.1f}, {high:+.1f}] {comparison.verdict}"


def _as_markdown(table: Sequence[Sequence[str]]) -> str:
    head, *rows = table
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def _shown(result: CellResult) -> str:
    """Mean ± deviation and, in brackets, what the paper prints; of a search the validation's."""
    summary, published = result.summary, result.cell.published
    if summary is None:
        return "failed" if result.failed else "–"
    if any(record.is_search for record in result.finished):
        return f"{result.val_score:.1f}"
    if summary.mean != summary.mean:
        return "–"
    text = f"{summary.mean:.1f}"
    if summary.std == summary.std:
        text += f" ± {summary.std:.1f}"
    return f"{text} ({published.mean:.1f})" if published else text
