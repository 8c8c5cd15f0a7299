"""DataFrames with columns of several kinds, and the features that are made of them."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Number
from typing import TYPE_CHECKING, Any

from akgnn.data.transforms import as_rows
from akgnn.errors import DataError

if TYPE_CHECKING:
    from akgnn.data.tables.recipe import FeatureRecipe
    from akgnn.data.tables.table import Table


def is_frame(x: Any) -> bool:
    """Whether it is a DataFrame held in memory (pandas, polars, pyarrow, …)."""
    return _native(x) is not None


def holds_other_than_numbers(x: Any) -> bool:
    """Whether it is a DataFrame with texts, categories, dates, or missing values."""
    frame = _native(x)
    if frame is None:
        return False
    return any(_is_other(frame.get_column(name)) for name in frame.columns)


def learn_rows(x: Any, names: Sequence[str], *, standardise: bool) -> tuple[Any, "FeatureRecipe"]:
    """The features of a DataFrame as an array or a SciPy matrix, and how they are made."""
    from akgnn.data.tables.features import build_features, learn_recipe
    from akgnn.data.tables.recipe import normalises_rows

    table = _table(x, names)
    recipe, typed = learn_recipe(
        table, names, prepare="auto", standardise=standardise, missing="fill"
    )
    if not recipe.columns:
        raise DataError(f"X has no column to learn from{recipe.left_out_in_words}.")
    raw = build_features(recipe, typed, None)
    if normalises_rows(raw, "auto", recipe, by_kind=True):
        recipe = replace(recipe, normalise_rows=True)
    return as_rows(recipe.finish(raw)), recipe


def rows_of(x: Any, names: Sequence[str], recipe: "FeatureRecipe") -> Any:
    """The features of another DataFrame with the same columns, made as the recipe says."""
    return as_rows(recipe.apply(_table(x, names), None))


def column_names(number: int, names: Any) -> list[str]:
    """The names of the columns; those that have none are counted, as scikit-learn does."""
    return [f"x{index}" for index in range(number)] if names is None else list(names)


def _native(x: Any) -> Any:
    """The DataFrame as narwhals sees it; None where it is none, or nothing can be said of it."""
    try:
        import narwhals as nw
        from narwhals.exceptions import NarwhalsError
    except ImportError:
        # Without the package that knows DataFrames, scikit-learn makes arrays of them.
        return None
    try:
        frame = nw.from_native(x, eager_only=True, pass_through=True)
    except NarwhalsError:
        return None
    return frame if isinstance(frame, nw.DataFrame) else None


def _is_other(column: Any) -> bool:
    import narwhals as nw

    kind = column.dtype
    if kind == nw.Unknown:
        # Such as the sparse columns of pandas, of which scikit-learn makes a matrix.
        return False
    if kind == nw.Object:
        # Not a number is not even equal to itself.
        return not all(isinstance(value, Number) and value == value for value in column.to_list())
    if not (kind.is_numeric() or kind == nw.Boolean):
        return True
    return bool(column.null_count() or (kind.is_float() and column.is_nan().any()))


def _table(x: Any, names: Sequence[str]) -> "Table":
    from akgnn.data.tables.readers import to_arrow
    from akgnn.data.tables.table import in_memory

    if not is_frame(x):
        raise DataError(
            f"X must be a DataFrame with the columns {', '.join(names[:5])}"
            f"{', …' if len(names) > 5 else ''}, of which the model learned; got "
            f"{type(x).__name__}."
        )
    table = in_memory("X", to_arrow(x, "X").rename_columns(list(names))).read(names)
    if not len(table):
        raise DataError("X has columns but no rows.")
    return replace(table, without=lambda name: f"X.drop(columns={name!r})")
