"""From columns to features: learn a recipe from a table, and put columns into one matrix."""

from collections.abc import Sequence
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
) -> FeatureRecipe:
    """What the columns hold, with the means, scales and categories of this table."""
    columns: list[NumberColumn | CategoryColumn] = []
    entries = features = 0
    for name in names:
        column: NumberColumn | CategoryColumn
        if is_text(table.column(name).type):
            values = texts_of(table, name)
            column = _learn_categories(table, name, values)
            entries += len(values) - values.null_count
        else:
            values = numbers_of(table, name)
            column = _learn_numbers(table, name, values, standardise)
            entries += pc.sum(pc.not_equal(pc.fill_null(values, column.fill), column.mean)).as_py()
        columns.append(column)
        features += len(column.feature_names)
    return FeatureRecipe(tuple(columns), missing, entries < _SPARSE_BELOW * features * len(table))


def typed_columns(recipe: FeatureRecipe, table: Table) -> pa.Table:
    """The recipe's columns as float64 or text, whatever type they have in this table."""
    absent = [name for name in recipe.column_names if name not in table.content.schema.names]
    if absent:
        raise DataError(missing_columns(table.name, absent, table.content.schema.names))
    typed = {}
    for column in recipe.columns:
        is_number = isinstance(column, NumberColumn)
        values = (numbers_of if is_number else texts_of)(table, column.name)
        row = first_true(values.is_null()) if recipe.missing == "refuse" else None
        if row is not None:
            raise DataError(
                f"{table.at(row, column.name)}: the value is missing; fill it in, or let "
                "--missing fill do it."
            )
        typed[column.name] = values
    return pa.table(typed)


def missing_columns(name: str, absent: Sequence[str], present: Sequence[str]) -> str:
    """The message about columns that the model learned from and this table lacks."""
    listed = ", ".join(repr(column) for column in absent[:5])
    more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
    return f"{name} lacks columns that the model learned from: {listed}{more}." + did_you_mean(
        absent[0], present
    )


def build_features(recipe: FeatureRecipe, typed: pa.Table, graph: Graph) -> Tensor | CSR:
    """One matrix of the columns that `typed_columns` gave."""
    if not recipe.columns:
        degree = graph.degree.double().clamp(min=0)
        return torch.stack([torch.ones_like(degree), degree.log1p()], dim=1).float()
    parts = (_encoded(column, typed.column(column.name)) for column in recipe.columns)
    shape = typed.num_rows, len(recipe.feature_names)
    if recipe.is_sparse:
        return as_csr(sparse.hstack([sparse.csc_array(part) for part in parts], format="csr"))
    x = np.empty(shape, dtype=np.float32)
    start = 0
    for part in parts:
        x[:, start : start + part.shape[1]] = part.toarray() if sparse.issparse(part) else part
        start += part.shape[1]
    return torch.from_numpy(x)


def _encoded(
    column: NumberColumn | CategoryColumn, values: pa.ChunkedArray
) -> NDArray[np.float32] | sparse.csc_array:
    if isinstance(column, NumberColumn):
        numbers = pc.fill_null(values, column.fill).to_numpy()
        scaled: NDArray[np.float32] = ((numbers - column.mean) / column.scale).astype(np.float32)
        return scaled[:, None]
    found = pc.index_in(values, value_set=pa.array(column.categories, pa.large_string()))
    code = np.asarray(pc.fill_null(found, -1).to_numpy())
    row = np.flatnonzero(code >= 0)
    ones = np.ones(len(row), dtype=np.float32)
    return sparse.csc_array((ones, (row, code[row])), (len(code), len(column.categories)))


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
