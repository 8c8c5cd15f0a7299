"""Every kind of table behind one function: files by the ending of their name, and DataFrames."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Literal

from akgnn.data.tables.arrow import pa
from akgnn.data.tables.csv_file import open_csv
from akgnn.data.tables.json_lines import open_json_lines
from akgnn.data.tables.table import TableSource, in_memory, in_one_line, row_number
from akgnn.errors import DataError, MissingExtraError

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PARQUET, _JSON_LINES = (".parquet", ".pq"), (".jsonl", ".ndjson")


def open_table(given: Any, kind: Literal["node", "edge"]) -> TableSource:
    """Open a file, or take a DataFrame.

    Args:
        given: A path, a DataFrame that narwhals knows (pandas, polars, pyarrow and others), or
            what this function gave before.
        kind: What to call it in messages.
    """
    if isinstance(given, TableSource):
        return given
    if not isinstance(given, str | Path):
        name = f"the {kind} table"
        return in_memory(name, given if isinstance(given, pa.Table) else _to_arrow(given, name))
    if not str(given):
        raise DataError(f"There is no {kind} table; name its file with --{kind}s.")
    path = Path(given)
    try:
        return _open_file(path)
    except FileNotFoundError as error:
        raise DataError(f"The {kind} table {path} does not exist.") from error
    except IsADirectoryError as error:
        raise DataError(f"The {kind} table {path} is a folder, not a file.") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error


def _open_file(path: Path) -> TableSource:
    if path.is_dir():
        raise IsADirectoryError
    ending = path.suffix.lower()
    if ending in _SEPARATORS:
        return open_csv(path, _SEPARATORS[ending])
    if ending in _PARQUET:
        return _open_parquet(path)
    if ending in _JSON_LINES:
        return open_json_lines(path)
    known = ", ".join([*_SEPARATORS, *_PARQUET, *_JSON_LINES])
    raise DataError(f"{path}: the ending must say what the file is, one of {known}.")


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
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{path} is damaged ({in_one_line(error)}).") from error

    return TableSource(str(path), names, read, row_number)


def _to_arrow(frame: Any, name: str) -> pa.Table:
    try:
        import narwhals as nw
        from narwhals.exceptions import NarwhalsError
    except ImportError as error:
        raise MissingExtraError("A DataFrame", "tables") from error
    try:
        held = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise DataError(
            f"{name} must be a path or a DataFrame held in memory (pandas, polars, pyarrow), got "
            f"{type(frame).__name__}."
        ) from error
    except NarwhalsError as error:
        raise DataError(f"{name} cannot be read: {in_one_line(error)}.") from error
    columns = []
    for column in held.columns:
        try:
            columns.append(held.get_column(column).to_arrow())
        except (pa.ArrowException, OverflowError) as error:
            raise DataError(
                f"{name}, column {column!r}: values of one kind are needed, all text or all "
                f"numbers of 64 bits ({in_one_line(error)})."
            ) from error
    # pandas lets numbers be names.
    return pa.table(columns, names=[str(column) for column in held.columns])
