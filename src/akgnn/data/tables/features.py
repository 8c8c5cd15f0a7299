"""From columns to features: learn a recipe from a table, and put columns into one matrix."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from akgnn.csr import CSR
from akgnn.data.tables.columns import listed
from akgnn.data.tables.preparation import Learned, learn_columns
from akgnn.data.tables.recipe import (
    CYCLES,
    MOST_CATEGORIES,
    CategoryColumn,
    Column,
    DateColumn,
    FeatureRecipe,
    NumberColumn,
    TextColumn,
)
from akgnn.data.tables.settings import Missing, Prepare
from akgnn.data.tables.table import Table, first_true, is_text, pa, pc
from akgnn.data.tables.values import as_numbers, as_seconds, as_texts, check_no_slip, not_a_number
from akgnn.data.tables.words import word_entries, words_a_text
from akgnn.data.transforms import SPARSE_BELOW, csr_from_scipy
from akgnn.errors import DataError, did_you_mean
from akgnn.graph import Graph
from akgnn.similar_names import warn_of_look_alikes

# From here on a scaled number grows like its logarithm.
_SQUASHED_FROM = 3.0

_Entries = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]


def learn_recipe(
    table: Table,
    names: Sequence[str],
    *,
    prepare: Prepare,
    standardise: bool,
    missing: Missing,
) -> tuple[FeatureRecipe, pa.Table]:
    """What the columns hold, with the means, scales and categories of this table.

    Beside the recipe come the columns as `typed_columns` gives them.
    """
    columns: list[Column] = []
    typed, left_out = {}, {}
    if prepare == "auto":
        learned = learn_columns(table, names)
    else:
        learned = {name: _learn_plain(table, name) for name in names}
    for name, (column, values) in learned.items():
        if isinstance(column, str):
            left_out[name] = column
            continue
        if standardise and isinstance(column, NumberColumn):
            column = _standardised(name, values)
        _check_missing(table, name, values, missing)
        if isinstance(column, CategoryColumn):
            warn_of_look_alikes(f"{table.of(name)}: categories", column.categories)
        columns.append(column)
        typed[name] = values
    entries = sum(_number_of_entries(column, typed[column.name]) for column in columns)
    features = sum(len(column.feature_names) for column in columns)
    is_sparse = entries < SPARSE_BELOW * features * len(table)
    return FeatureRecipe(tuple(columns), missing, is_sparse, left_out=left_out), pa.table(typed)


def typed_columns(recipe: FeatureRecipe, table: Table) -> pa.Table:
    """The recipe's columns as numbers, seconds or text, whatever type they have in this table."""
    check_columns(recipe, table.name, table.content.schema.names)
    typed = {}
    for column in recipe.columns:
        values = _typed(column, table)
        _check_missing(table, column.name, values, recipe.missing)
        typed[column.name] = values
    return pa.table(typed)


def check_columns(recipe: FeatureRecipe, name: str, present: Sequence[str]) -> None:
    """Refuse a table that lacks columns of the recipe."""
    known = set(present)
    absent = [column for column in recipe.column_names if column not in known]
    if not absent:
        return
    raise DataError(
        f"{name} lacks columns that the model learned from: {listed(list(map(repr, absent)), 5)}."
        + did_you_mean(absent[0], present)
    )


def build_features(recipe: FeatureRecipe, typed: pa.Table, graph: Graph | None) -> Tensor | CSR:
    """One matrix of the columns that `typed_columns` gave, finished as the recipe says.

    The graph is needed where the recipe has no columns, and its degrees stand in.
    """
    if not recipe.columns:
        assert graph is not None, "there are columns, or a graph"
        degree = graph.degree.double().clamp(min=0)
        return recipe.finish(torch.stack([torch.ones_like(degree), degree.log1p()], dim=1).float())
    shape = typed.num_rows, len(recipe.feature_names)
    if recipe.is_sparse:
        row, col, value = (np.concatenate(part) for part in zip(*_all(recipe, typed), strict=True))
        return recipe.finish(csr_from_scipy(sparse.coo_array((value, (row, col)), shape)))
    x = np.zeros(shape, dtype=np.float32)
    for row, col, value in _all(recipe, typed):
        x[row, col] = value
    return recipe.finish(torch.from_numpy(x))


def _all(recipe: FeatureRecipe, typed: pa.Table) -> Iterator[_Entries]:
    """Rows, features and values of what is not 0, for one column after the other."""
    start = 0
    for column in recipe.columns:
        for row, col, value in _entries(column, typed.column(column.name)):
            yield row, col + start, value
        start += len(column.feature_names)


def _entries(column: Column, values: pa.ChunkedArray) -> Iterator[_Entries]:
    if isinstance(column, NumberColumn):
        yield from _number_entries(column, values)
    elif isinstance(column, DateColumn):
        yield from _date_entries(column, values)
    elif isinstance(column, CategoryColumn):
        yield from _category_entries(column, values)
    else:
        yield word_entries(column, values)


def _number_entries(column: NumberColumn, values: pa.ChunkedArray) -> Iterator[_Entries]:
    numbers = np.asarray(pc.fill_null(values, column.fill).to_numpy())
    yield _nonzero(0, scaled(column, numbers))
    if column.bounds:
        bins = np.searchsorted(np.array(column.bounds), numbers, side="right")
        row = np.flatnonzero(_is_present(values))
        yield row, 1 + bins[row], np.ones(len(row), dtype=np.float32)
    if column.marks_missing:
        yield _gap_entries(column, values)


