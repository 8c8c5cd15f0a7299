"""What commands share in showing results."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from akgnn.plain_json import without_nan


def print_json(content: Any) -> None:
    """Print one JSON object; NaN, which JSON lacks, becomes null."""
    print(json.dumps(without_nan(content)))


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], align: str | None = None
) -> None:
    """Print a table.

    Args:
        columns: The headings.
        rows: The cells.
        align: `l` or `r` for each column; the first to the left and the others to the right if
            not given.
    """
    table = [columns, *rows]
    align = align or "l" + "r" * (len(columns) - 1)
    widths = [max(len(line[number]) for line in table) for number in range(len(columns))]
    for line in table:
        cells = [
            cell.ljust(width) if side == "l" else cell.rjust(width)
            for cell, width, side in zip(line, widths, align, strict=True)
        ]
        print("  ".join(cells).rstrip())


def data_line(name: str, data: Mapping[str, Any]) -> str:
    """A data set in a line, from its name and the description in a record."""
    return (
        f"{name}: {data['num_nodes']} nodes, {data['num_edges']} edges, "
        f"{data['num_features']} features, {len(data['class_names'])} classes"
    )


def numbers(values: Sequence[float], digits: int = 2) -> str:
    """Numbers in a row, such as λ of every layer."""
    return "  ".join(f"{value:.{digits}f}" for value in values)
