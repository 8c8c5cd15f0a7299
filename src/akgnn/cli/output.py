"""What commands share in showing results."""

import json
import math
from collections.abc import Sequence
from typing import Any


def print_json(content: Any) -> None:
    """Print one JSON object; NaN, which JSON lacks, becomes null."""
    print(json.dumps(_without_nan(content)))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table whose first column is text and whose others are aligned to the right."""
    table = [columns, *rows]
    widths = [max(len(line[number]) for line in table) for number in range(len(columns))]
    for line in table:
        cells = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)]
        print("  ".join([line[0].ljust(widths[0]), *cells[1:]]).rstrip())


def numbers(values: Sequence[float], digits: int = 2) -> str:
    """Numbers in a row, such as λ of every layer."""
    return "  ".join(f"{value:.{digits}f}" for value in values)


def _without_nan(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _without_nan(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_without_nan(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
