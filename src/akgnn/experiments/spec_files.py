"""Reading specs from TOML files, with errors that name the file, the line and the choices."""

import itertools
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from akgnn.data.catalogue import check_dataset, check_split
from akgnn.errors import AkgnnError, SettingsError, SpecError, UnknownNameError
from akgnn.experiments.bundled import spec_names, spec_path
from akgnn.experiments.spec import Cell, Published, Row, Shown, Spec
from akgnn.settings import MOST_RUNS, Settings, count
from akgnn.training.plan import RunPlan, RunSettings


def load_spec(name: str) -> Spec:
    """A spec that comes with akgnn, or one in a TOML file of one's own."""
    if name.endswith(".toml"):
        return read_spec(Path(name))
    if name not in spec_names():
        raise UnknownNameError("experiment", name, [*spec_names(), "FILE.toml"])
    return read_spec(spec_path(name))


def read_spec(path: Path) -> Spec:
    """Read and check a spec; an error names the file, the line and the choices."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SpecError(f"{path} cannot be read: {cause}.") from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{path} is not TOML: {error}.") from error
    return _Reader(path, text).spec(table)


# The fields of a spec and of its rows, each with what TOML must give and its default; a field
# without default must be there.
_NEEDED = object()
_SPEC_FIELDS: dict[str, tuple[type, Any]] = {
    "title": (str, _NEEDED),
    "about": (str, ""),
    "shows": (str, "table"),
    "datasets": (list, _NEEDED),
    "seeds": (int, 10),
    "split": (str, None),
    "keep_history": (bool, False),
    "search": (bool, False),
    "vary": (dict, {}),
    "rows": (list, _NEEDED),
}
_ROW_FIELDS: dict[str, tuple[type, Any]] = {
    "label": (str, _NEEDED),
    "model": (str, _NEEDED),
    "preset": (str, "paper"),
    "set": (dict, {}),
    "seeds": (int, None),
    "published": (dict, {}),
    "about": (str, ""),
}
_TYPES = {
    str: "text",
    list: "a list",
    int: "a whole number",
    bool: "true or false",
    dict: "a table",
}


@dataclass(frozen=True, kw_only=True)
class _Seeds(Settings):
    seeds: int = count(10, most=MOST_RUNS)


class _Reader:
    """Turns the tables of one file into a spec, and knows where in the file each value stands."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.lines = path, text.splitlines()

    def spec(self, table: dict[str, Any]) -> Spec:
        values = self._fields(table, _SPEC_FIELDS, None)
        if values["shows"] not in get_args(Shown):
            error = UnknownNameError("kind of page for 'shows':", values["shows"], get_args(Shown))
            raise self._error(error, None, "shows")
        self._seeds(values["seeds"], None)
        if values["split"] is not None:
            try:
                check_split(values["split"])
            except AkgnnError as error:
                raise self._error(error, None, "split") from error
        if not values["rows"]:
            raise self._error("a spec needs at least one [[rows]]", None, "rows")
        cells = []
        for number, row_table in enumerate(values["rows"]):
            row = self._row(row_table, number, values["seeds"])
            cells += self._cells(row, number, values)
        if not cells:
            raise self._error("the spec has nothing to measure", None, "datasets")
        names = ("title", "about", "shows")
        texts = {name: values[name] for name in names}
        return Spec(
            name=self.path.stem,
            **texts,
            keeps_history=values["keep_history"],
            is_search=values["search"],
            cells=tuple(cells),
        )

    def _row(self, table: Any, number: int, seeds: int) -> Row:
        if not isinstance(table, dict):
            raise self._error("rows are written as [[rows]]", None, "rows")
        values = self._fields(table, _ROW_FIELDS, number)
        own = values["seeds"]
        if own is not None:
            self._seeds(own, number)
        published = {
            name: self._published(value, name, number)
            for name, value in values["published"].items()
        }
        return Row(
            values["label"],
            values["model"],
            values["preset"],
            values["set"],
            seeds if own is None else own,
            published,
            values["about"],
        )

    def _cells(self, row: Row, number: int, values: dict[str, Any]) -> list[Cell]:
        vary = values["vary"]
        for name, choices in vary.items():
            if not (isinstance(choices, list) and choices):
                raise self._error(f"{name} must be a list of values to try", None, name)
        points = [
            dict(zip(vary, point, strict=True)) for point in itertools.product(*vary.values())
        ]
        unknown = set(row.published) - set(values["datasets"])
        if unknown:
            error = UnknownNameError("data set", min(unknown), values["datasets"])
            raise self._error(error, number, min(unknown))
        return [
            self._cell(row, number, dataset, point, values["split"])
            for dataset in values["datasets"]
            for point in points
        ]

    def _cell(
        self, row: Row, number: int, dataset: Any, point: dict[str, Any], split: str | None
    ) -> Cell:
        try:
            which = {"dataset": dataset, "model": row.model, "preset": row.preset, "split": split}
            settings = RunSettings.from_mapping(which)
            check_dataset(settings.dataset)
        except AkgnnError as error:
            raise self._error(error, None, "datasets") from error
        try:
            plan = RunPlan.make(settings, {**row.changes, **point})
        except AkgnnError as error:
            # The name that the message speaks of first says which line it is about.
            names = [*row.changes, *point, row.model, row.preset]
            places = {
                name: re.search(rf"(?<!\w){re.escape(name)}(?!\w)", str(error)) for name in names
            }
            spoken = {name: place.start() for name, place in places.items() if place}
            blamed = min(spoken, key=spoken.__getitem__) if spoken else "model"
            raise self._error(error, number, blamed) from error
        return Cell(row, dataset, point, plan, split is not None)

    def _published(self, value: Any, name: str, number: int) -> Published:
        """A number, or [mean, deviation]."""
        values = value if isinstance(value, list) else [value]
        if not (1 <= len(values) <= 2 and all(type(part) in (int, float) for part in values)):
            raise self._error(
                f"the published value of {name} must be a number or [mean, deviation], "
                f"got {value!r}",
                number,
                name,
            )
        return Published(*(float(part) for part in values))

    def _seeds(self, seeds: int, row: int | None) -> None:
        try:
            _Seeds(seeds=seeds)
        except SettingsError as error:
            raise self._error(error, row, "seeds") from error

    def _fields(
        self, table: dict[str, Any], fields: dict[str, tuple[type, Any]], row: int | None
    ) -> dict[str, Any]:
        for name, value in table.items():
            if name not in fields:
                raise self._error(UnknownNameError("field", name, fields), row, name)
            kind = fields[name][0]
            if type(value) is not kind:
                raise self._error(f"{name} must be {_TYPES[kind]}, got {value!r}", row, name)
        for name, (_, default) in fields.items():
            if default is _NEEDED and name not in table:
                raise self._error(f"the field {name!r} is missing", row, None)
        return {name: table.get(name, default) for name, (_, default) in fields.items()}

    def _error(self, cause: AkgnnError | str, row: int | None, name: str | None) -> SpecError:
        message = str(cause).rstrip(".") if isinstance(cause, str) else str(cause)
        end = "." if isinstance(cause, str) else ""
        return SpecError(f"{self.path}, line {self._line(row, name)}: {message}{end}")

    def _line(self, row: int | None, name: str | None) -> int:
        """The line that sets `name` within a row, or outside of all rows; from 1 on."""
        heads = [k for k, line in enumerate(self.lines) if re.match(r"\s*\[\[\s*rows\s*\]\]", line)]
        if row is None or row >= len(heads):
            places = [k for k in range(len(self.lines)) if not heads or k < heads[0]]
            # A table such as [vary] may stand after the rows.
            places += [k for k in range(len(self.lines)) if k not in places]
            first = 0
        else:
            first = heads[row]
            stop = heads[row + 1] if row + 1 < len(heads) else len(self.lines)
            places = list(range(first, stop))
        if name is None:
            return first + 1
        word = re.compile(rf"(?<![\w-])\"?{re.escape(name)}\"?(?![\w-])")
        found = [k for k in places if word.search(self.lines[k].partition("#")[0])]
        if not found and row is not None:
            return self._line(None, name)
        return (found[0] if found else first) + 1