def _date_entries(column: DateColumn, values: pa.ChunkedArray) -> Iterator[_Entries]:
    seconds = np.asarray(pc.fill_null(values, column.fill).to_numpy())
    is_present = _is_present(values)
    yield _nonzero(0, ((seconds - column.mean) / column.scale).astype(np.float32))
    for number, cycle in enumerate(column.cycles):
        turn = 2 * np.pi * (seconds % CYCLES[cycle]) / CYCLES[cycle]
        for wave, values_of in enumerate((np.sin, np.cos)):
            yield _nonzero(1 + 2 * number + wave, (values_of(turn) * is_present).astype(np.float32))
    if column.marks_missing:
        yield _gap_entries(column, values)


def _category_entries(column: CategoryColumn, values: pa.ChunkedArray) -> Iterator[_Entries]:
    names = pa.array(column.categories, pa.large_string())
    index = pc.fill_null(pc.index_in(values, value_set=names), -1)
    code = np.asarray(index.to_numpy(), dtype=np.int64)
    if column.has_other:
        code = np.where((code < 0) & _is_present(values), len(names), code)
    row = np.flatnonzero(code >= 0)
    yield row, code[row], np.ones(len(row), dtype=np.float32)


def _gap_entries(column: NumberColumn | DateColumn, values: pa.ChunkedArray) -> _Entries:
    row = np.flatnonzero(~_is_present(values))
    last = len(column.feature_names) - 1
    return row, np.full_like(row, last), np.ones(len(row), dtype=np.float32)


def _nonzero(feature: int, values: NDArray[np.float32]) -> _Entries:
    row = np.flatnonzero(values)
    return row, np.full_like(row, feature), values[row]


def _is_present(values: pa.ChunkedArray) -> NDArray[np.bool_]:
    return np.asarray(values.is_valid().to_numpy())


def scaled(column: NumberColumn, numbers: NDArray[np.float64]) -> NDArray[np.float32]:
    """(value - mean) / scale, with outliers brought near if the column says so."""
    z = (numbers - column.mean) / column.scale
    if column.is_squashed:
        beyond = np.abs(z) - _SQUASHED_FROM
        far = beyond > 0
        z[far] = np.sign(z[far]) * (_SQUASHED_FROM + np.log1p(beyond[far]))
    return z.astype(np.float32)


def _number_of_entries(column: Column, values: pa.ChunkedArray) -> int:
    """About how many features of a column are not 0; of numbers left as they are exactly."""
    if isinstance(column, TextColumn):
        return int(words_a_text(values) * len(values))
    if isinstance(column, CategoryColumn):
        return int(len(values) - values.null_count)
    if isinstance(column, DateColumn):
        return len(values) * (1 + 2 * len(column.cycles))
    if column.is_squashed:
        return len(values) * (1 + bool(column.bounds))
    return int(pc.sum(pc.not_equal(pc.fill_null(values, column.fill), column.mean)).as_py())


def _typed(column: Column, table: Table) -> pa.ChunkedArray:
    if isinstance(column, NumberColumn):
        if is_text(table.column(column.name).type) and not column.is_squashed:
            raise not_a_number(table, column.name, as_texts(table, column.name))
        return as_numbers(table, column.name)
    if isinstance(column, DateColumn):
        return as_seconds(table, column.name)
    return as_texts(table, column.name, check=isinstance(column, CategoryColumn))


def _learn_plain(table: Table, name: str) -> Learned:
    """A column as it is: one feature of a number, one of each category."""
    if not is_text(table.column(name).type):
        numbers = as_numbers(table, name)
        mean = pc.mean(numbers).as_py()
        if mean is None:
            raise _all_missing(table, name)
        return NumberColumn(name, fill=mean), numbers
    texts = as_texts(table, name)
    return _learn_categories(table, name, texts), texts


def _standardised(name: str, numbers: pa.ChunkedArray) -> NumberColumn:
    mean = pc.mean(numbers).as_py()
    # A constant column becomes 0 throughout; rounding could give it a standard deviation above 0.
    bounds = pc.min_max(numbers).as_py()
    is_constant = bounds["min"] == bounds["max"]
    return NumberColumn(name, mean, mean, 1.0 if is_constant else pc.stddev(numbers).as_py())


def _learn_categories(table: Table, name: str, texts: pa.ChunkedArray) -> CategoryColumn:
    distinct = pc.unique(texts.drop_null())
    if not len(distinct):
        raise _all_missing(table, name)
    check_no_slip(table, name, texts)
    if len(distinct) > MOST_CATEGORIES:
        raise DataError(
            f"{table.of(name)}: {len(distinct):,} different texts are no categories (at most "
            f"{MOST_CATEGORIES:,}); leave it out with {table.without(name)}, or let "
            "`prepare='auto'` find out what they are."
        )
    return CategoryColumn(name, tuple(sorted(distinct.to_pylist())))


def _check_missing(table: Table, name: str, values: pa.ChunkedArray, missing: Missing) -> None:
    row = first_true(values.is_null()) if missing == "refuse" else None
    if row is not None:
        raise DataError(
            f"{table.at(row, name)}: the value is missing; fill it in, or let `missing='fill'` "
            "do it."
        )


def _all_missing(table: Table, name: str) -> DataError:
    return DataError(
        f"{table.of(name)}: every value is missing; leave it out with {table.without(name)}."
    )
