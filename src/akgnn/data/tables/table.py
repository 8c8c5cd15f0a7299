"""A table together with where it came from, so that a message can name file, line and column."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from akgnn.data.tables.arrow import pa, pc
from akgnn.errors import DataError

# Longer texts are no ids, labels or categories; most often a quote was left open.
_LONGEST_TEXT = 1000
_CONTROL = r"\p{Cc}"


@dataclass(frozen=True, eq=False)
class Table:
    """A table in memory.

    Attributes:
        name: Its file, or what to call it.
        content: The columns.
        place_of: Where a row stands, such as `line 7`, given its number from 0 on.
    """

    name: str
    content: pa.Table
    place_of: Callable[[int], str]

    def __len__(self) -> int:
        return int(self.content.num_rows)

    def column(self, name: str) -> pa.ChunkedArray:
        """A column, with its dictionary written out if it has one."""
        column = self.content.column(name)
        is_encoded = pa.types.is_dictionary(column.type)
        return column.cast(column.type.value_type) if is_encoded else column

    def at(self, row: int, column: str) -> str:
        """The words that begin a message about a cell."""
        return f"{self.name}, {self.place_of(row)}, column {column!r}"

    def of(self, column: str) -> str:
        """The words that begin a message about a column."""
        return f"{self.name}, column {column!r}"

    def check_text(self, name: str, column: pa.ChunkedArray) -> None:
        """Refuse texts that no terminal should show, or that are too long to be names."""
        row = first_true(pc.match_substring_regex(column, _CONTROL))
        if row is not None:
            text = column[row].as_py()[:40]
            raise DataError(
                f"{self.at(row, name)}: {text!r} holds a control character; take it out."
            )
        row = first_true(pc.greater(pc.utf8_length(column), _LONGEST_TEXT))
        if row is not None:
            length = len(column[row].as_py())
            raise DataError(
                f"{self.at(row, name)}: a text of {length:,} characters; at most "
                f"{_LONGEST_TEXT:,} can be an id, a label or a category. Was a quote left open?"
            )


@dataclass(frozen=True, eq=False)
class TableSource:
    """A table whose column names are known and whose rows are read when it is said which columns.

    Attributes:
        name: Its file, or what to call it.
        columns: The names of its columns.
        read_columns: Reads some columns, given their names and those that must stay text.
        place_of: Where a row stands, given its number from 0 on.
    """

    name: str
    columns: tuple[str, ...]
    read_columns: Callable[[Sequence[str], Collection[str]], pa.Table]
    place_of: Callable[[int], str]

    def __post_init__(self) -> None:
        if not self.columns:
            raise DataError(f"{self.name} has no columns.")
        seen: dict[str, int] = {}
        for number, name in enumerate(self.columns, start=1):
            if not name.strip():
                raise DataError(
                    f"{self.name}: column {number} has no name. (pandas writes its index so; "
                    "index=False leaves it out.)"
                )
            if not name.isprintable():
                raise DataError(
                    f"{self.name}: the name of column {number}, {name[:40]!r}, holds a "
                    "character that cannot be printed."
                )
            if seen.setdefault(name, number) != number:
                raise DataError(
                    f"{self.name}: columns {seen[name]} and {number} are both called {name!r}; "
                    "rename one of them."
                )

    def read(self, columns: Sequence[str], text: Collection[str] = ()) -> Table:
        """The rows, with these columns only; of files without types, `text` stay as written."""
        content = self.read_columns(columns, text)
        try:
            # Some readers take any bytes for text.
            content.validate(full=True)
        except pa.ArrowInvalid as error:
            raise DataError(f"{self.name} is damaged ({in_one_line(error)}).") from error
        return Table(self.name, content, self.place_of)


def in_memory(
    name: str, table: pa.Table, place_of: Callable[[int], str] | None = None
) -> TableSource:
    """A table that has been read already."""

    def read(columns: Sequence[str], text: Collection[str]) -> pa.Table:
        return table.select(list(columns))

    return TableSource(name, tuple(table.schema.names), read, place_of or row_number)


def in_one_line(error: Exception) -> str:
    """What another library has to say, fit for the middle of a message."""
    words = "".join(sign if sign.isprintable() else " " for sign in str(error)).split()
    return " ".join(words)[:300].rstrip(".")


def row_number(row: int) -> str:
    """Where a row stands in a table that has no lines."""
    return f"row {row} (counted from 0)"


def first_true(column: Any) -> int | None:
    """The first row at which a column of booleans is true."""
    row = pc.index(column, True).as_py()
    return None if row < 0 else int(row)


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def no_text_as_missing(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of text in which empty cells are missing."""
    column = column.cast(pa.large_string())
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.large_string()), column)
