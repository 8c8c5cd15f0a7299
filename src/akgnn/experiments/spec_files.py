"""Reading specs from TOML files, with errors that name the file, the line and the choices."""

import itertools
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from akgnn.data.catalogue import (
    check_dataset,
    check_split,
    generated_settings,
    is_random_split,
)
from akgnn.errors import AkgnnError, SettingsError, SpecError, UnknownNameError
from akgnn.experiments.bundled import spec_names, spec_path
from akgnn.experiments.spec import DRAW_SIGN, Cell, Metric, Published, Row, Shown, Spec
from akgnn.experiments.toml_lines import TomlLines
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
class _Counts(Settings):
    seeds: int = count(10, most=MOST_RUNS)
    draws: int = count(1, most=MOST_RUNS)


@dataclass(frozen=True)
class _Shared:
    """What all rows of a spec share.

    Attributes:
        datasets: Their names.
        splits: The split of each data set that does not keep its own.
        metrics: By data set, where it is another than accuracy.
        points: Of the grid.
        draws: How many draws the runs go round.
    """

    datasets: list[str]
    splits: dict[str, str]
    metrics: dict[str, Metric]
    points: list[dict[str, Any]]
    draws: int | None


class _Reader:
    """Turns the tables of one file into a spec, and knows where in the file each value stands."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.lines = path, TomlLines(text)

    def spec(self, table: dict[str, Any]) -> Spec:
        values = self._fields(table, _SPEC_FIELDS, None)
        if values["shows"] not in get_args(Shown):
            error = UnknownNameError("kind of page for 'shows':", values["shows"], get_args(Shown))
            raise self._error(error, None, "shows")
        self._count("seeds", values["seeds"], None)
        shared = self._shared(values)
        if values["shows"] == "homophily":
            self._check_generated(shared.datasets)
        if not values["rows"]:
            raise self._error("a spec needs at least one [[rows]]", None, "rows")
        cells = []
        for number, row_table in enumerate(values["rows"]):
            row = self._row(row_table, number, values["seeds"])
            cells += self._cells(row, number, shared)
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

    def _shared(self, values: dict[str, Any]) -> _Shared:
        datasets, draws = values["datasets"], values["draws"]
        for name in datasets:
            self._check_dataset(name)
        if draws is not None:
            self._count("draws", draws, None)
        shared = _Shared(
            datasets,
            self._splits(values["split"], datasets),
            self._metrics(values["metric"], datasets),
            self._points(values["vary"]),
            draws,
        )
        self._check_draws(shared)
        return shared

    def _check_dataset(self, name: Any) -> None:
        try:
            settings = RunSettings.from_mapping({"dataset": name})
            check_dataset(settings.dataset.replace(DRAW_SIGN, "0"))
        except AkgnnError as error:
            raise self._error(error, None, "datasets") from error

    def _check_generated(self, datasets: list[str]) -> None:
        """A figure over homophily needs graphs whose name says it."""
        for name in datasets:
            if generated_settings(name.replace(DRAW_SIGN, "0")) is None:
                message = f"shows = 'homophily' needs data sets csbm:homophily=…, got {name!r}"
                raise self._error(message, None, "datasets")

    def _splits(self, split: str | dict[str, Any], datasets: list[str]) -> dict[str, str]:
        """The split of each data set, from one text for all or a table."""
        splits = dict.fromkeys(datasets, split) if isinstance(split, str) else split
        for name, text in splits.items():
            self._check_named("split", name, datasets)
            if not isinstance(text, str):
                raise self._error(f"the split of {name} must be text, got {text!r}", None, "split")
            try:
                check_split(re.sub(f"-{DRAW_SIGN}$", "-0", text))
            except AkgnnError as error:
                raise self._error(error, None, "split") from error
        return splits

    def _metrics(self, metrics: dict[str, Any], datasets: list[str]) -> dict[str, Metric]:
        for name, metric in metrics.items():
            self._check_named("metric", name, datasets)
            if metric not in get_args(Metric):
                error = UnknownNameError("metric", str(metric), get_args(Metric))
                raise self._error(error, None, "metric")
        return metrics

    def _check_named(self, field: str, name: str, datasets: list[str]) -> None:
        """Refuse a table with a data set that the spec does not have."""
        if name not in datasets:
            raise self._error(UnknownNameError("data set", name, datasets), None, field)

    def _points(self, vary: dict[str, Any]) -> list[dict[str, Any]]:
        for name, choices in vary.items():
            if not (isinstance(choices, list) and choices):
                raise self._error(f"{name} must be a list of values to try", None, name)
        return [dict(zip(vary, point, strict=True)) for point in itertools.product(*vary.values())]

    def _check_draws(self, shared: _Shared) -> None:
        """Draws and what they are for must come together."""
        texts = {"datasets": shared.datasets, "split": shared.splits.values()}
        signed = [
            field for field, names in texts.items() if any(DRAW_SIGN in name for name in names)
        ]
        if signed and shared.draws is None:
            message = f"{DRAW_SIGN} stands for the draw, but the field 'draws' is missing"
            raise self._error(message, None, signed[0])
        is_drawn = signed or any(map(is_random_split, shared.splits.values()))
        if shared.draws is not None and not is_drawn:
            message = f"draws needs a data set or split with {DRAW_SIGN} in its name, or a random"
            raise self._error(f"{message} split", None, "draws")

    def _row(self, table: Any, number: int, seeds: int) -> Row:
        if not isinstance(table, dict):
            raise self._error("rows are written as [[rows]]", None, "rows")
        values = self._fields(table, _ROW_FIELDS, number)
        own = values["seeds"]
        if own is not None:
            self._count("seeds", own, number)
        published = {
            name: self._published(value, name, number)
            for name, value in values["published"].items()
        }
        try:
            direction = RunSettings(direction=values["direction"]).direction
        except SettingsError as error:
            raise self._error(error, number, "direction") from error
        return Row(
            values["label"],
            values["model"],
            values["preset"],
            values["set"],
            seeds if own is None else own,
            published,
            values["about"],
            direction,
        )

    def _cells(self, row: Row, number: int, shared: _Shared) -> list[Cell]:
        unknown = set(row.published) - set(shared.datasets)
        if unknown:
            error = UnknownNameError("data set", min(unknown), shared.datasets)
            raise self._error(error, number, min(unknown))
        return [
            self._cell(row, number, dataset, point, shared)
            for dataset in shared.datasets
            for point in shared.points
        ]

    def _cell(
        self, row: Row, number: int, dataset: str, point: dict[str, Any], shared: _Shared
    ) -> Cell:
        split = shared.splits.get(dataset)
        settings = RunSettings(
            dataset=dataset,
            split=split,
            direction=row.direction,
            model=row.model,
            preset=row.preset,
        )
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
        return Cell(
            row,
            dataset,
            point,
            plan,
            splits=split is not None and is_random_split(split.replace(DRAW_SIGN, "0")),
            draws=shared.draws,
            metric=shared.metrics.get(dataset, "accuracy"),
        )

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

    def _count(self, name: str, value: int, row: int | None) -> None:
        try:
            _Counts.from_mapping({name: value})
        except SettingsError as error:
            raise self._error(error, row, name) from error

    def _fields(self, table: dict[str, Any], fields: _Fields, row: int | None) -> dict[str, Any]:
        for name, value in table.items():
            if name not in fields:
                raise self._error(UnknownNameError("field", name, fields), row, name)
            kind = fields[name][0]
            kinds = kind if isinstance(kind, tuple) else (kind,)
            if type(value) not in kinds:
                expected = " or ".join(_TYPES[kind] for kind in kinds)
                raise self._error(f"{name} must be {expected}, got {value!r}", row, name)
        for name, (_, default) in fields.items():
            if default is _NEEDED and name not in table:
                raise self._error(f"the field {name!r} is missing", row, None)
        return {name: table.get(name, default) for name, (_, default) in fields.items()}

    def _error(self, cause: AkgnnError | str, row: int | None, name: str | None) -> SpecError:
        message = str(cause).rstrip(".") if isinstance(cause, str) else str(cause)
        end = "." if isinstance(cause, str) else ""
        return SpecError(f"{self.path}, line {self.lines.find(row, name)}: {message}{end}")
