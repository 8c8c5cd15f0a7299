"""JSON lines: an object a line, whose keys are the columns."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from akgnn.data.tables.arrow import pa
from akgnn.data.tables.table import TableSource, in_memory, in_one_line
from akgnn.errors import DataError

_BLOCK = 2**24


def open_json_lines(path: Path) -> TableSource:
    """Read the file; which columns there are is known only at its end."""
    return in_memory(str(path), _read(path), partial(_place, path))


def _read(path: Path) -> pa.Table:
    import pyarrow.json as arrow_json

    first = next((content for _, content in _lines(path)), None)
    if first is None:
        raise DataError(f"{path} is empty; each line must hold a JSON object.")
    # Left to itself, pyarrow takes texts that look like dates for dates.
    texts = [(name, pa.string()) for name, value in first.items() if isinstance(value, str)]
    options = arrow_json.ParseOptions(explicit_schema=pa.schema(texts))
    try:
        table = arrow_json.read_json(path, arrow_json.ReadOptions(block_size=_BLOCK), options)
        table.validate(full=True)
        names = [*first, *(name for name in table.schema.names if name not in first)]
    except (pa.ArrowException, UnicodeDecodeError) as error:
        kinds: dict[str, str] = {}
        for line, content in _lines(path):
            _check_kinds(path, line, content, kinds)
        raise DataError(f"{path}: {in_one_line(error)}.") from error
    # In the order of the file, not of the schema.
    return table.select(names)


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects with their lines; anything else is an error."""
    with path.open("rb") as stream:
        for line, text in enumerate(stream, start=1):
            if not text.strip():
                continue
            try:
                content = json.loads(text)
            except UnicodeDecodeError as error:
                raise DataError(f"{path}, line {line}: not UTF-8.") from error
            except (ValueError, RecursionError) as error:
                raise DataError(f"{path}, line {line}: no JSON ({in_one_line(error)}).") from error
            if not isinstance(content, dict):
                raise DataError(
                    f"{path}, line {line}: expected an object such as "
                    f'{{"id": "a", "label": "b"}}, got {type(content).__name__}.'
                )
            yield line, content


def _check_kinds(path: Path, line: int, content: dict[str, Any], kinds: dict[str, str]) -> None:
    names = {str: "text", bool: "true or false", int: "a number", float: "a number"}
    for name, value in content.items():
        if value is None:
            continue
        kind = names.get(type(value), "a nested value")
        if kinds.setdefault(name, kind) != kind:
            raise DataError(
                f"{path}, line {line}, column {name!r}: {kind}, but {kinds[name]} further up."
            )


def _place(path: Path, row: int) -> str:
    for number, (line, _) in enumerate(_lines(path)):
        if number == row:
            return f"line {line}"
    return f"row {row + 1}"
