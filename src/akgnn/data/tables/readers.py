"""Every kind of table behind one function: files by the ending of their name, and DataFrames."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from akgnn.arrays import mapped_array
from akgnn.data.tables.csv_file import open_csv
from akgnn.data.tables.table import (
    ROWS_AT_ONCE,
    TableSource,
    in_memory,
    in_one_line,
    pa,
    put_together,
    values_of_one_kind,
)
from akgnn.errors import DataError, MissingExtraError, SettingsError
from akgnn.text import is_printable

# No line may be longer.
_JSON_BLOCK = 2**24
# A cell holds a text or a number; pyarrow follows nested values until its stack ends.
_DEEPEST = 8
_JSON_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"')

# What the two columns of an array of edges are called.
_NPY_COLUMNS = ("source", "target")

Opener = Callable[[Path], TableSource]
"""Opens a file and says which columns it has. It may raise `OSError` where it cannot be opened."""


def open_table(table: Any, kind: Literal["node", "edge"]) -> TableSource:
    """Open a file by its path, or take a DataFrame that narwhals knows (pandas, polars, …).

    Several tables of edges, in a list, are put together.
    """
    if isinstance(table, TableSource):
        return table
    if kind == "edge" and isinstance(table, list | tuple) and table:
        return put_together([open_table(each, kind) for each in table])
    if not isinstance(table, str | Path):
        name = f"the {kind} table"
        return in_memory(name, to_arrow(table, name))
    if not str(table):
        raise DataError(f"There is no {kind} table; name its file with `{kind}s`.")
    path = Path(table)
    if "\0" in str(path):
        raise DataError(f"The {kind} table {str(path)!r} cannot be: a name holds no zero bytes.")
    try:
        if path.is_dir():
            raise DataError(f"The {kind} table {path} is a folder, not a file.")
        if (opener := READERS.get(path.suffix.lower())) is None:
            raise DataError(
                f"{path}: the ending must say what the file is, one of {', '.join(READERS)}."
            )
        if path.exists() and not path.is_file():
            # It would never end.
            raise DataError(f"The {kind} table {path} is a pipe or a device, not a file.")
        return opener(path)
    except FileNotFoundError as error:
        raise DataError(f"The {kind} table {path} does not exist.") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error


def register_reader(ending: str, opener: Opener) -> None:
    """Let `open_table`, and so all that reads tables, take files of another kind.

    Args:
        ending: Ending of the file's name, such as `.feather`; capitals make no difference.
        opener: Opens such a file; `in_memory(str(path), table)` is enough for what pyarrow reads.
    """
    if not (ending.startswith(".") and ending[1:].isalnum()):
        raise SettingsError(f"An ending is a dot and letters, such as .feather; got {ending!r}.")
    READERS[ending.lower()] = opener


def _open_parquet(path: Path) -> TableSource:
    import pyarrow.parquet as pq

    with path.open("rb"):
        # What fails from here on is not that it cannot be opened.
        pass
    try:
        file = pq.ParquetFile(path)
        names = tuple(file.schema_arrow.names)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is damaged or no Parquet file ({in_one_line(error)}).") from error

    def read(columns: Sequence[str], text: Collection[str]) -> pa.Table:
        try:
            return file.read(columns=list(columns))
        except pa.ArrowMemoryError:
            raise
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{path} is damaged ({in_one_line(error)}).") from error

    def stream(columns: Sequence[str], text: Collection[str]) -> Iterator[pa.Table]:
        try:
            # One thread, and nothing read ahead: memory holds a block.
            streamed = pq.ParquetFile(path, pre_buffer=False)
            for batch in streamed.iter_batches(
                ROWS_AT_ONCE, columns=list(columns), use_threads=False
            ):
                yield pa.Table.from_batches([batch])
        except pa.ArrowMemoryError:
            raise
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{path} is damaged ({in_one_line(error)}).") from error

    return TableSource(str(path), names, read, stream_columns=stream)


def _open_npy(path: Path) -> TableSource:
    """Edges as NumPy keeps them: an array of integers with a row for each, or a column."""
    array = mapped_array(path)
    if array.dtype.kind not in "iu" or array.ndim != 2 or 2 not in array.shape:
        raise DataError(
            f"{path}: edges are integers of shape (edges, 2), got {array.dtype} of shape "
            f"{list(array.shape)}."
        )
    # Where both sides are 2 the rows are edges.
    ends = array if array.shape[1] == 2 else array.T

    def table(columns: Sequence[str], start: int, stop: int) -> pa.Table:
        kept = {name: ends[start:stop, _NPY_COLUMNS.index(name)] for name in columns}
        # Arrow has no big-endian numbers.
        kind = ends.dtype.newbyteorder("=")
        return pa.table({name: np.ascontiguousarray(column, kind) for name, column in kept.items()})

    def read(columns: Sequence[str], text: Collection[str]) -> pa.Table:
        return table(columns, 0, len(ends))

    def stream_rows(columns: Sequence[str], text: Collection[str]) -> Iterator[pa.Table]:
        for start in range(0, len(ends), ROWS_AT_ONCE):
            yield table(columns, start, start + ROWS_AT_ONCE)

    return TableSource(str(path), _NPY_COLUMNS, read, stream_columns=stream_rows)


def to_arrow(frame: Any, name: str) -> pa.Table:
    """A DataFrame held in memory as pyarrow's table; `name` is what to call it in messages."""
    if isinstance(frame, pa.Table):
        return frame
    try:
        import narwhals as nw
        from narwhals.exceptions import NarwhalsError
    except ImportError as error:
        raise MissingExtraError("A DataFrame", "tables") from error
    try:
        native = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise DataError(
            f"{name} must be a path or a DataFrame held in memory (pandas, polars, pyarrow), got "
            f"{type(frame).__name__}."
        ) from error
    except NarwhalsError as error:
        raise DataError(f"{name} cannot be read: {in_one_line(error)}.") from error
    columns = []
    for column in native.columns:
        with values_of_one_kind(f"{name}, column {column!r}"):
            columns.append(_with_plain_categories(native.get_column(column)).to_arrow())
    # pandas lets numbers be names.
    return pa.table(columns, names=[str(column) for column in native.columns])


