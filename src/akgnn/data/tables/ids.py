"""Ids of one's own: checked, and found again without a loop over them."""

import numpy as np
from numpy.typing import NDArray

from akgnn.data.tables.arrow import pa, pc
from akgnn.data.tables.table import Table, first_true, in_one_line, is_text
from akgnn.errors import DataError

_SHOWN = 5


def checked_ids(table: Table, name: str) -> pa.ChunkedArray:
    """A column of ids as int64 or text, none missing."""
    column = table.column(name)
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        ids = _whole(table, name, column)
    elif is_text(kind):
        ids = column.cast(pa.large_string())
    elif pa.types.is_null(kind):
        ids = column
    else:
        raise DataError(f"{table.of(name)}: ids must be text or whole numbers, got {kind}.")
    missing = ids.is_null()
    if is_text(kind):
        missing = pc.or_(missing, pc.equal(pc.fill_null(ids, ""), ""))
    row = first_true(missing)
    if row is not None:
        raise DataError(f"{table.at(row, name)}: an id is missing.")
    return ids


def output_ids(table: Table, name: str) -> pa.ChunkedArray:
    """A column of ids as the user will see them again: in its own type, whole numbers whole."""
    column = table.column(name)
    return column.cast(pa.int64()) if pa.types.is_floating(column.type) else column


def checked_node_ids(table: Table, name: str) -> pa.ChunkedArray:
    """A column of ids, one for each node, that can be printed."""
    ids = checked_ids(table, name)
    if is_text(ids.type):
        table.check_text(name, ids)
    _check_unique(table, name, ids)
    return ids


def _check_unique(table: Table, name: str, ids: pa.ChunkedArray) -> None:
    if pc.count_distinct(ids).as_py() == len(ids):
        return
    counts = pc.value_counts(ids)
    repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    places = []
    for value in repeated[:_SHOWN]:
        first, second, *_ = np.flatnonzero(pc.equal(ids, value).to_numpy())
        where = f"{table.place_of(int(first))} and {table.place_of(int(second))}"
        places.append(f"{value.as_py()!r} ({where})")
    more = f" and {len(repeated) - _SHOWN} more" if len(repeated) > _SHOWN else ""
    raise DataError(
        f"{table.of(name)}: each node needs an id of its own, but some stand there more than "
        f"once: {', '.join(places)}{more}."
    )


def positions(wanted: pa.ChunkedArray, ids: pa.ChunkedArray) -> NDArray[np.int64]:
    """Where each wanted id stands among the ids, -1 if it does not.

    Numbers are compared with numbers by value, and with text as they are written.
    """
    if wanted.type != ids.type:
        wanted, ids = wanted.cast(pa.large_string()), ids.cast(pa.large_string())
    found = pc.fill_null(pc.index_in(wanted, value_set=ids), -1)
    return np.asarray(found.to_numpy(), dtype=np.int64)


def in_one(first: pa.ChunkedArray, second: pa.ChunkedArray) -> pa.ChunkedArray:
    """Two lists of ids, one after the other."""
    if first.type != second.type:
        first, second = first.cast(pa.large_string()), second.cast(pa.large_string())
    return pa.chunked_array([*first.chunks, *second.chunks], first.type)


def shown(ids: pa.ChunkedArray) -> str:
    """The first few of several ids, for a message."""
    more = ", …" if len(ids) > _SHOWN else ""
    return ", ".join(repr(value.as_py())[:60] for value in ids[:_SHOWN]) + more


def _whole(table: Table, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whole numbers; gaps among them make pandas hold them as floats."""
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid as error:
        if pa.types.is_integer(column.type):
            # Too large for 63 bits.
            return column.cast(pa.large_string())
        raise DataError(
            f"{table.of(name)}: ids must be text or whole numbers ({in_one_line(error)})."
        ) from error
