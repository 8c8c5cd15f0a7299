"""A column as numbers, texts or seconds, whatever type it has in its table."""

import numpy as np

from akgnn.data.tables.table import (
    NUMBER,
    Table,
    empty_as_missing,
    first_not_numeric,
    first_true,
    is_text,
    pa,
    pc,
)
from akgnn.errors import DataError

# Among numbers, so small a share of texts is a slip; a larger one makes categories of them all.
_SLIPS = 0.05
_LARGEST = float(np.finfo(np.float32).max)
_DATE = r"^\s*\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?\s*$"
_TIME_ZONE = r"(Z|[+-]\d{2}:?\d{2})\s*$"


def as_numbers(table: Table, name: str) -> pa.ChunkedArray:
    """A column as finite float64, null where a number is missing."""
    column = table.column(name)
    kind, types = column.type, pa.types
    if is_text(kind):
        texts = empty_as_missing(column)
        if first_not_numeric(texts) is not None:
            raise not_a_number(table, name, texts)
        column = pc.utf8_trim_whitespace(texts)
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if not (is_number or types.is_boolean(kind) or types.is_null(kind) or is_text(kind)):
        raise DataError(
            f"{table.of(name)}: a column of {kind} is neither numbers nor categories; turn it "
            f"into one of them, or leave it out with {table.without(name)}."
        )
    if types.is_boolean(kind):
        column = column.cast(pa.uint8())
    # Large integers are rounded.
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


def as_texts(table: Table, name: str, *, check: bool = True) -> pa.ChunkedArray:
    """A column as texts, null where one is missing; checked that they can be shown."""
    column = table.column(name)
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
        raise DataError(f"{table.of(name)}: expected texts, got {column.type}.")
    column = empty_as_missing(column)
    if check:
        table.check_text(name, column)
    return column


def as_seconds(table: Table, name: str) -> pa.ChunkedArray:
    """A column of dates or times as float64 seconds since 1970, or since midnight."""
    column = table.column(name)
    kind, types = column.type, pa.types
    if is_text(kind):
        texts = empty_as_missing(column)
        row = first_true(pc.invert(pc.match_substring_regex(texts, _DATE)))
        if row is not None:
            raise DataError(
                f"{table.at(row, name)}: {texts[row].as_py()!r} is no date, but the column holds "
                "dates, such as 2024-05-31 or 2024-05-31 17:30:00."
            )
        column = _parsed_dates(table, name, texts)
        kind = column.type
    if types.is_null(kind):
        return column.cast(pa.float64())
    if not types.is_temporal(kind):
        raise DataError(f"{table.of(name)}: expected dates, got {kind}.")
    if types.is_date(kind):
        column = column.cast(pa.timestamp("s"), safe=False)
    elif types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us"), safe=False)
    kind = column.type
    unit = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[kind.unit]
    width = pa.int32() if types.is_time32(kind) else pa.int64()
    return pc.multiply(column.cast(width).cast(pa.float64(), safe=False), unit)


def is_date_text(texts: pa.ChunkedArray) -> bool:
    """Whether all texts are dates of the form 2024-05-31, with or without a time."""
    if not bool(pc.all(pc.match_substring_regex(texts[:1000], _DATE)).as_py()):
        return False
    return bool(pc.all(pc.match_substring_regex(texts, _DATE)).as_py())


def _parsed_dates(table: Table, name: str, texts: pa.ChunkedArray) -> pa.ChunkedArray:
    texts = pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), r"(\.\d{6})\d+", r"\1")
    has_zone = bool(pc.any(pc.match_substring_regex(texts, _TIME_ZONE)).as_py())
    if has_zone:
        # pyarrow wants a clock and a zone everywhere or nowhere.
        midnight, zone = (pa.scalar(text, pa.large_string()) for text in ("T00:00:00", "Z"))
        nothing = pa.scalar("", pa.large_string())
        for pattern, ending in ((":", midnight), (_TIME_ZONE, zone)):
            longer = pc.binary_join_element_wise(texts, ending, nothing)
            texts = pc.if_else(pc.match_substring_regex(texts, pattern), texts, longer)
    kind = pa.timestamp("us", tz="UTC") if has_zone else pa.timestamp("us")
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid as error:
        raise DataError(f"{table.of(name)}: a date does not exist ({error}).") from error


def check_no_slip(table: Table, name: str, texts: pa.ChunkedArray) -> None:
    """Refuse numbers with a text among them, which would pass for categories."""
    numbers = pc.sum(pc.match_substring_regex(texts, NUMBER)).as_py() or 0
    others = len(texts) - texts.null_count - numbers
    if 0 < others < numbers and others <= max(1, _SLIPS * (numbers + others)):
        raise not_a_number(table, name, texts)


def not_a_number(table: Table, name: str, texts: pa.ChunkedArray) -> DataError:
    """The error about a text in a column of numbers."""
    row = first_not_numeric(texts)
    if row is None:
        return DataError(f"{table.of(name)}: expected numbers, got numbers written as text.")
    return DataError(
        f"{table.at(row, name)}: {texts[row].as_py()!r} is no number, but the column holds "
        f"numbers; correct it, empty the cell, or leave the column out with {table.without(name)}."
    )
