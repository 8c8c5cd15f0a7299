"""The results of an experiment as a table of texts, for terminals and documents."""

from collections.abc import Sequence

from akgnn.experiments.results import CellResult
from akgnn.experiments.spec import Spec

_NAMES = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed", "num_layers": "K"}


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
    names = [*results[0].cell.point, *spec.datasets]
    head = ["", *(_NAMES.get(name, name) for name in names)]
    return [head, *([*key, *(line[name] for name in spec.datasets)] for key, line in lines.items())]


def markdown_table(spec: Spec, results: Sequence[CellResult]) -> str:
    """The same in Markdown."""
    head, *rows = table_of_texts(spec, results)
    table = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in table) + "\n"


def _shown(result: CellResult) -> str:
    """Mean ± deviation and, in brackets, what the paper prints; of a search the validation's."""
    summary, published = result.summary, result.cell.published
    if summary is None:
        return "failed" if result.failed else "–"
    if any(record.is_search for record in result.finished):
        return f"{result.val_accuracy:.1f}"
    text = f"{summary.mean:.1f}"
    if summary.std == summary.std:
        text += f" ± {summary.std:.1f}"
    return f"{text} ({published.mean:.1f})" if published else text
