"""A table together with where it came from, so that a message can name file, line and column."""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from akgnn.errors import DataError, MissingExtraError
from akgnn.text import CONTROL, is_printable
from akgnn.text import in_one_line as one_line

try:
    import pyarrow as pa
    import pyarrow.compute as pc
except ImportError as error:
    raise MissingExtraError("Reading tables", "tables") from error

# The modules that hold tables take pyarrow from here, so that one message says what to install.
__all__ = ["Table", "TableSource", "in_memory", "pa", "pc", "put_together"]

ROWS_AT_ONCE = 2**18
"""Rows of a table that is read block by block."""
# Longer texts are no ids, labels or categories; most often a quote was left open.
_LONGEST_TEXT = 1000
# As Arrow writes it.
_CONTROL = "[" + re.sub(r"\\[xu]([0-9a-f]+)", r"\\x{\1}", CONTROL) + "]"
NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


def row_number(row: int) -> str:
    """What to call a row of a table that has no lines."""
    return f"row {row} (counted from 0)"


def without_column(name: str) -> str:
    """The setting that leaves a column out of the features, for a message."""
    return f"`columns={f'!{name}'!r}`"


@dataclass(frozen=True, eq=False)
class Table:
    """A table in memory.

    Attributes:
        name: Its file, or what to call it.
        content: The columns.
        locate: Names the line or row of a record, such as `line 7`, given its index from 0 on.
        without: Says how to leave a column out.
    """

    name: str
    content: pa.Table
    locate: Callable[[int], str] = row_number
    without: Callable[[str], str] = without_column

    def __len__(self) -> int:
        return int(self.content.num_rows)

    def column(self, name: str) -> pa.ChunkedArray:
        """A column, with its dictionary written out if it has one."""
        column = self.content.column(name)
        is_encoded = pa.types.is_dictionary(column.type)
        return column.cast(column.type.value_type) if is_encoded else column

    def at(self, row: int, column: str) -> str:
        """The words that begin a message about a cell."""
        return f"{self.name}, {self.locate(row)}, column {column!r}"

    def of(self, column: str) -> str:
        """The words that begin a message about a column."""
        return f"{self.name}, column {column!r}"

    def check_text(self, name: str, column: pa.ChunkedArray) -> None:
        """Refuse texts that no terminal should show, or that are too long to be names."""
        row = first_true(pc.match_substring_regex(column, _CONTROL))
        if row is not None:
            where, found = self.at(row, name), column[row].as_py()[:40]
            raise DataError(f"{where}: {found!r} holds a control character; take it out.")
        row = first_true(pc.greater(pc.utf8_length(column), _LONGEST_TEXT))
        if row is not None:
            length = len(column[row].as_py())
            raise DataError(
                f"{self.at(row, name)}: a text of {length:,} characters; at most "
                f"{_LONGEST_TEXT:,} can be an id, a label or a category. Was a quote left open?"
            )


@dataclass(frozen=True, eq=False)
class TableSource:
    """A table whose column names are known, and whose rows are read once columns are chosen.

    Attributes:
        name: Its file, or what to call it.
        columns: The names of its columns.
        read_columns: Reads some columns, given their names and those that must stay text.
        locate: Names the line or row of a record, given its index from 0 on.
        stream_columns: Reads the same block by block, for tables that do not fit into memory; None
            where that cannot be.
    """

    name: str
    columns: tuple[str, ...]
    read_columns: Callable[[Sequence[str], Collection[str]], pa.Table]
    locate: Callable[[int], str] = row_number
    stream_columns: Callable[[Sequence[str], Collection[str]], Iterator[pa.Table]] | None = None

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
            if not is_printable(name):
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
        """Read these columns; where a file has no types, those in `text` stay as written."""
        return self._checked(self.read_columns(columns, text), 0)

    def blocks(self, columns: Sequence[str], text: Collection[str] = ()) -> Iterator[Table]:
        """Read these columns block by block; what cannot be streamed comes in one."""
        if self.stream_columns is None:
            yield self.read(columns, text)
            return
        start = 0
        for content in self.stream_columns(columns, text):
            yield self._checked(content, start)
            start += content.num_rows

    def _checked(self, content: pa.Table, start: int) -> Table:
        try:
            # Some readers take any bytes for text.
            content.validate(full=True)
        except pa.ArrowInvalid as error:
            raise DataError(f"{self.name} is damaged ({in_one_line(error)}).") from error
        return Table(self.name, content, lambda row: self.locate(start + row))


def in_memory(name: str, table: pa.Table, locate: Callable[[int], str] = row_number) -> TableSource:
    """A table that has been read already."""
    names = tuple(table.schema.names)
    return TableSource(name, names, lambda columns, text: table.select(list(columns)), locate)


def put_together(sources: Sequence[TableSource]) -> TableSource:
    """Tables below each other, as one; columns are found by their names."""
    if len(sources) == 1:
        return sources[0]
    first, starts = sources[0], [0]

    def check(source: TableSource, columns: Sequence[str]) -> None:
        absent = [name for name in columns if name not in source.columns]
        if absent:
            raise DataError(
                f"{source.name} has no column {absent[0]!r}, which {first.name} has; tables "
                "that are put together need the same names."
            )

    def read(columns: Sequence[str], text: Collection[str]) -> pa.Table:
        tables = []
        del starts[1:]
        for source in sources:
            check(source, columns)
            tables.append(source.read(columns, text).content)
            starts.append(starts[-1] + tables[-1].num_rows)
        return pa.table(
            {name: _joined([table.column(name) for table in tables]) for name in columns}
        )

    def stream(columns: Sequence[str], text: Collection[str]) -> Iterator[pa.Table]:
        del starts[1:]
        for source in sources:
            check(source, columns)
            starts.append(starts[-1])
            for table in source.blocks(columns, text):
                # Before it is handed on, so that a message finds its rows.
                starts[-1] += len(table)
                yield table.content

    def locate(row: int) -> str:
        number = bisect_right(starts, row) - 1
        source = sources[min(number, len(sources) - 1)]
        return f"{source.locate(row - starts[number])} of {source.name}"

    names = " and ".join(source.name for source in sources)
    return TableSource(names, first.columns, read, locate, stream)


def _joined(columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Columns as one; as text where they are of different types."""
    kinds = {column.type for column in columns}
    kind = kinds.pop() if len(kinds) == 1 else pa.large_string()
    return pa.chunked_array([chunk for each in columns for chunk in each.cast(kind).chunks], kind)


def in_one_line(error: Exception) -> str:
    """What another library has to say, fit for the middle of a message."""
    return one_line(error)[:300].rstrip(".")


@contextmanager
def values_of_one_kind(where: str) -> Iterator[None]:
    """Inside, values that pyarrow cannot put into one column are refused by name."""
    try:
        yield
    except (pa.ArrowException, OverflowError) as error:
        raise DataError(
            f"{where}: values of one kind are needed, all text or all numbers of 64 bits "
            f"({in_one_line(error)})."
        ) from error


def first_true(column: Any) -> int | None:
    """The first row at which a column of booleans is true."""
    row = pc.index(column, True).as_py()
    return None if row < 0 else int(row)


def first_not_numeric(texts: pa.ChunkedArray) -> int | None:
    """The first row with a text that is not written as a number."""
    return first_true(pc.invert(pc.match_substring_regex(texts, NUMBER)))


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def empty_as_missing(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of text in which empty cells are missing."""
    column = column.cast(pa.large_string())
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.large_string()), column)
