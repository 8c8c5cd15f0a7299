"""Reading specs from TOML files, with errors that name the file, the line and the choices."""

import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from akgnn.data.catalogue import check_dataset, check_split, generated_settings, is_random_split
from akgnn.errors import AkgnnError, SpecError, UnknownNameError
from akgnn.experiments import SPECS
from akgnn.experiments.spec import DRAW_SIGN, SHOWN, Cell, Published, Row, Spec
from akgnn.files import read_file
from akgnn.runs.config import line_of
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.settings import MOST_RUNS, Settings, count
from akgnn.training.metrics import METRICS

# Beyond this lies a slip, such as a table of data.
_MOST_BYTES = 10_000_000
SPECS_FOLDER = Path(__file__).parent / "specs"


def load_spec(name: str) -> Spec:
    """A spec that comes with akgnn, or one in a TOML file of one's own."""
    if name.endswith(".toml"):
        return read_spec(Path(name))
    if name not in SPECS:
        raise UnknownNameError("experiment", name, [*SPECS, "FILE.toml"])
    return read_spec(SPECS_FOLDER / f"{name}.toml")


def read_spec(path: Path) -> Spec:
    """Read and check a spec; an error names the file, the line and the choices."""
    try:
        text = read_file(path, _MOST_BYTES, SpecError).decode("utf-8")
    except UnicodeDecodeError as error:
        raise SpecError(f"{path} cannot be read: it is not UTF-8 text.") from error
    try:
        table = tomllib.loads(text)
    except ValueError as error:
        raise SpecError(f"{path} is not TOML: {error}.") from error
    except RecursionError as error:
        raise SpecError(f"{path} is nested too deeply.") from error
    return _Reader(path, text).spec(table)


# The fields of a spec and of its rows, each with what TOML must give and its default; a field
# without default must be there.
_NEEDED = object()
_Fields = dict[str, tuple[type | tuple[type, ...], Any]]
_SPEC_FIELDS: _Fields = {
    "title": (str, _NEEDED),
    "about": (str, ""),
    "shows": (str, "table"),
    "datasets": (list, _NEEDED),
    "seeds": (int, 10),
    "draws": (int, None),
    "split": ((str, dict), {}),
    "metric": (dict, {}),
    "keep_history": (bool, False),
    "search": (bool, False),
    "vary": (dict, {}),
    "rows": (list, _NEEDED),
}
_ROW_FIELDS: _Fields = {
    "label": (str, _NEEDED),
    "model": (str, _NEEDED),
    "preset": (str, "paper"),
    "direction": (str, "symmetrised"),
    "features": (str, "auto"),
    "set": (dict, {}),
    "seeds": (int, None),
    "published": (dict, {}),
    "about": (str, ""),
}
_TYPES = {str: "text", list: "a list", int: "an integer", bool: "true or false", dict: "a table"}


@dataclass(frozen=True, kw_only=True)
class _Counts(Settings):
    seeds: int = count(10, most=MOST_RUNS)
    draws: int = count(1, most=MOST_RUNS)


