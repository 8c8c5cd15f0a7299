"""From columns to features: learn a recipe from a table, and put columns into one matrix."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from akgnn.csr import CSR
from akgnn.data.tables.arrow import pa, pc
from akgnn.data.tables.column_values import check_no_slip, numbers_of, texts_of
from akgnn.data.tables.columns import did_you_mean
from akgnn.data.tables.recipe import (
    MOST_CATEGORIES,
    CategoryColumn,
    FeatureRecipe,
    NumberColumn,
)
from akgnn.data.tables.settings import Missing
from akgnn.data.tables.table import Table, first_true, is_text
from akgnn.errors import DataError
from akgnn.graph import Graph

# Features with fewer non-zeros than this share are kept sparse.
_SPARSE_BELOW = 0.1


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
            values = texts_of(table, name)
            columns.append(_learn_categories(table, name, values))
            entries += len(values) - values.null_count
        else:
            values = numbers_of(table, name)
            column = _learn_numbers(table, name, values, standardise)
            columns.append(column)
            entries += pc.sum(pc.not_equal(pc.fill_null(values, column.fill), column.mean)).as_py()
        _check_missing(table, name, values, missing)
        typed[name] = values
    features = sum(len(column.feature_names) for column in columns)
    is_sparse = entries < _SPARSE_BELOW * features * len(table)
    return FeatureRecipe(tuple(columns), missing, is_sparse), pa.table(typed)


def typed_columns(recipe: FeatureRecipe, table: Table) -> pa.Table:
    """The recipe's columns as float64 or text, whatever type they have in this table."""
    check_columns(recipe, table.name, table.content.schema.names)
    typed = {}
    for column in recipe.columns:
        is_number = isinstance(column, NumberColumn)
        values = (numbers_of if is_number else texts_of)(table, column.name)
        _check_missing(table, column.name, values, recipe.missing)
        typed[column.name] = values
    return pa.table(typed)


def check_columns(recipe: FeatureRecipe, name: str, present: Sequence[str]) -> None:
    """Refuse a table that lacks columns of the recipe."""
    there = set(present)
    absent = [column for column in recipe.column_names if column not in there]
    if not absent:
        return
    listed = ", ".join(repr(column) for column in absent[:5])
    more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
    raise DataError(
        f"{name} lacks columns that the model learned from: {listed}{more}."
        + did_you_mean(absent[0], present)
    )


def build_features(recipe: FeatureRecipe, typed: pa.Table, graph: Graph) -> Tensor | CSR:
    """One matrix of the columns that `typed_columns` gave."""
    if not recipe.columns:
        degree = graph.degree.double().clamp(min=0)
        return torch.stack([torch.ones_like(degree), degree.log1p()], dim=1).float()
    shape = typed.num_rows, len(recipe.feature_names)
    entries = _entries(recipe, typed)
    if recipe.is_sparse:
        row, col, value = (np.concatenate(part) for part in zip(*entries, strict=True))
        return as_csr(sparse.coo_array((value, (row, col)), shape))
    x = np.zeros(shape, dtype=np.float32)
    for row, col, value in entries:
        x[row, col] = value
    return torch.from_numpy(x)


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
            found = pc.fill_null(pc.index_in(values, value_set=names), -1)
            code = np.asarray(found.to_numpy(), dtype=np.int64)
            row = np.flatnonzero(code >= 0)
            yield row, code[row] + start, np.ones(len(row), dtype=np.float32)
        start += len(column.feature_names)


def as_csr(matrix: Any) -> CSR:
    """A SciPy sparse matrix of features."""
    matrix = sparse.csr_array(matrix, dtype=np.float32)
    matrix.sum_duplicates()
    value = None if (matrix.data == 1).all() else torch.from_numpy(matrix.data)
    rowptr, col = (torch.from_numpy(a.astype(np.int64)) for a in (matrix.indptr, matrix.indices))
    rows, columns = matrix.shape
    return CSR.from_arrays(rowptr, col, value, (rows, columns))


def _learn_numbers(
    table: Table, name: str, numbers: pa.ChunkedArray, standardise: bool
) -> NumberColumn:
    mean = pc.mean(numbers).as_py()
    if mean is None:
        raise DataError(
            f"{table.of(name)}: every value is missing; leave it out with --features '!{name}'."
        )
    if not standardise:
        return NumberColumn(name, fill=mean)
    # A constant column becomes 0 throughout; rounding could give it a deviation of its own.
    bounds = pc.min_max(numbers).as_py()
    is_constant = bounds["min"] == bounds["max"]
    return NumberColumn(name, mean, mean, 1.0 if is_constant else pc.stddev(numbers).as_py())


def _learn_categories(table: Table, name: str, texts: pa.ChunkedArray) -> CategoryColumn:
    distinct = pc.unique(texts.drop_null())
    if not len(distinct):
        raise DataError(
            f"{table.of(name)}: every value is missing; leave it out with --features '!{name}'."
        )
    check_no_slip(table, name, texts)
    if len(distinct) > MOST_CATEGORIES:
        raise DataError(
            f"{table.of(name)}: {len(distinct):,} different texts are no categories (at most "
            f"{MOST_CATEGORIES:,}); leave it out with --features '!{name}'."
        )
    return CategoryColumn(name, tuple(sorted(distinct.to_pylist())))


def _check_missing(table: Table, name: str, values: pa.ChunkedArray, missing: Missing) -> None:
    row = first_true(values.is_null()) if missing == "refuse" else None
    if row is not None:
        raise DataError(
            f"{table.at(row, name)}: the value is missing; fill it in, or let --missing fill do it."
        )
