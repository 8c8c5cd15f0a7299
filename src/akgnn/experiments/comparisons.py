"""The rows of a table against one of them."""

from collections.abc import Sequence

from akgnn.experiments.results import CellResult
from akgnn.experiments.statistics import Comparison, compare, corrected


def against_row(results: Sequence[CellResult], label: str) -> dict[tuple[str, str], Comparison]:
    """Compare the row called `label` with every other row, by (label of the other, data set).

    The comparisons on one data set are one family for Holm's correction.
    """
    compared: dict[tuple[str, str], Comparison] = {}
    for dataset in dict.fromkeys(result.cell.dataset for result in results):
        here = {r.cell.row.label: r for r in results if r.cell.dataset == dataset}
        others = [name for name in here if name != label]
        if label not in here:
            continue
        family = [compare(here[label].scores, here[name].scores) for name in others]
        for name, comparison in zip(others, corrected(family), strict=True):
            compared[name, dataset] = comparison
    return compared