class _Reader:
    """Turns the tables of one file into a spec, and knows where in the file each value stands."""

    datasets: list[str]
    splits: Mapping[str, str]
    metrics: Mapping[str, str]
    points: list[dict[str, Any]]
    draws: int | None

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path, text

    def spec(self, table: dict[str, Any]) -> Spec:
        values = self._fields(table, _SPEC_FIELDS)
        if values["shows"] not in SHOWN:
            error = UnknownNameError("kind of page for 'shows':", values["shows"], SHOWN)
            raise self._error(error, "shows")
        self._check_count("seeds", values["seeds"])
        self.datasets, self.draws = values["datasets"], values["draws"]
        self._check_datasets()
        self._check_count("draws", self.draws)
        self.splits = self._splits(values["split"])
        self.metrics = self._metrics(values["metric"])
        self.points = self._points(values["vary"])
        self._check_draws()
        if values["shows"] == "homophily":
            self._check_generated()
        if not values["rows"]:
            raise self._error("a spec needs at least one [[rows]]", "rows")
        cells = [
            cell
            for number, row in enumerate(values["rows"])
            for cell in self._cells(self._row(row, number, values["seeds"]), number)
        ]
        if not cells:
            raise self._error("the spec has nothing to measure", "datasets")
        return Spec(
            name=self.path.stem,
            title=values["title"],
            about=values["about"],
            shows=values["shows"],
            keeps_history=values["keep_history"],
            is_search=values["search"],
            cells=tuple(cells),
        )

    def _check_datasets(self) -> None:
        with self._at("datasets"):
            for name in self.datasets:
                settings = RunSettings.from_mapping({"dataset": name})
                check_dataset(_drawn(settings.dataset))

    def _check_generated(self) -> None:
        """A figure over homophily needs graphs whose name says it."""
        for name in self.datasets:
            if generated_settings(_drawn(name)) is None:
                message = f"shows = 'homophily' needs data sets csbm:homophily=…, got {name!r}"
                raise self._error(message, "datasets")

    def _splits(self, split: str | dict[str, Any]) -> Mapping[str, str]:
        """The split of each data set that does not keep its own, from one text or a table."""
        splits = dict.fromkeys(self.datasets, split) if isinstance(split, str) else split
        for name, text in splits.items():
            self._check_named("split", name)
            if not isinstance(text, str):
                raise self._error(f"the split of {name} must be text, got {text!r}", "split")
            with self._at("split"):
                check_split(re.sub(f"-{DRAW_SIGN}$", "-0", text))
        return splits

    def _metrics(self, metrics: dict[str, Any]) -> Mapping[str, str]:
        for name, metric in metrics.items():
            self._check_named("metric", name)
            if metric not in METRICS:
                raise self._error(UnknownNameError("metric", str(metric), METRICS), "metric")
        return metrics

    def _check_named(self, field: str, name: str) -> None:
        """Refuse a table with a data set that the spec does not have."""
        if name not in self.datasets:
            raise self._error(UnknownNameError("data set", name, self.datasets), field)

    def _points(self, vary: dict[str, Any]) -> list[dict[str, Any]]:
        """The points of the grid."""
        for name, choices in vary.items():
            if not (isinstance(choices, list) and choices):
                raise self._error(f"{name} must be a list of values to try", name)
        return [dict(zip(vary, point, strict=True)) for point in itertools.product(*vary.values())]

    def _check_draws(self) -> None:
        """Draws and what they are for must come together."""
        texts = {"datasets": self.datasets, "split": self.splits.values()}
        signed = [field for field, names in texts.items() if DRAW_SIGN in "".join(names)]
        if signed and self.draws is None:
            message = f"{DRAW_SIGN} stands for the draw, but the field 'draws' is missing"
            raise self._error(message, signed[0])
        is_drawn = signed or any(map(is_random_split, self.splits.values()))
        if self.draws is not None and not is_drawn:
            message = f"draws needs a data set or split with {DRAW_SIGN} in its name, or a random"
            raise self._error(f"{message} split", "draws")

    def _row(self, table: Any, number: int, seeds: int) -> Row:
        if not isinstance(table, dict):
            raise self._error("rows are written as [[rows]]", "rows")
        values = self._fields(table, _ROW_FIELDS, number)
        self._check_count("seeds", values["seeds"], number)
        published = {
            name: self._published(value, name, number)
            for name, value in values["published"].items()
        }
        with self._at("direction", number):
            direction = RunSettings(direction=values["direction"]).direction
        with self._at("features", number):
            features = RunSettings(features=values["features"]).features
        return Row(
            values["label"],
            values["model"],
            values["preset"],
            values["set"],
            seeds if values["seeds"] is None else values["seeds"],
            published,
            values["about"],
            direction,
            features,
        )

    def _cells(self, row: Row, number: int) -> list[Cell]:
        unknown = set(row.published) - set(self.datasets)
        if unknown:
            error = UnknownNameError("data set", min(unknown), self.datasets)
            raise self._error(error, min(unknown), number)
        return [
            self._cell(row, number, dataset, point)
            for dataset in self.datasets
            for point in self.points
        ]

    def _cell(self, row: Row, number: int, dataset: str, point: dict[str, Any]) -> Cell:
        split = self.splits.get(dataset)
        settings = RunSettings(
            dataset=dataset,
            split=split,
            direction=row.direction,
            features=row.features,
            model=row.model,
            preset=row.preset,
        )
        try:
            plan = RunPlan.make(settings, {**row.changes, **point})
        except AkgnnError as error:
            # The name that the message speaks of first says which line it is about.
            names = [*row.changes, *point, row.model, row.preset]
            said = re.search(rf"(?<!\w)({'|'.join(map(re.escape, names))})(?!\w)", str(error))
            raise self._error(error, said[1] if said else "model", number) from error
        return Cell(
            row,
            dataset,
            point,
            plan,
            splits=split is not None and is_random_split(_drawn(split)),
            draws=self.draws,
            metric=self.metrics.get(dataset, "accuracy"),
        )

    def _published(self, value: Any, name: str, number: int) -> Published:
        """A number, or [mean, deviation]."""
        values = value if isinstance(value, list) else [value]
        if not (1 <= len(values) <= 2 and all(type(part) in (int, float) for part in values)):
            message = f"the published value of {name} must be a number or [mean, deviation], "
            raise self._error(f"{message}got {value!r}", name, number)
        return Published(*map(float, values))

    def _check_count(self, name: str, value: int | None, row: int | None = None) -> None:
        if value is not None:
            with self._at(name, row):
                _Counts.from_mapping({name: value})

    def _fields(
        self, table: dict[str, Any], fields: _Fields, row: int | None = None
    ) -> dict[str, Any]:
        for name, value in table.items():
            if name not in fields:
                raise self._error(UnknownNameError("field", name, fields), name, row)
            kind = fields[name][0]
            kinds = kind if isinstance(kind, tuple) else (kind,)
            if type(value) not in kinds:
                expected = " or ".join(_TYPES[kind] for kind in kinds)
                raise self._error(f"{name} must be {expected}, got {value!r}", name, row)
        for name, (_, default) in fields.items():
            if default is _NEEDED and name not in table:
                raise self._error(f"the field {name!r} is missing", None, row)
        return {name: table.get(name, default) for name, (_, default) in fields.items()}

    @contextmanager
    def _at(self, name: str, row: int | None = None) -> Iterator[None]:
        """Inside, what is wrong is said with the line of a name."""
        try:
            yield
        except AkgnnError as error:
            raise self._error(error, name, row) from error

    def _error(
        self, cause: AkgnnError | str, name: str | None, row: int | None = None
    ) -> SpecError:
        message = f"{cause.rstrip('.')}." if isinstance(cause, str) else str(cause)
        table = None if row is None else "rows"
        line = line_of(self.text, name, table, row or 0)
        return SpecError(f"{self.path}, line {line}: {message}")


def _drawn(text: str) -> str:
    """A name as it is of draw 0."""
    return text.replace(DRAW_SIGN, "0")
