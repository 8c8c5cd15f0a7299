"""How the columns of a node table become features: learned once, kept with a run, applied again."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_args

from torch import Tensor

from akgnn.codec import from_json, to_json
from akgnn.csr import CSR
from akgnn.data.catalogue import FeatureTransform
from akgnn.data.tables.settings import Missing
from akgnn.data.transforms import rows_to_1
from akgnn.errors import DataError
from akgnn.graph import Graph
from akgnn.text import is_printable

if TYPE_CHECKING:
    from akgnn.data.tables.table import Table

MOST_CATEGORIES, MOST_WORDS = 1000, 20_000
OTHER = "(other)"
_NEARLY_ALL = 0.9
CYCLES = {"year": 31_556_952.0, "week": 604_800.0, "day": 86_400.0}
"""The cycles of dates and times, with their seconds."""
ROWS_TO_1 = "sum to 1"
"""What the record of tables says under `rows` where features were divided by their row's sum."""
# What stands in for features where there are none.
STRUCTURE = ("1", "log(1 + degree)")


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers.

    The first feature is z = (value - mean) / scale, a missing value being `fill`. The others are 1
    where they hold, else 0: one for each bin between two bounds, and one for missing values.

    Attributes:
        name: Name of the column.
        fill: What stands for a missing value.
        mean: What is subtracted.
        scale: What is divided by.
        is_squashed: Whether z beyond ±3 grows like its logarithm, so that outliers stay near.
        bounds: Where one bin ends and the next begins, ascending; a value on a bound is above it,
            and a missing one in no bin.
        marks_missing: Whether a feature says that the value is missing.
    """

    name: str
    fill: float
    mean: float = 0.0
    scale: float = 1.0
    is_squashed: bool = False
    bounds: tuple[float, ...] = ()
    marks_missing: bool = False

    @property
    def feature_names(self) -> list[str]:
        """A name for each feature."""
        ends = ["", *(f"{bound:.6g}" for bound in self.bounds), ""]
        bins = [f"{self.name}[{low}…{high}]" for low, high in pairwise(ends)]
        return [self.name, *(bins if self.bounds else []), *_missing(self)]

    @property
    def is_left(self) -> bool:
        """Whether the feature is the number itself."""
        return (self.mean, self.scale, self.is_squashed, self.bounds) == (0, 1, False, ())

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_scaling(self)
        _check_ascending(self.name, "bounds", self.bounds)


@dataclass(frozen=True)
class CategoryColumn:
    """A column of categories: a feature for each, sorted, 1 where it stands there; else 0.

    Attributes:
        name: Name of the column.
        categories: The categories with a feature of their own.
        has_other: Whether one more feature stands for all others, seen in training or not.
    """

    name: str
    categories: tuple[str, ...]
    has_other: bool = False

    @property
    def feature_names(self) -> list[str]:
        """A name for the feature of each category."""
        others = [f"{self.name}={OTHER}"] if self.has_other else []
        return [*(f"{self.name}={text}" for text in self.categories), *others]

    def __post_init__(self) -> None:
        _check_name(self.name)
        if not 0 < len(self.categories) + self.has_other <= MOST_CATEGORIES + 1:
            raise DataError(
                f"Column {self.name!r} has {len(self.categories)} categories, from 1 to "
                f"{MOST_CATEGORIES} are possible."
            )
        for text in self.categories:
            if not isinstance(text, str) or not is_printable(text):
                raise DataError(f"Column {self.name!r}: category {text!r} is no plain text.")
        if list(self.categories) != sorted(set(self.categories)):
            raise DataError(f"Column {self.name!r}: its categories are not sorted.")


@dataclass(frozen=True)
class DateColumn:
    """A column of dates or times, in seconds since 1970.

    The first feature is the age, (seconds - mean) / scale. Each cycle adds the sine and the cosine
    of how far it has come.

    Attributes:
        name: Name of the column.
        fill: What stands for a missing value; its cycles are 0.
        mean: What is subtracted.
        scale: What is divided by.
        cycles: Names in `CYCLES`.
        marks_missing: Whether a feature says that the value is missing.
    """

    name: str
    fill: float
    mean: float
    scale: float
    cycles: tuple[str, ...] = ()
    marks_missing: bool = False

    @property
    def feature_names(self) -> list[str]:
        """A name for each feature."""
        waves = [f"{self.name} {wave}({cycle})" for cycle in self.cycles for wave in ("sin", "cos")]
        return [self.name, *waves, *_missing(self)]

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_scaling(self)
        if len(set(self.cycles)) != len(self.cycles) or not set(self.cycles) <= set(CYCLES):
            raise DataError(f"Column {self.name!r}: its cycles must be of {', '.join(CYCLES)}.")


@dataclass(frozen=True)
class TextColumn:
    """A column of texts: a feature for each word that several nodes have, known by its hash.

    A feature is how often the word stands in the text times its weight, the text's features
    divided by the root of the sum of their squares.

    Attributes:
        name: Name of the column.
        hashes: Hashes of the words, ascending.
        weights: The inverse document frequency of each.
    """

    name: str
    hashes: tuple[int, ...]
    weights: tuple[float, ...]

    @property
    def feature_names(self) -> list[str]:
        """A name for the feature of each hash."""
        return [f"{self.name}#{value:x}" for value in self.hashes]

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_ascending(self.name, "hashes", self.hashes)
        if not 0 < len(self.hashes) <= MOST_WORDS or len(self.weights) != len(self.hashes):
            raise DataError(
                f"Column {self.name!r} has {len(self.hashes)} words and {len(self.weights)} "
                f"weights; the same number of both, from 1 to {MOST_WORDS}, is possible."
            )
        if any(not (math.isfinite(weight) and weight > 0) for weight in self.weights):
            raise DataError(f"Column {self.name!r}: a weight of a word is not above 0.")


Column = NumberColumn | CategoryColumn | DateColumn | TextColumn


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
        left_out: Columns that are no features, each with the reason.
    """

    columns: tuple[Column, ...]
    missing: Missing = "fill"
    is_sparse: bool = False
    normalise_rows: bool = False
    left_out: Mapping[str, str] = field(default_factory=dict)

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
        """The names of the columns that hold categories or texts."""
        return [c.name for c in self.columns if isinstance(c, CategoryColumn | TextColumn)]

    @property
    def feature_names(self) -> list[str]:
        """A name for each feature: that of its column, with `=category` for categories."""
        if not self.columns:
            return list(STRUCTURE)
        return [name for column in self.columns for name in column.feature_names]

    @property
    def is_words(self) -> bool:
        """Whether nearly all features are words or counts, taken as they are."""
        left = sum(isinstance(column, NumberColumn) and column.is_left for column in self.columns)
        return bool(self.columns) and left >= _NEARLY_ALL * len(self.feature_names)

    @property
    def in_words(self) -> str:
        """What is done to each column, in a line."""
        if not self.columns:
            return (
                "none in the table; a constant 1 and log(1 + degree) stand in"
                + self.left_out_in_words
            )
        kinds: dict[str, list[Column]] = {}
        for column in self.columns:
            kinds.setdefault(_kind_in_words(column), []).append(column)
        parts = []
        for kind, columns in kinds.items():
            one, many = _WORDS[kind]
            text = f"{len(columns):,} {one if len(columns) == 1 else many}"
            features = sum(len(column.feature_names) for column in columns)
            more = f" ({features:,} features)" if features > len(columns) else ""
            parts.append(text + more)
        return ", ".join(parts) + self.left_out_in_words

    @property
    def left_out_in_words(self) -> str:
        """Which columns are left out and why, as the end of a sentence."""
        by_reason: dict[str, list[str]] = {}
        for name, reason in self.left_out.items():
            by_reason.setdefault(reason, []).append(f"`{name}`")
        parts = [f"{_listed(names)} left out: {reason}" for reason, names in by_reason.items()]
        return "".join(f"; {part}" for part in parts)

    def apply(self, table: "Table", graph: Graph | None) -> Tensor | CSR:
        """The features of a node table, whose columns are found by their names.

        Without columns the graph stands in; otherwise it may be None.
        """
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
            "left_out": dict(self.left_out),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "FeatureRecipe":
        """The recipe that `to_dict` wrote; a ValueError, KeyError or TypeError if it is none."""
        if not isinstance(content["columns"], list):
            raise DataError("The columns of a recipe must be a list.")
        columns = tuple(_column(entry) for entry in content["columns"])
        left_out = from_json(dict[str, str], content["left_out"], "left_out")
        flags = content["missing"], content["is_sparse"], content["normalise_rows"]
        return cls(columns, *flags, left_out)


