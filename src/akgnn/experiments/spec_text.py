"""The text of a spec: fields of its tables, checked, and errors that say the file and the line."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from akgnn.errors import AkgnnError, SpecError, UnknownNameError
from akgnn.runs.config import line_of

NEEDED = object()
"""The default of a field that must be there."""
Fields = Mapping[str, tuple[type | tuple[type, ...], Any]]
"""The fields of a table, each with what TOML must give and its default."""
_TYPES = {str: "text", list: "a list", int: "an integer", bool: "true or false", dict: "a table"}


@dataclass(frozen=True)
class SpecText:
    """The text of a file, which knows where in it each value stands.

    Where a method takes a `row`, it is about that one of the `[[rows]]`, counted from 0.
    """

    path: Path
    text: str

    def fields(
        self, table: Mapping[str, Any], fields: Fields, row: int | None = None
    ) -> dict[str, Any]:
        """The values of a table by name, or their defaults; what does not fit is an error."""
        for name, value in table.items():
            if name not in fields:
                raise self.error(UnknownNameError("field", name, fields), name, row)
            kind = fields[name][0]
            kinds = kind if isinstance(kind, tuple) else (kind,)
            if type(value) not in kinds:
                expected = " or ".join(_TYPES[kind] for kind in kinds)
                raise self.error(f"{name} must be {expected}, got {value!r}", name, row)
        for name, (_, default) in fields.items():
            if default is NEEDED and name not in table:
                raise self.error(f"the field {name!r} is missing", None, row)
        return {name: table.get(name, default) for name, (_, default) in fields.items()}

    @contextmanager
    def at(self, name: str, row: int | None = None) -> Iterator[None]:
        """Inside, what is wrong is said with the line of a name."""
        try:
            yield
        except AkgnnError as error:
            raise self.error(error, name, row) from error

    def error(self, cause: AkgnnError | str, name: str | None, row: int | None = None) -> SpecError:
        """What is wrong, with the line of a name, or of the beginning of a row."""
        message = f"{cause.rstrip('.')}." if isinstance(cause, str) else str(cause)
        table = None if row is None else "rows"
        line = line_of(self.text, name, table, row or 0)
        return SpecError(f"{self.path}, line {line}: {message}")