def _with_plain_categories(column: Any) -> Any:
    """A column of narwhals, whose categories are text where Arrow has no such kind of category.

    Intervals, of `pandas.cut` for example, become text such as `(0.5, 1.5]`.
    """
    series = column.to_native()
    if str(getattr(series, "dtype", "")).startswith("interval"):
        series = series.astype("category")
    categories = getattr(getattr(series, "cat", None), "categories", None)
    kind = str(getattr(categories, "dtype", ""))
    if categories is None or not (kind == "object" or kind.startswith("interval")):
        return column
    import narwhals as nw

    names = list(map(str, categories))
    return nw.from_native(series.cat.rename_categories(names), series_only=True)


def _open_json_lines(path: Path) -> TableSource:
    """Read the file; which columns there are is known only at its end."""
    import pyarrow.json as arrow_json

    first = next((record for _, record in _json_lines(path)), None)
    if first is None:
        raise DataError(f"{path} is empty; each line must hold a JSON object.")
    for name in first:
        if not is_printable(name):
            raise DataError(f"{path}: the column {name[:40]!r} cannot be printed; rename it.")
    _check_nesting(path)
    # Left to itself, pyarrow takes texts that look like dates for dates.
    texts = [(name, pa.string()) for name, value in first.items() if isinstance(value, str)]
    reading = arrow_json.ReadOptions(block_size=_JSON_BLOCK)
    parsing = arrow_json.ParseOptions(explicit_schema=pa.schema(texts))
    try:
        table = arrow_json.read_json(path, reading, parsing)
        table.validate(full=True)
        names = [*first, *(name for name in table.schema.names if name not in first)]
    except (pa.ArrowException, UnicodeDecodeError) as error:
        _check_json_kinds(path)
        raise DataError(f"{path}: {in_one_line(error)}.") from error
    # In the order of the file, not of the schema.
    return in_memory(str(path), table.select(names), partial(_locate_json_line, path))


def _json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects with their lines; anything else is an error."""
    for line, text in _lines(path):
        if not text.strip():
            continue
        try:
            record = json.loads(text)
        except UnicodeDecodeError as error:
            raise DataError(f"{path}, line {line}: not UTF-8.") from error
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}, line {line}: no JSON ({in_one_line(error)}).") from error
        if not isinstance(record, dict):
            raise DataError(
                f"{path}, line {line}: expected an object such as "
                f'{{"id": "a", "label": "b"}}, got {type(record).__name__}.'
            )
        yield line, record


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers; one that is too long is an error."""
    with path.open("rb") as stream:
        line = 0
        while text := stream.readline(_JSON_BLOCK + 1):
            line += 1
            if len(text) > _JSON_BLOCK:
                raise DataError(f"{path}, line {line}: longer than {_JSON_BLOCK:,} bytes.")
            yield line, text


def _check_nesting(path: Path) -> None:
    """Refuse lines that pyarrow would end the interpreter over."""
    for line, text in _lines(path):
        # Most lines have few brackets, so that their depth need not be looked at.
        if text.count(b"[") + text.count(b"{") > _DEEPEST and _depth(text) > _DEEPEST:
            raise DataError(
                f"{path}, line {line}: values are nested more than {_DEEPEST} deep; a cell holds "
                "a text or a number."
            )


def _depth(text: bytes) -> int:
    """How deep the brackets of a line are nested, up to a little more than is allowed."""
    depth = deepest = 0
    for bracket in re.findall(rb"[][{}]", _JSON_TEXT.sub(b"", text)):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
        if deepest > _DEEPEST:
            break
    return deepest


def _check_json_kinds(path: Path) -> None:
    """Name the first line whose value is of another kind than those above it."""
    names = {str: "text", bool: "true or false", int: "a number", float: "a number"}
    kinds: dict[str, str] = {}
    for line, record in _json_lines(path):
        for name, value in record.items():
            kind = names.get(type(value), "a nested value")
            if value is not None and kinds.setdefault(name, kind) != kind:
                raise DataError(
                    f"{path}, line {line}, column {name!r}: {kind}, but {kinds[name]} further up."
                )


def _locate_json_line(path: Path, row: int) -> str:
    for number, (line, _) in enumerate(_json_lines(path)):
        if number == row:
            return f"line {line}"
    return f"row {row + 1}"


READERS: dict[str, Opener] = {
    ".csv": partial(open_csv, separator=","),
    ".tsv": partial(open_csv, separator="\t"),
    ".tab": partial(open_csv, separator="\t"),
    ".parquet": _open_parquet,
    ".pq": _open_parquet,
    ".npy": _open_npy,
    ".jsonl": _open_json_lines,
    ".ndjson": _open_json_lines,
}
"""What opens a file, by the ending of its name."""
