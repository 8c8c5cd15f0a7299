"""CSV and TSV files: read by pyarrow, and looked at again line by line where something is wrong."""

import codecs
import csv
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from akgnn.data.tables.table import ROWS_AT_ONCE, TableSource, in_one_line, pa
from akgnn.errors import DataError

_NAMES = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
# Written for a missing number; of texts only the empty one is missing.
_MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None"]
_BEGINNING, _BLOCK = 2**20, 2**22


def open_csv(path: Path, separator: str) -> TableSource:
    """Read the names of the columns in the first line, and find out whether this is such a file."""
    names = _header(path, separator)
    _check_header(path, separator, names)
    read, stream = partial(_read, path, separator), partial(_stream, path, separator)
    return TableSource(str(path), tuple(names), read, partial(_locate, path, separator), stream)


def _header(path: Path, separator: str) -> list[str]:
    with path.open("rb") as stream:
        beginning = stream.read(_BEGINNING)
    # A byte-order mark alone says nothing.
    if not beginning.removeprefix(codecs.BOM_UTF8).strip():
        raise DataError(f"{path} is empty; its first line must name the columns.")
    if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataError(f"{path} is UTF-16; save it as UTF-8 (iconv -f UTF-16 -t UTF-8).")
    if b"\0" in beginning:
        raise DataError(
            f"{path} is no text file: it holds zero bytes. Is it a spreadsheet or an archive?"
        )
    try:
        # The last character may be cut in two, which an incremental decoder waits for.
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(beginning)
    except UnicodeDecodeError as error:
        raise _not_utf8(path, beginning[: error.start].count(b"\n") + 1) from error
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        return next(row for row in reader if row)
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}.") from error


def _check_header(path: Path, separator: str, names: Sequence[str]) -> None:
    if len(names) == 1:
        for other, words in _NAMES.items():
            if other != separator and other in names[0]:
                right = {",": ".csv", "\t": ".tsv"}.get(other)
                advice = f"call it {right}" if right else "convert it"
                raise DataError(
                    f"{path} has one column, {names[0][:60]!r}: its separators look like {words}, "
                    f"but the name says {_NAMES[separator]}; {advice}."
                )
    if all(_is_number(name) for name in names):
        examples = ", ".join(repr(name) for name in names[:5])
        raise DataError(f"{path}: line 1 must name the columns, but it holds {examples}.")


def _read(path: Path, separator: str, columns: Sequence[str], text: Collection[str]) -> pa.Table:
    import pyarrow.csv as arrow_csv

    types = dict.fromkeys(text, pa.string())
    try:
        table = arrow_csv.read_csv(path, **_options(separator, columns, types))
    except pa.ArrowMemoryError:
        raise
    except pa.ArrowException as error:
        raise _explained(path, separator, in_one_line(error)) from error
    if any(pa.types.is_binary(kind) for kind in table.schema.types):
        raise _explained(path, separator, "it holds bytes that are no text")
    return table


def _stream(
    path: Path, separator: str, columns: Sequence[str], text: Collection[str]
) -> Iterator[pa.Table]:
    """The same block by block; columns that are no text are numbers, whatever the first rows hold.

    Blocks are put together, as each is looked up among all ids.
    """
    import pyarrow.csv as arrow_csv

    types = {name: pa.string() if name in text else pa.float64() for name in columns}
    kept: list[pa.RecordBatch] = []
    try:
        # One thread, which reads nothing ahead: memory holds a block.
        options = _options(separator, columns, types, use_threads=False)
        reader = arrow_csv.open_csv(path, **options)
        for batch in reader:
            kept.append(batch)
            if sum(each.num_rows for each in kept) >= ROWS_AT_ONCE:
                yield pa.Table.from_batches(kept)
                kept.clear()
        if kept:
            yield pa.Table.from_batches(kept)
    except pa.ArrowMemoryError:
        raise
    except pa.ArrowException as error:
        raise _explained(path, separator, in_one_line(error)) from error


def _options(
    separator: str,
    columns: Sequence[str],
    types: Mapping[str, pa.DataType],
    *,
    use_threads: bool = True,
) -> dict[str, Any]:
    import pyarrow.csv as arrow_csv

    return {
        "read_options": arrow_csv.ReadOptions(block_size=_BLOCK, use_threads=use_threads),
        "parse_options": arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        "convert_options": arrow_csv.ConvertOptions(
            include_columns=list(columns),
            column_types=types,
            null_values=_MISSING,
            strings_can_be_null=False,
        ),
    }


def _rows(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The rows with the line that each starts in, without empty ones; the header is the first."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, delimiter=separator)
        line = 1
        for row in reader:
            if row:
                yield line, row
            line = reader.line_num + 1


def _locate(path: Path, separator: str, row: int) -> str:
    try:
        for number, (line, _) in enumerate(_rows(path, separator), start=-1):
            if number == row:
                return f"line {line}"
    except csv.Error:
        # A field before it is longer than this reader takes.
        pass
    return f"row {row + 1} after the header"


def _explained(path: Path, separator: str, message: str) -> DataError:
    """What pyarrow did not like, with its line."""
    with path.open("rb") as stream:
        for number, content in enumerate(stream, start=1):
            try:
                content.decode()
            except UnicodeDecodeError:
                return _not_utf8(path, number)
    line, width = 0, None
    try:
        for line, row in _rows(path, separator):
            width = len(row) if width is None else width
            if len(row) != width:
                advice = " Was a quote left open?" if any("\n" in field for field in row) else ""
                return DataError(
                    f"{path}, line {line}: {len(row)} fields, but the header has {width}.{advice}"
                )
    except csv.Error as error:
        return DataError(f"{path}, after line {line}: {error}. Was a quote left open?")
    return DataError(f"{path}: {message}.")


def _not_utf8(path: Path, line: int) -> DataError:
    return DataError(
        f"{path}, line {line}: not UTF-8, perhaps Windows-1252 or Latin-1; convert it "
        "(iconv -f WINDOWS-1252 -t UTF-8)."
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
