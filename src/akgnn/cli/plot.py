"""Lines drawn with letters: braille dots, two by four in each."""

import math
from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

from akgnn.report.values import number

# The bits of a braille letter, by column and row of its dots.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_BRAILLE = 0x2800
# What lines are coloured by, in their order.
_COLOURS = ("cyan", "yellow")
_BARS = "▁▂▃▄▅▆▇█"


def line_plot(
    series: Mapping[str, Sequence[float]], width: int, height: int, digits: int
) -> list[Text]:
    """Lines over a common axis; each ends in its name and its last value.

    Args:
        series: Values by name, at least one each; all lines go from the left to the right.
        width: Columns in all.
        height: Rows.
        digits: Digits after the point of the numbers at the axis and at the ends.
    """
    finite = [value for values in series.values() for value in values if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    labels = [number(high, digits), number(low, digits)]
    margin = max(map(len, labels))
    ends = {name: f" {name} {number(values[-1], digits)}" for name, values in series.items()}
    columns = max(8, width - margin - 2 - max(map(cell_len, ends.values())))
    bits = [[0] * columns for _ in range(height)]
    owners = [[0] * columns for _ in range(height)]
    words: dict[int, tuple[str, int]] = {}
    for owner, (name, values) in enumerate(series.items()):
        rows = _rows(values, 2 * columns, 4 * height, low, high)
        for column, (top, bottom) in rows.items():
            for row in range(top, bottom + 1):
                bits[row // 4][column // 2] |= _DOTS[column % 2][row % 4]
                owners[row // 4][column // 2] = owner
        if rows:
            last = rows[max(rows)]
            words[_free(last[0] // 4, height, words)] = (ends[name], owner)
    lines = []
    for row in range(height):
        label = labels[0] if row == 0 else labels[1] if row == height - 1 else ""
        line = Text(f"{label:>{margin}} ┤" if label else " " * margin + " │")
        for mark, owner in zip(bits[row], owners[row], strict=True):
            line.append(chr(_BRAILLE + mark) if mark else " ", _COLOURS[owner % len(_COLOURS)])
        if row in words:
            text, owner = words[row]
            line.append(text, _COLOURS[owner % len(_COLOURS)])
        lines.append(line)
    return lines


def spark_line(values: Sequence[float], width: int) -> str:
    """Values as bars of one letter each, from the least to the greatest of them."""
    shown = [values[k] for k in evenly(len(values), width)]
    low, high = min(shown), max(shown)
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    span = high - low or 1.0
    return "".join(_BARS[round((value - low) / span * (len(_BARS) - 1))] for value in shown)


def evenly(count: int, most: int) -> list[int]:
    """So many of the first numbers as there is room for, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return [round(k * (count - 1) / (most - 1)) for k in range(most)]


def _rows(
    values: Sequence[float], columns: int, rows: int, low: float, high: float
) -> dict[int, tuple[int, int]]:
    """For each column of dots the rows, from the top, that the line goes through."""
    span = high - low or 1.0
    found: dict[int, tuple[int, int]] = {}
    before: int | None = None
    for column in range(columns):
        value = _value_at(values, column / (columns - 1))
        if not math.isfinite(value):
            before = None
            continue
        row = round((high - value) / span * (rows - 1))
        # As far as where the dot before stood, so that the line has no holes.
        start = row if before is None else before + (row > before) - (row < before)
        found[column] = (min(row, start), max(row, start))
        before = row
    return found


def _value_at(values: Sequence[float], share: float) -> float:
    """The value at a share of the way, between two of them in proportion."""
    place = share * (len(values) - 1)
    left = math.floor(place)
    right = min(left + 1, len(values) - 1)
    return values[left] + (place - left) * (values[right] - values[left])


def _free(row: int, height: int, taken: Mapping[int, object]) -> int:
    """The row, or the nearest that nothing is written beside."""
    return min((k for k in range(height) if k not in taken), key=lambda k: abs(k - row))
