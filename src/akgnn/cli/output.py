"""What commands share in showing results."""

import json
import math
from collections.abc import Sequence
from typing import Any


def print_json(content: Any) -> None:
    """Print one JSON object; NaN, which JSON lacks, becomes null."""
    print(json.dumps(_without_nan(content)))


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


def numbers(values: Sequence[float], digits: int = 2) -> str:
    """Numbers in a row, such as λ of every layer."""
    return "  ".join(f"{value:.{digits}f}" for value in values)


def _without_nan(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _without_nan(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_without_nan(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
