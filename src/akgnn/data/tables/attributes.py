"""A node table from the attributes that other libraries keep with their nodes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from akgnn.data.tables.arrow import pa
from akgnn.data.tables.table import TableSource, in_memory, in_one_line
from akgnn.errors import DataError


def columns_of(attributes: Iterable[Mapping[Any, Any]]) -> dict[str, list[Any]]:
    """The values of every attribute, None where a node lacks it."""
    columns: dict[str, list[Any]] = {}
    number = 0
    for number, mapping in enumerate(attributes, start=1):
        for key, value in mapping.items():
            column = columns.setdefault(str(key), [])
            column.extend([None] * (number - 1 - len(column)))
            column.append(value)
    for column in columns.values():
        column.extend([None] * (number - len(column)))
    return columns


def node_source(
    name: str, ids: Sequence[Any], columns: Mapping[str, Sequence[Any]]
) -> tuple[TableSource, str]:
    """The attributes as a table, and the name of its column of ids.

    Ids that are neither all text nor all whole numbers, tuples for example, are written as text.
    """
    id_name = "id"
    while id_name in columns:
        id_name += "_"
    is_plain = all(type(i) is int for i in ids) or all(type(i) is str for i in ids)
    arrays = [pa.array(ids if is_plain else [str(i) for i in ids])]
    for column, values in columns.items():
        try:
            arrays.append(pa.array(values, from_pandas=True))
        except (pa.ArrowException, OverflowError) as error:
            raise DataError(
                f"{name}, attribute {column!r}: values of one kind are needed, all text or all "
                f"numbers of 64 bits ({in_one_line(error)})."
            ) from error
    return in_memory(name, pa.table(arrays, names=[id_name, *columns])), id_name
