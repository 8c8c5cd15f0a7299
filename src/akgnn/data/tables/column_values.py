"""What a column of a node table holds: finite numbers or texts, with gaps."""

import numpy as np

from akgnn.data.tables.arrow import pa, pc
from akgnn.data.tables.table import Table, first_true, is_text, no_text_as_missing
from akgnn.errors import DataError

_LARGEST = float(np.finfo(np.float32).max)
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
# Among numbers, so small a share of texts is a slip; a larger one makes categories of them all.
_SLIPS = 0.05


def numbers_of(table: Table, name: str) -> pa.ChunkedArray:
    """A column as finite float64, null where a number is missing."""
    column = table.column(name)
    kind, types = column.type, pa.types
    if is_text(kind):
        raise _no_number(table, name, no_text_as_missing(column))
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if not (is_number or types.is_boolean(kind) or types.is_null(kind)):
        raise DataError(
            f"{table.of(name)}: a column of {kind} is neither numbers nor categories; turn it "
            f"into one of them, or leave it out with --features '!{name}'."
        )
    if types.is_boolean(kind):
        column = column.cast(pa.uint8())
    # Large whole numbers are rounded.
    column = column.cast(pa.float64(), safe=False)
    if types.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, pa.float64()), column)
    row = first_true(pc.greater(pc.abs(column), _LARGEST))
    if row is not None:
        raise DataError(
            f"{table.at(row, name)}: {column[row].as_py()} is too large; features must be finite "
            "numbers, to 3.4e38."
        )
    return column


def texts_of(table: Table, name: str) -> pa.ChunkedArray:
    """A column as texts that can be shown, null where one is missing."""
    column = table.column(name)
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
        raise DataError(f"{table.of(name)}: expected texts, got {column.type}.")
    column = no_text_as_missing(column)
    table.check_text(name, column)
    return column


def check_no_slip(table: Table, name: str, texts: pa.ChunkedArray) -> None:
    """Refuse numbers with a text among them, which would pass for categories."""
    numbers = pc.sum(pc.match_substring_regex(texts, _NUMBER)).as_py() or 0
    others = len(texts) - texts.null_count - numbers
    if 0 < others < numbers and others <= max(1, _SLIPS * (numbers + others)):
        raise _no_number(table, name, texts)


def first_no_number(texts: pa.ChunkedArray) -> int | None:
    """The first row with a text that is not written as a number."""
    return first_true(pc.invert(pc.match_substring_regex(texts, _NUMBER)))


def _no_number(table: Table, name: str, texts: pa.ChunkedArray) -> DataError:
    row = first_no_number(texts)
    if row is None:
        return DataError(f"{table.of(name)}: expected numbers, got numbers written as text.")
    return DataError(
        f"{table.at(row, name)}: {texts[row].as_py()!r} is no number, but the column holds "
        f"numbers; correct it, empty the cell, or leave the column out with --features '!{name}'."
    )
