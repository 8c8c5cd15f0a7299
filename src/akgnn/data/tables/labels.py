"""Labels of one's own as classes 0, 1, …, in the order of their names."""

import math

import numpy as np
import torch
from torch import Tensor

from akgnn.data.tables.arrow import pa, pc
from akgnn.data.tables.table import Table, first_true, is_text, no_text_as_missing
from akgnn.errors import DataError

# More different numbers than this, in more than half of the labelled rows, measure something.
_MANY_NUMBERS = 100


def encode_labels(table: Table, name: str) -> tuple[Tensor, tuple[str, ...]]:
    """The class of every row, -1 where its label is missing, and the names of the classes.

    Labels that are all whole numbers are sorted as numbers, others as text.
    """
    column = _as_text(table, name)
    present = column.drop_null()
    if not len(present):
        raise DataError(f"{table.of(name)}: every label is missing, so there is nothing to learn.")
    table.check_text(name, column)
    distinct = pc.unique(present).to_pylist()
    for text in distinct:
        # The name of a class is shown everywhere and kept in records; stricter than other texts.
        if not text.isprintable():
            raise DataError(
                f"{table.at(first_true(pc.equal(column, text)) or 0, name)}: {text!r} holds a "
                "character that cannot be printed; take it out."
            )
    _check_classes(table.of(name), distinct, len(present))
    are_numbers = all(_number(text) is not None for text in distinct)
    names = sorted(distinct, key=lambda text: (_number(text) if are_numbers else 0, text))
    found = pc.index_in(column, value_set=pa.array(names, pa.large_string()))
    # A missing label is found nowhere.
    y = np.asarray(pc.fill_null(found, -1).to_numpy(), dtype=np.int64)
    return torch.from_numpy(y), tuple(names)


def _as_text(table: Table, name: str) -> pa.ChunkedArray:
    column = table.column(name)
    kind = column.type
    if is_text(kind):
        return no_text_as_missing(column)
    if pa.types.is_null(kind) or pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return column.cast(pa.large_string())
    if not pa.types.is_floating(kind):
        raise DataError(f"{table.of(name)}: labels must be text or whole numbers, got {kind}.")
    # Gaps among whole numbers make pandas hold them as floats, with NaN for the gaps.
    column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
    try:
        return column.cast(pa.int64()).cast(pa.large_string())
    except pa.ArrowInvalid:
        return column.cast(pa.large_string())


def _check_classes(where: str, distinct: list[str], rows: int) -> None:
    numbers = [number for text in distinct if (number := _number(text)) is not None]
    if len(numbers) == len(distinct):
        broken = [number for number in numbers if not number.is_integer()]
        if broken or (len(distinct) > _MANY_NUMBERS and len(distinct) > rows / 2):
            shown = ", ".join(f"{number:g}" for number in (broken or numbers)[:3])
            raise DataError(
                f"{where}: labels such as {shown} measure something, but classes are asked for; "
                "name another column with --label, or sort the values into groups with names."
            )
    if len(distinct) == 1:
        raise DataError(
            f"{where}: every label is {distinct[0]!r}; at least two classes are needed."
        )


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
