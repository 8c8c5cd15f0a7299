"""Prose and tables in a number of columns: broken at spaces, never through a word or a number."""

import re
from collections.abc import Callable, Sequence

from rich.cells import cell_len

# Between the columns of a table.
_GAP = "  "
# Text in a column is not squeezed further than this, or than its longest word.
_NARROWEST = 16
# A number and its unit, a mean and its deviation, and a command stay on one line.
_GLUED = re.compile(
    r"(?<=\d) (?=(?:s|ms|min|h|MiB|GiB)\b|%)| (?=± )|(?<=±) |(?<=\bakgnn) (?=[a-z])"
)
# Stands for a space at which no line may end; of private use, so texts that are shown lack it.
_GLUE = "\ue000"

Paint = Callable[[str, str], str]
"""Gives a text in a style, such as `bold`, the letters that make it so."""


class Styled(str):
    """A cell of a table that is to be seen in a style, such as `green`."""

    __slots__ = ("style",)
    style: str

    def __new__(cls, text: str, style: str) -> "Styled":
        """The text with its style."""
        made = super().__new__(cls, text)
        made.style = style
        return made


def wrapped(text: str, width: int | None, hang: int | None = None) -> list[str]:
    """A line of text as lines no wider than `width`, except for words that are wider themselves.

    Args:
        text: One line; spaces within it are kept where no line ends.
        width: Columns there are; None for any number.
        hang: Columns by which further lines are indented, if not given as the first.
    """
    if width is None or cell_len(text) <= width:
        return [text]
    body = text.lstrip(" ")
    first = len(text) - len(body)
    hang = first if hang is None else hang
    lines, line = [], " " * first
    space = ""
    for piece in re.findall(r" +|[^ ]+", _GLUED.sub(_GLUE, body)):
        if piece[0] == " ":
            space = piece
            continue
        is_empty = not line.strip()
        if not is_empty and cell_len(line) + len(space) + cell_len(piece) > width:
            lines.append(line)
            line, is_empty = " " * hang, True
        line += piece if is_empty else space + piece
    return [each.replace(_GLUE, " ") for each in (*lines, line)]


def table_lines(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    align: str,
    width: int | None,
    paint: Paint = lambda text, style: text,
) -> list[str]:
    """A table in lines no wider than `width`.

    Where it is too wide as it is, text in its columns is wrapped; else the columns are dealt out to
    tables below each other that all start with the first; and where even two columns are too wide,
    every row becomes a list.

    Args:
        columns: Headings.
        rows: Cells.
        align: `l` or `r` for each column; cells on the right hold numbers and are not wrapped.
        width: Columns there are; None for any number.
        paint: How styles become letters.
    """
    cells = [list(row) for row in zip(columns, *rows, strict=True)]
    natural = [max(map(cell_len, column)) for column in cells]
    least = [_least(column, side) for column, side in zip(cells, align, strict=True)]
    if width is None or _sum(natural) <= width:
        return _block(cells, natural, align, paint)
    if any(least[0] + len(_GAP) + each > width for each in least[1:]) or least[0] > width:
        return _records(columns, rows, width, paint)
    lines: list[str] = []
    for numbers in _balanced(least, width):
        if lines:
            lines.append("")
        widths = _stretched([least[k] for k in numbers], [natural[k] for k in numbers], width)
        sides = "".join(align[k] for k in numbers)
        lines += _block([cells[k] for k in numbers], widths, sides, paint)
    return lines


def table_width(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """How wide a table is with nothing wrapped."""
    return _sum([max(map(cell_len, column)) for column in zip(columns, *rows, strict=True)])


def _sum(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _longest_word(text: str) -> int:
    return max(map(cell_len, _GLUED.sub(_GLUE, text).split(" ")))


def _least(column: Sequence[str], side: str) -> int:
    """How narrow a column may become."""
    heading, *cells = column
    if side == "r":
        return max([_longest_word(heading), *map(cell_len, cells)])
    words = max(map(_longest_word, column))
    return max(words, min(_NARROWEST, max(map(cell_len, column))))


def _balanced(least: Sequence[int], width: int) -> list[list[int]]:
    """The numbers of the columns of each table: few tables, and none much narrower than others."""
    tables = _dealt(least, width)
    widest = max(least[0] + len(_GAP) + each for each in least[1:])
    for narrower in range(width - 1, widest - 1, -1):
        dealt = _dealt(least, narrower)
        if len(dealt) > len(tables):
            break
        tables = dealt
    return tables


def _dealt(least: Sequence[int], width: int) -> list[list[int]]:
    """The numbers of the columns of each table, each as full as can be."""
    tables = [[0]]
    for number in range(1, len(least)):
        if _sum([least[k] for k in (*tables[-1], number)]) > width:
            tables.append([0])
        tables[-1].append(number)
    return tables


def _stretched(least: Sequence[int], natural: Sequence[int], width: int) -> list[int]:
    """Widths between the two that use what room there is."""
    widths = list(least)
    room = width - _sum(widths)
    while room > 0 and any(now < most for now, most in zip(widths, natural, strict=True)):
        for number, most in enumerate(natural):
            if widths[number] < most and room > 0:
                widths[number] += 1
                room -= 1
    return widths


def _block(
    cells: Sequence[Sequence[str]], widths: Sequence[int], align: str, paint: Paint
) -> list[str]:
    lines = []
    for number, row in enumerate(zip(*cells, strict=True)):
        texts = [wrapped(cell, width, 0) for cell, width in zip(row, widths, strict=True)]
        heights = max(map(len, texts))
        for height in range(heights):
            parts = []
            for cell, text, width, side in zip(row, texts, widths, align, strict=True):
                # Headings stand on their columns.
                at = height - (heights - len(text)) if number == 0 else height
                shown = text[at] if 0 <= at < len(text) else ""
                space = " " * (width - cell_len(shown))
                style = "bold" if number == 0 else getattr(cell, "style", "")
                shown = paint(shown, style) if shown and style else shown
                parts.append(shown + space if side == "l" else space + shown)
            lines.append(_GAP.join(parts).rstrip())
    return lines


def _records(
    columns: Sequence[str], rows: Sequence[Sequence[str]], width: int, paint: Paint
) -> list[str]:
    """Every row as its first cell with the others, named, below it."""
    lines = []
    for row in rows:
        lines += [paint(line, "bold") for line in wrapped(row[0], width)]
        for name, cell in zip(columns[1:], row[1:], strict=True):
            texts = wrapped(f"{_GAP}{name}: {cell}" if name else _GAP + cell, width, 2 * len(_GAP))
            style = getattr(cell, "style", "")
            lines += [paint(text, style) if style else text for text in texts]
    return lines
