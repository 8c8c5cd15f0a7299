"""How the columns of a node table become features: learned once, kept with a run, applied again."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args
from unicodedata import category

from torch import Tensor

from akgnn.codec import number, to_json
from akgnn.csr import CSR
from akgnn.data.catalogue import FeatureTransform
from akgnn.data.tables.settings import Missing
from akgnn.data.transforms import rows_to_1
from akgnn.errors import DataError
from akgnn.graph import Graph

if TYPE_CHECKING:
    from akgnn.data.tables.table import Table

MOST_CATEGORIES = 1000
ROWS_TO_1 = "sum to 1"
"""What the record of tables says under `rows` where features were divided by their row's sum."""
# What stands in for features where there are none.
STRUCTURE = ("1", "log(1 + degree)")


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers: the feature is (value - mean) / scale, a missing value being `fill`."""

    name: str
    fill: float
    mean: float = 0.0
    scale: float = 1.0

    @property
    def feature_names(self) -> list[str]:
        """The name of its one feature."""
        return [self.name]

    def __post_init__(self) -> None:
        _check_name(self.name)
        for value in (self.fill, self.mean, self.scale):
            if type(value) is not float or not math.isfinite(value):
                raise DataError(f"Column {self.name!r}: {value!r} is not a finite number.")
        if self.scale <= 0:
            raise DataError(f"Column {self.name!r}: its scale is {self.scale}, not above 0.")


@dataclass(frozen=True)
class CategoryColumn:
    """A column of categories: a feature for each, sorted, 1 where it stands there; else 0."""

    name: str
    categories: tuple[str, ...]

    @property
    def feature_names(self) -> list[str]:
        """A name for the feature of each category."""
        return [f"{self.name}={text}" for text in self.categories]

    def __post_init__(self) -> None:
        _check_name(self.name)
        if not 0 < len(self.categories) <= MOST_CATEGORIES:
            raise DataError(
                f"Column {self.name!r} has {len(self.categories)} categories, from 1 to "
                f"{MOST_CATEGORIES} are possible."
            )
        for text in self.categories:
            if not isinstance(text, str) or any(category(sign) == "Cc" for sign in text):
                raise DataError(f"Column {self.name!r}: category {text!r} is no plain text.")
        if list(self.categories) != sorted(set(self.categories)):
            raise DataError(f"Column {self.name!r}: its categories are not sorted.")


@dataclass(frozen=True)
class FeatureRecipe:
    """Which columns become which features, and by which numbers.

    Attributes:
        columns: The columns in the order of their features. Without any, two features of the graph
            stand in: a constant 1 and log(1 + degree). Both mean the same for new nodes, which ids
            do not.
        missing: Whether a missing value is filled in or refused.
        is_sparse: Whether the features are kept as CSR, since most of them are 0.
        normalise_rows: Whether the features of each node are divided by their sum at the end.
    """

    columns: tuple[NumberColumn | CategoryColumn, ...]
    missing: Missing = "fill"
    is_sparse: bool = False
    normalise_rows: bool = False

    def __post_init__(self) -> None:
        names = self.column_names
        if len(set(names)) != len(names):
            raise DataError("A column stands in the recipe twice.")
        if self.missing not in get_args(Missing):
            raise DataError(f"missing must be fill or refuse, got {self.missing!r}.")
        for name, value in (("is_sparse", self.is_sparse), ("normalise_rows", self.normalise_rows)):
            if type(value) is not bool:
                raise DataError(f"{name} must be true or false, got {value!r}.")

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, as they must stand in a node table."""
        return [column.name for column in self.columns]

    @property
    def text_columns(self) -> list[str]:
        """The names of the columns that hold categories."""
        return [column.name for column in self.columns if isinstance(column, CategoryColumn)]

    @property
    def feature_names(self) -> list[str]:
        """A name for each feature: that of its column, with `=category` for categories."""
        if not self.columns:
            return list(STRUCTURE)
        return [name for column in self.columns for name in column.feature_names]

    @property
    def in_words(self) -> str:
        """What is done to each column, for the record of a run."""
        if not self.columns:
            return "none in the table; a constant 1 and log(1 + degree) stand in"
        numbers = [column for column in self.columns if isinstance(column, NumberColumn)]
        categories = len(self.feature_names) - len(numbers)
        are_scaled = any((column.mean, column.scale) != (0, 1) for column in numbers)
        parts = []
        if numbers:
            how = " (standardised)" if are_scaled else ""
            parts.append(f"numeric columns: {len(numbers)}{how}")
        if categories:
            parts.append(f"category columns: {len(self.text_columns)} ({categories} features)")
        return f"{'; '.join(parts)}; missing values: {self.missing}"

    def apply(self, table: "Table", graph: Graph) -> Tensor | CSR:
        """The features of a node table, whose columns are found by their names."""
        from akgnn.data.tables.features import build_features, typed_columns

        return build_features(self, typed_columns(self, table), graph)

    def finish(self, x: Tensor | CSR) -> Tensor | CSR:
        """The last step, on features that are made of the columns."""
        return rows_to_1(x) if self.normalise_rows else x

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON can hold it."""
        return {
            "missing": self.missing,
            "is_sparse": self.is_sparse,
            "normalise_rows": self.normalise_rows,
            "columns": to_json(self.columns),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "FeatureRecipe":
        """The recipe that `to_dict` wrote; a ValueError, KeyError or TypeError if it is none."""
        if not isinstance(content["columns"], list):
            raise DataError("The columns of a recipe must be a list.")
        columns = tuple(_column(entry) for entry in content["columns"])
        # Earlier versions did not keep it here.
        normalise_rows = content.get("normalise_rows", False)
        return cls(columns, content["missing"], content["is_sparse"], normalise_rows)


def normalises_rows(x: Tensor | CSR, features: FeatureTransform) -> bool:
    """Whether each row is to be divided by its sum; `auto` does it to counts of words and the like.

    These are features with many zeros, and so sparse, and no negative numbers.
    """
    if features != "auto":
        return features == "row-normalised"
    return isinstance(x, CSR) and (x.value is None or not bool((x.value < 0).any()))


def _column(entry: Mapping[str, Any]) -> NumberColumn | CategoryColumn:
    if "categories" not in entry:
        fill, mean, scale = (number(entry[name], name) for name in ("fill", "mean", "scale"))
        return NumberColumn(entry["name"], fill, mean, scale)
    if not isinstance(entry["categories"], list):
        raise DataError(f"The categories of {entry['name']!r} must be a list.")
    return CategoryColumn(entry["name"], tuple(entry["categories"]))


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name or not name.isprintable():
        raise DataError(f"{name!r} is no name of a column.")
