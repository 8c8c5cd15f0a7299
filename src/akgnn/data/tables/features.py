"""From columns to features: learn a recipe from a table, and put columns into one matrix."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from akgnn.csr import CSR
from akgnn.data.tables.columns import did_you_mean, listed, without_column
from akgnn.data.tables.recipe import (
    MOST_CATEGORIES,
    CategoryColumn,
    FeatureRecipe,
    NumberColumn,
)
from akgnn.data.tables.settings import Missing
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
from akgnn.data.transforms import SPARSE_BELOW, csr_from_scipy
from akgnn.errors import DataError
from akgnn.graph import Graph

_LARGEST = float(np.finfo(np.float32).max)
# Among numbers, so small a share of texts is a slip; a larger one makes categories of them all.
_SLIPS = 0.05


def learn_recipe(
    table: Table, names: Sequence[str], *, standardise: bool, missing: Missing
) -> tuple[FeatureRecipe, pa.Table]:
    """What the columns hold, with the means, scales and categories of this table.

    Beside the recipe come the columns as `typed_columns` gives them.
    """
    columns: list[NumberColumn | CategoryColumn] = []
    typed = {}
    entries = 0
    for name in names:
        if is_text(table.column(name).type):
            values = _texts(table, name)
            columns.append(_learn_categories(table, name, values))
            entries += len(values) - values.null_count
        else:
            values = _numbers(table, name)
            column = _learn_numbers(table, name, values, standardise)
            columns.append(column)
            entries += pc.sum(pc.not_equal(pc.fill_null(values, column.fill), column.mean)).as_py()
        _check_missing(table, name, values, missing)
        typed[name] = values
    features = sum(len(column.feature_names) for column in columns)
    is_sparse = entries < SPARSE_BELOW * features * len(table)
    return FeatureRecipe(tuple(columns), missing, is_sparse), pa.table(typed)


def typed_columns(recipe: FeatureRecipe, table: Table) -> pa.Table:
    """The recipe's columns as float64 or text, whatever type they have in this table."""
    check_columns(recipe, table.name, table.content.schema.names)
    typed = {}
    for column in recipe.columns:
        is_number = isinstance(column, NumberColumn)
        values = (_numbers if is_number else _texts)(table, column.name)
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


def build_features(recipe: FeatureRecipe, typed: pa.Table, graph: Graph) -> Tensor | CSR:
    """One matrix of the columns that `typed_columns` gave, finished as the recipe says."""
    if not recipe.columns:
        degree = graph.degree.double().clamp(min=0)
        return recipe.finish(torch.stack([torch.ones_like(degree), degree.log1p()], dim=1).float())
    shape = typed.num_rows, len(recipe.feature_names)
    entries = _entries(recipe, typed)
    if recipe.is_sparse:
        row, col, value = (np.concatenate(part) for part in zip(*entries, strict=True))
        return recipe.finish(csr_from_scipy(sparse.coo_array((value, (row, col)), shape)))
    x = np.zeros(shape, dtype=np.float32)
    for row, col, value in entries:
        x[row, col] = value
    return recipe.finish(torch.from_numpy(x))


def _entries(
    recipe: FeatureRecipe, typed: pa.Table
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]]:
    """Rows, features and values of what is not 0, for one column after the other."""
    start = 0
    for column in recipe.columns:
        values = typed.column(column.name)
        if isinstance(column, NumberColumn):
            numbers = pc.fill_null(values, column.fill).to_numpy()
            scaled = ((numbers - column.mean) / column.scale).astype(np.float32)
            row = np.flatnonzero(scaled)
            yield row, np.full_like(row, start), scaled[row]
        else:
            names = pa.array(column.categories, pa.large_string())
            index = pc.fill_null(pc.index_in(values, value_set=names), -1)
            code = np.asarray(index.to_numpy(), dtype=np.int64)
            row = np.flatnonzero(code >= 0)
            yield row, code[row] + start, np.ones(len(row), dtype=np.float32)
        start += len(column.feature_names)


def _learn_numbers(
    table: Table, name: str, numbers: pa.ChunkedArray, standardise: bool
) -> NumberColumn:
    mean = pc.mean(numbers).as_py()
    if mean is None:
        raise _all_missing(table, name)
    if not standardise:
        return NumberColumn(name, fill=mean)
    # A constant column becomes 0 throughout; rounding could give it a standard deviation above 0.
    bounds = pc.min_max(numbers).as_py()
    is_constant = bounds["min"] == bounds["max"]
    return NumberColumn(name, mean, mean, 1.0 if is_constant else pc.stddev(numbers).as_py())


def _learn_categories(table: Table, name: str, texts: pa.ChunkedArray) -> CategoryColumn:
    distinct = pc.unique(texts.drop_null())
    if not len(distinct):
        raise _all_missing(table, name)
    _check_no_slip(table, name, texts)
    if len(distinct) > MOST_CATEGORIES:
        raise DataError(
            f"{table.of(name)}: {len(distinct):,} different texts are no categories (at most "
            f"{MOST_CATEGORIES:,}); leave it out with {without_column(name)}."
        )
    return CategoryColumn(name, tuple(sorted(distinct.to_pylist())))


def _numbers(table: Table, name: str) -> pa.ChunkedArray:
    """A column as finite float64, null where a number is missing."""
    column = table.column(name)
    kind, types = column.type, pa.types
    if is_text(kind):
        raise _not_a_number(table, name, empty_as_missing(column))
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if not (is_number or types.is_boolean(kind) or types.is_null(kind)):
        raise DataError(
            f"{table.of(name)}: a column of {kind} is neither numbers nor categories; turn it "
            f"into one of them, or leave it out with {without_column(name)}."
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


def _texts(table: Table, name: str) -> pa.ChunkedArray:
    """A column as texts that can be shown, null where one is missing."""
    column = table.column(name)
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
        raise DataError(f"{table.of(name)}: expected texts, got {column.type}.")
    column = empty_as_missing(column)
    table.check_text(name, column)
    return column


def _check_missing(table: Table, name: str, values: pa.ChunkedArray, missing: Missing) -> None:
    row = first_true(values.is_null()) if missing == "refuse" else None
    if row is not None:
        raise DataError(
            f"{table.at(row, name)}: the value is missing; fill it in, or let `missing='fill'` "
            "do it."
        )


def _check_no_slip(table: Table, name: str, texts: pa.ChunkedArray) -> None:
    """Refuse numbers with a text among them, which would pass for categories."""
    numbers = pc.sum(pc.match_substring_regex(texts, NUMBER)).as_py() or 0
    others = len(texts) - texts.null_count - numbers
    if 0 < others < numbers and others <= max(1, _SLIPS * (numbers + others)):
        raise _not_a_number(table, name, texts)


def _not_a_number(table: Table, name: str, texts: pa.ChunkedArray) -> DataError:
    row = first_not_numeric(texts)
    if row is None:
        return DataError(f"{table.of(name)}: expected numbers, got numbers written as text.")
    return DataError(
        f"{table.at(row, name)}: {texts[row].as_py()!r} is no number, but the column holds "
        f"numbers; correct it, empty the cell, or leave the column out with {without_column(name)}."
    )


def _all_missing(table: Table, name: str) -> DataError:
    return DataError(
        f"{table.of(name)}: every value is missing; leave it out with {without_column(name)}."
    )
