"""What a column is, and so how it is prepared: learned from all nodes of a table.

The features of nodes without a label are known in training, so the statistics are of all nodes.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from akgnn.data.tables.recipe import (
    CYCLES,
    MOST_CATEGORIES,
    CategoryColumn,
    Column,
    DateColumn,
    NumberColumn,
)
from akgnn.data.tables.table import NUMBER, Table, is_text, pa, pc
from akgnn.data.tables.values import (
    as_numbers,
    as_seconds,
    as_texts,
    check_no_slip,
    is_date_text,
)
from akgnn.data.tables.words import learn_words, repeat_themselves, words_a_text

# So many of a kind of text are categories, however long; more are sentences if they look so.
_FEW = 50
_WORDS_OF_SENTENCE = 3.0
# A category of fewer nodes has no feature of its own, where there are many categories.
_RARE = 5
# Bins of a number, fewer where there are many columns of them, and how many are worth having.
_BINS, _ALL_BINS, _FEWEST_BINS = 16, 512, 4
# Where so many columns are numbers and nearly all of them count words, the others do so too.
_MANY_NUMBERS, _NEARLY_ALL = 20, 0.9
# An integer that each of at least so many nodes share may be a code: each value has its bin.
_NODES_A_VALUE = 10
# Numbers of which so many are 0 count something, and stay as they are up to this size.
_ZEROS, _LARGEST_COUNT = 0.5, 30
_MISSING_MATTERS = 0.01

_CONSTANT = "one value throughout"

Learned = tuple[Column | str, pa.ChunkedArray | None]
"""A column with its values as features are made of them, or why it is left out."""


def learn_columns(table: Table, names: Sequence[str]) -> dict[str, Learned]:
    """Find out what columns are and what to make of them."""
    numeric = sum(_is_numeric(table.column(name).type) for name in names)
    bins = min(_BINS, _ALL_BINS // max(numeric, 1))
    learned = {
        name: _learn_column(table, name, bins if bins >= _FEWEST_BINS else 0) for name in names
    }
    return _with_words(learned, table)


def _with_words(learned: dict[str, Learned], table: Table) -> dict[str, Learned]:
    """The same, with frequent words as they are beside rare ones, and those that nobody has."""
    numbers = {n: column for n, (column, _) in learned.items() if isinstance(column, NumberColumn)}
    left = [column for column in numbers.values() if column.is_left]
    if len(numbers) < _MANY_NUMBERS or len(left) < _NEARLY_ALL * len(numbers):
        return learned
    for name, (column, _) in learned.items():
        is_constant = column == _CONSTANT and _is_numeric(table.column(name).type)
        if is_constant or (name in numbers and not numbers[name].is_left):
            values = as_numbers(table, name)
            bounds = pc.min_max(values).as_py()
            if bounds["min"] >= 0 and bounds["max"] <= _LARGEST_COUNT:
                learned[name] = NumberColumn(name, float(pc.mean(values).as_py())), values
    return learned


def _is_numeric(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _learn_column(table: Table, name: str, bins: int) -> Learned:
    kind, types = table.column(name).type, pa.types
    if len(table) == table.column(name).null_count or types.is_null(kind):
        return "no values", None
    if is_text(kind):
        return _learn_text(table, name, bins)
    if types.is_temporal(kind) and not types.is_interval(kind):
        return _learn_date(name, as_seconds(table, name))
    if _is_numeric(kind) or types.is_boolean(kind):
        numbers = as_numbers(table, name)
        if types.is_integer(kind) and counts_rows(numbers):
            return "a number for every row", None
        return _learn_number(name, numbers, bins, is_integer=types.is_integer(kind))
    return f"a column of {kind}", None


def _learn_text(table: Table, name: str, bins: int) -> Learned:
    texts = as_texts(table, name, check=False)
    present = texts.drop_null()
    if not len(present):
        return "no values", None
    if is_date_text(present):
        return _learn_date(name, as_seconds(table, name))
    check_no_slip(table, name, texts)
    counts = pc.value_counts(present)
    distinct = len(counts)
    if distinct == 1 and not texts.null_count:
        return _CONSTANT, None
    if distinct > len(present) / 2 and _are_numbers(present):
        return _learn_number(name, as_numbers(table, name), bins, is_integer=False)
    if distinct > _FEW:
        words = words_a_text(present)
        is_sentence = words >= _WORDS_OF_SENTENCE
        is_mostly_new = distinct > len(present) / 2
        if is_sentence or (is_mostly_new and words > 1 and repeat_themselves(present)):
            column = learn_words(name, present)
            return ("no words that repeat", None) if column is None else (column, texts)
        if distinct > 0.9 * len(present):
            return "a value for every node", None
    texts = as_texts(table, name, check=True)
    return _learn_categories(name, counts), texts


def _learn_categories(name: str, counts: pa.StructArray) -> CategoryColumn:
    """The categories that several nodes have; the others share a feature."""
    number = counts.field("counts").to_numpy()
    texts = np.array(counts.field("values").to_pylist(), dtype=object)
    is_kept = number >= _RARE if len(texts) > _FEW else np.ones(len(texts), dtype=np.bool_)
    # The most frequent; of equals the first in the alphabet.
    order = np.lexsort((texts, -number))
    kept = order[is_kept[order]][:MOST_CATEGORIES]
    return CategoryColumn(name, tuple(sorted(texts[kept])), has_other=len(kept) < len(texts))


def _learn_number(name: str, values: pa.ChunkedArray, bins: int, *, is_integer: bool) -> Learned:
    numbers = np.asarray(values.drop_null().to_numpy(), dtype=np.float64)
    gaps = len(values) - len(numbers)
    if not len(numbers):
        return "no values", None
    low, high = float(numbers.min()), float(numbers.max())
    if low == high and not gaps:
        return _CONSTANT, None
    marks_missing = _MISSING_MATTERS * len(values) < gaps
    if low == high:
        # That it is there is all that it says.
        return NumberColumn(name, low, low, 1.0, marks_missing=True), values
    if _are_left(numbers, low, high):
        fill = float(np.median(numbers))
        return NumberColumn(name, fill, marks_missing=marks_missing), values
    middle, scale = _middle_and_scale(numbers)
    bounds = _bounds(numbers, bins, is_integer=is_integer)
    return NumberColumn(name, middle, middle, scale, True, bounds, marks_missing), values


def _are_left(numbers: NDArray[np.float64], low: float, high: float) -> bool:
    """Whether these are 0 and 1, or shares or counts of which most are 0."""
    if low < 0 or high > _LARGEST_COUNT:
        return False
    zeros = np.count_nonzero(numbers == 0)
    ones = np.count_nonzero(numbers == 1)
    return bool(zeros >= _ZEROS * len(numbers) or zeros + ones == len(numbers))


def _middle_and_scale(numbers: NDArray[np.float64]) -> tuple[float, float]:
    """The median, and what the standard deviation would be if the middle half were normal."""
    lower, middle, upper = np.quantile(numbers, [0.25, 0.5, 0.75])
    scale = (upper - lower) / 1.349
    if not scale > 1e-12 * abs(middle):
        # More than half are equal.
        scale = float(np.abs(numbers - middle).mean())
    return float(middle), float(scale) if np.isfinite(scale) and scale > 0 else 1.0


def _bounds(numbers: NDArray[np.float64], bins: int, *, is_integer: bool) -> tuple[float, ...]:
    """Bounds of bins: around every value of a code, else with as many nodes in each."""
    if is_integer and bins == _BINS:
        values = np.unique(numbers)
        if 2 < len(values) <= min(MOST_CATEGORIES, len(numbers) / _NODES_A_VALUE):
            return tuple(((values[1:] + values[:-1]) / 2).tolist())
    bins = min(bins, len(numbers) // _NODES_A_VALUE)
    if bins < 2:
        return ()
    inner = np.unique(np.quantile(numbers, np.arange(1, bins) / bins))
    return tuple(inner[inner > numbers.min()].tolist())


def _learn_date(name: str, values: pa.ChunkedArray) -> Learned:
    seconds = np.asarray(values.drop_null().to_numpy(), dtype=np.float64)
    gaps = len(values) - len(seconds)
    if not len(seconds):
        return "no values", None
    low, high = float(seconds.min()), float(seconds.max())
    if low == high and not gaps:
        return _CONSTANT, None
    has_time = bool((seconds % CYCLES["day"] != 0).any())
    cycles = [
        cycle
        for cycle, length in CYCLES.items()
        if high - low > length / 2 and (cycle != "day" or has_time)
    ]
    middle, scale = _middle_and_scale(seconds)
    marks_missing = _MISSING_MATTERS * len(values) < gaps
    return DateColumn(name, middle, middle, scale, tuple(cycles), marks_missing), values


def counts_rows(values: pa.ChunkedArray) -> bool:
    """Whether these are as many integers in a row as there are nodes, in any order."""
    if values.null_count or len(values) < _FEW:
        return False
    bounds = pc.min_max(values).as_py()
    in_a_row = bounds["max"] - bounds["min"] == len(values) - 1
    return bool(in_a_row and pc.count_distinct(values).as_py() == len(values))


def _are_numbers(texts: pa.ChunkedArray) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, NUMBER)).as_py())
