"""A split that a column of the node table says."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from akgnn.data.splits import Split
from akgnn.data.tables.arrow import pa, pc
from akgnn.data.tables.table import Table, first_true, is_text, no_text_as_missing
from akgnn.errors import DataError

_WORDS = {
    "train": ("train", "training"),
    "val": ("val", "valid", "validation", "dev"),
    "test": ("test", "testing"),
}


def split_from_column(table: Table, name: str, y: Tensor) -> Split:
    """The sets that the column names; empty cells are in none of them.

    Args:
        table: The node table.
        name: The column: train, val (valid, validation, dev) or test.
        y: Class of every node, -1 where unknown.
    """
    column = table.column(name)
    if not is_text(column.type):
        raise DataError(f"{table.of(name)}: expected train, val and test, got {column.type}.")
    column = pc.utf8_lower(no_text_as_missing(column))
    known = [word for words in _WORDS.values() for word in words]
    row = first_true(pc.and_(column.is_valid(), pc.invert(_is_one_of(column, known))))
    if row is not None:
        text = table.column(name)[row].as_py()
        raise DataError(
            f"{table.at(row, name)}: {text!r} is no set; write train, val, test or nothing."
        )
    sets = {}
    for part, words in _WORDS.items():
        nodes = np.flatnonzero(_is_one_of(column, words).to_numpy())
        without = nodes[y.numpy()[nodes] < 0]
        if len(without):
            raise DataError(
                f"{table.at(int(without[0]), name)}: the node is in the {part} set but has no "
                "label."
            )
        if not len(nodes) and part != "test":
            raise DataError(f"{table.of(name)}: no node is in the {part} set.")
        sets[part] = torch.from_numpy(nodes)
    return Split(f"column-{name}", sets["train"], sets["val"], sets["test"])


def _is_one_of(column: pa.ChunkedArray, words: Sequence[str]) -> pa.ChunkedArray:
    return pc.is_in(column, value_set=pa.array(words, pa.large_string()))
