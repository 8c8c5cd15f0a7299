"""What a node table says of its nodes beside features: ids, labels, and which of them train."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from akgnn.data.catalogue import draw_split, is_drawn_split
from akgnn.data.class_count import check_class_count, is_nearly_unique
from akgnn.data.splits import Split
from akgnn.data.tables.table import (
    Table,
    empty_as_missing,
    first_true,
    in_one_line,
    is_text,
    pa,
    pc,
)
from akgnn.errors import DataError
from akgnn.similar_names import warn_of_look_alikes

DEFAULT_SPLIT = "60/20/20"
# Ids that a message lists.
_MOST_LISTED = 5
# The sets, by what people call them.
_SETS = {"train": "train", "training": "train", "test": "test", "testing": "test"}
_SETS |= dict.fromkeys(("val", "valid", "validation", "dev"), "val")


def checked_ids(table: Table, name: str) -> pa.ChunkedArray:
    """A column of ids as int64 or text, none missing."""
    column = table.column(name)
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        ids = _integers(table, name, column)
    elif is_text(kind):
        ids = empty_as_missing(column)
    elif pa.types.is_null(kind):
        ids = column
    else:
        raise DataError(f"{table.of(name)}: ids must be text or integers, got {kind}.")
    row = first_true(ids.is_null())
    if row is not None:
        raise DataError(f"{table.at(row, name)}: an id is missing.")
    return ids


def output_ids(table: Table, name: str) -> pa.ChunkedArray:
    """A column of ids as the user will see them again: in its own type, integers not as floats."""
    column = table.column(name)
    return column.cast(pa.int64()) if pa.types.is_floating(column.type) else column


def checked_node_ids(table: Table, name: str) -> pa.ChunkedArray:
    """A column of ids, one for each node, that can be printed."""
    ids = checked_ids(table, name)
    if is_text(ids.type):
        table.check_text(name, ids)
    _check_unique(table, name, ids)
    return ids


def positions(wanted: pa.ChunkedArray, ids: pa.ChunkedArray) -> NDArray[np.int64]:
    """The position of each wanted id among the ids, -1 if it is not there.

    Numbers are compared with numbers by value, and with text as they are written.
    """
    if wanted.type != ids.type:
        wanted, ids = wanted.cast(pa.large_string()), ids.cast(pa.large_string())
    index = pc.fill_null(pc.index_in(wanted, value_set=ids), -1)
    return np.asarray(index.to_numpy(), dtype=np.int64)


class IdFinder:
    """Finds the positions of ids as `positions` does, again and again among the same ids."""

    def __init__(self, ids: pa.ChunkedArray) -> None:
        self._ids = ids
        self._numbers = _as_numbers(ids)
        if self._numbers is not None:
            self._order = np.argsort(self._numbers, kind="stable")
            self._sorted = self._numbers[self._order]

    def positions(self, wanted: pa.ChunkedArray) -> NDArray[np.int64]:
        """The position of each wanted id, -1 if it is not there."""
        numbers = None if self._numbers is None else _as_numbers(wanted)
        if numbers is None:
            return positions(wanted, self._ids)
        place = np.searchsorted(self._sorted, numbers).clip(max=len(self._sorted) - 1)
        return np.where(self._sorted[place] == numbers, self._order[place], -1)


def _as_numbers(ids: pa.ChunkedArray) -> NDArray[np.int64] | None:
    """Ids that are integers, or texts that are written as integers are; None of others.

    Two of them are equal as numbers exactly if they are as texts: 7 is written so, and not 07.
    """
    if not pa.types.is_int64(ids.type):
        try:
            numbers = ids.cast(pa.int64())
        except pa.ArrowInvalid:
            return None
        if not pc.all(pc.equal(numbers.cast(ids.type), ids)).as_py():
            return None
        ids = numbers
    return np.asarray(ids.to_numpy(), dtype=np.int64)


def joined_ids(first: pa.ChunkedArray, second: pa.ChunkedArray) -> pa.ChunkedArray:
    """Two lists of ids, one after the other."""
    if first.type != second.type:
        first, second = first.cast(pa.large_string()), second.cast(pa.large_string())
    return pa.chunked_array([*first.chunks, *second.chunks], first.type)


def listed_ids(ids: pa.ChunkedArray) -> str:
    """The first few of several ids, for a message."""
    more = ", …" if len(ids) > _MOST_LISTED else ""
    return ", ".join(repr(value.as_py())[:60] for value in ids[:_MOST_LISTED]) + more


def _check_unique(table: Table, name: str, ids: pa.ChunkedArray) -> None:
    if pc.count_distinct(ids).as_py() == len(ids):
        return
    counts = pc.value_counts(ids)
    repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    examples = []
    for value in repeated[:_MOST_LISTED]:
        first, second, *_ = np.flatnonzero(pc.equal(ids, value).to_numpy())
        where = f"{table.locate(int(first))} and {table.locate(int(second))}"
        examples.append(f"{value.as_py()!r} ({where})")
    more = f" and {len(repeated) - _MOST_LISTED} more" if len(repeated) > _MOST_LISTED else ""
    raise DataError(
        f"{table.of(name)}: each node needs an id of its own, but some stand there more than "
        f"once: {', '.join(examples)}{more}."
    )


def _integers(table: Table, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Integers; gaps among them make pandas hold them as floats."""
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid as error:
        if pa.types.is_integer(column.type):
            # Too large for 63 bits.
            return column.cast(pa.large_string())
        raise DataError(
            f"{table.of(name)}: ids must be text or integers ({in_one_line(error)})."
        ) from error