def normalises_rows(
    x: Tensor | CSR, features: FeatureTransform, recipe: FeatureRecipe, *, by_kind: bool
) -> bool:
    """Whether each row is to be divided by its sum; `auto` does it to counts of words and the like.

    These are features with many zeros, and so sparse, and no negative numbers. Where columns were
    prepared by their kind, none but such numbers must be among them.
    """
    if features != "auto":
        return features == "row-normalised"
    if by_kind and not recipe.is_words:
        return False
    return isinstance(x, CSR) and (x.value is None or not bool((x.value < 0).any()))


# One and several of a kind, for a line about a recipe.
_WORDS = {
    "scaled": ("number scaled", "numbers scaled"),
    "left": ("number left as it is", "numbers left as they are"),
    "category": ("category column", "category columns"),
    "date": ("date", "dates"),
    "text": ("text", "texts"),
}


def _kind_in_words(column: Column) -> str:
    if isinstance(column, NumberColumn):
        return "left" if column.is_left else "scaled"
    return {CategoryColumn: "category", DateColumn: "date", TextColumn: "text"}[type(column)]


def _listed(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _column(entry: Mapping[str, Any]) -> Column:
    if "cycles" in entry:
        return from_json(DateColumn, entry, "a column")
    if "hashes" in entry:
        return from_json(TextColumn, entry, "a column")
    if "categories" not in entry:
        return from_json(NumberColumn, entry, "a column")
    if not isinstance(entry["categories"], list):
        raise DataError(f"The categories of {entry['name']!r} must be a list.")
    has_other = from_json(bool, entry.get("has_other", False), "has_other")
    return CategoryColumn(entry["name"], tuple(entry["categories"]), has_other)


def _missing(column: NumberColumn | DateColumn) -> list[str]:
    return [f"{column.name} missing"] if column.marks_missing else []


def _check_scaling(column: NumberColumn | DateColumn) -> None:
    for value in (column.fill, column.mean, column.scale):
        if type(value) is not float or not math.isfinite(value):
            raise DataError(f"Column {column.name!r}: {value!r} is not a finite number.")
    if column.scale <= 0:
        raise DataError(f"Column {column.name!r}: its scale is {column.scale}, not above 0.")


def _check_ascending(name: str, what: str, values: Sequence[float]) -> None:
    if not all(math.isfinite(value) for value in values) or any(
        low >= high for low, high in pairwise(values)
    ):
        raise DataError(f"Column {name!r}: its {what} are not ascending numbers.")


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name or not is_printable(name):
        raise DataError(f"{name!r} is no name of a column.")