def encode_labels(table: Table, name: str) -> tuple[Tensor, tuple[str, ...]]:
    """The class of every row, -1 where its label is missing, and the names of the classes.

    Labels that are all numbers are sorted as numbers, others as text.
    """
    column = _as_text(table, name)
    present = column.drop_null()
    if not len(present):
        raise DataError(f"{table.of(name)}: every label is missing, so there is nothing to learn.")
    table.check_text(name, column)
    distinct = pc.unique(present).to_pylist()
    _check_classes(table.of(name), distinct, len(present))
    advice = "Name another column with `label`, or sort the values into groups with names."
    check_class_count(table.of(name), distinct, len(column), advice)
    are_numbers = all(_number(text) is not None for text in distinct)
    names = sorted(distinct, key=lambda text: (_number(text) if are_numbers else 0, text))
    warn_of_look_alikes(f"{table.of(name)}: labels", names)
    index = pc.index_in(column, value_set=pa.array(names, pa.large_string()))
    # A missing label has no index.
    y = np.asarray(pc.fill_null(index, -1).to_numpy(), dtype=np.int64)
    return torch.from_numpy(y), tuple(names)


def split_nodes(
    table: Table, label: str, y: Tensor, class_names: Sequence[str], text: str, seed: int
) -> Split:
    """The split that a text such as 60/20/20 describes, or that the column of this name says."""
    if not is_drawn_split(text):
        return _split_from_column(table, text, y)
    try:
        return draw_split(y, text, seed)
    except DataError as error:
        counts = y[y >= 0].bincount(minlength=len(class_names))
        smallest = int(counts.argmin())
        raise DataError(
            f"{table.of(label)}: the split {text} cannot be drawn. {error} The smallest class is "
            f"{class_names[smallest]!r} with {int(counts[smallest])} nodes."
        ) from error


def _split_from_column(table: Table, name: str, y: Tensor) -> Split:
    """The sets that a column names; empty cells are in none of them."""
    column = table.column(name)
    if not is_text(column.type):
        raise DataError(f"{table.of(name)}: expected train, val and test, got {column.type}.")
    column = pc.utf8_lower(empty_as_missing(column))
    word = pc.index_in(column, value_set=pa.array(_SETS, pa.large_string()))
    row = first_true(pc.and_(column.is_valid(), word.is_null()))
    if row is not None:
        text = table.column(name)[row].as_py()
        raise DataError(
            f"{table.at(row, name)}: {text!r} is no set; write train, val, test or nothing."
        )
    part_of = np.array([*_SETS.values(), ""])[pc.fill_null(word, -1).to_numpy()]
    sets = {}
    for part in ("train", "val", "test"):
        nodes = np.flatnonzero(part_of == part)
        unlabelled = nodes[y.numpy()[nodes] < 0]
        if len(unlabelled):
            where = table.at(int(unlabelled[0]), name)
            raise DataError(f"{where}: the node is in the {part} set but has no label.")
        if not len(nodes) and part != "test":
            raise DataError(f"{table.of(name)}: no node is in the {part} set.")
        sets[part] = torch.from_numpy(nodes)
    return Split(f"column-{name}", sets["train"], sets["val"], sets["test"])


def _as_text(table: Table, name: str) -> pa.ChunkedArray:
    column = table.column(name)
    kind = column.type
    if is_text(kind):
        return empty_as_missing(column)
    if pa.types.is_null(kind) or pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return column.cast(pa.large_string())
    if not pa.types.is_floating(kind):
        raise DataError(f"{table.of(name)}: labels must be text or integers, got {kind}.")
    # Gaps among integers make pandas hold them as floats, with NaN for the gaps.
    column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
    try:
        return column.cast(pa.int64()).cast(pa.large_string())
    except pa.ArrowInvalid:
        return column.cast(pa.large_string())


def _check_classes(where: str, distinct: list[str], rows: int) -> None:
    numbers = [number for text in distinct if (number := _number(text)) is not None]
    if len(numbers) == len(distinct):
        fractions = [number for number in numbers if not number.is_integer()]
        if fractions or is_nearly_unique(len(distinct), rows):
            examples = ", ".join(f"{number:g}" for number in (fractions or numbers)[:3])
            raise DataError(
                f"{where}: labels such as {examples} measure something or are ids, but classes are "
                "asked for; name another column with `label`, or sort the values into groups with "
                "names."
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
