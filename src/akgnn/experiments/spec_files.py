"""Reading specs from TOML files, with errors that name the file, the line and the choices."""

import itertools
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from akgnn.data.catalogue import (
    GENERATED,
    base_name,
    check_dataset,
    check_split,
    generated_settings,
    is_random_split,
)
from akgnn.data.noise import NoiseSettings
from akgnn.errors import AkgnnError, SpecError, UnknownNameError
from akgnn.experiments import SPECS
from akgnn.experiments.spec import (
    DRAW_SIGN,
    NOISE,
    SHOWN,
    SPLIT,
    Cell,
    Published,
    Row,
    Spec,
    settings_in,
)
from akgnn.experiments.spec_text import NEEDED, Fields, SpecText
from akgnn.files import read_file
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


_SPEC_FIELDS: Fields = {
    "title": (str, NEEDED),
    "about": (str, ""),
    "shows": (str, "table"),
    "datasets": (list, NEEDED),
    "seeds": (int, 10),
    "draws": (int, None),
    "split": ((str, dict), {}),
    "metric": (dict, {}),
    "keep_history": (bool, False),
    "search": (bool, False),
    "vary": (dict, {}),
    "rows": (list, NEEDED),
}
_ROW_FIELDS: Fields = {
    "label": (str, NEEDED),
    "model": (str, NEEDED),
    "preset": (str, "paper"),
    "direction": (str, "symmetrised"),
    "features": (str, "auto"),
    "set": (dict, {}),
    "tries": (list, []),
    "seeds": (int, None),
    "published": (dict, {}),
    "about": (str, ""),
}
# Of a row that chooses among others by validation.
_CHOOSING_FIELDS: Fields = {
    "label": (str, NEEDED),
    "chooses": (list, NEEDED),
    "published": (dict, {}),
    "about": (str, ""),
}


@dataclass(frozen=True, kw_only=True)
class _Counts(Settings):
    seeds: int = count(10, most=MOST_RUNS)
    draws: int = count(1, most=MOST_RUNS)


class _Reader:
    """Turns the tables of one file into a spec."""

    datasets: list[str]
    splits: Mapping[str, str]
    metrics: Mapping[str, str]
    points: list[dict[str, Any]]
    draws: int | None

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path, SpecText(path, text)

    def spec(self, table: dict[str, Any]) -> Spec:
        values = self.text.fields(table, _SPEC_FIELDS)
        if values["shows"] not in SHOWN:
            error = UnknownNameError("kind of page for 'shows':", values["shows"], SHOWN)
            raise self.text.error(error, "shows")
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
        if values["shows"] == "varied" and len(values["vary"]) != 1:
            raise self.text.error("shows = 'varied' needs [vary] with one setting", "shows")
        if not values["rows"]:
            raise self.text.error("a spec needs at least one [[rows]]", "rows")
        rows = [self._row(row, n, values["seeds"]) for n, row in enumerate(values["rows"])]
        self._check_labels(rows)
        return Spec(
            name=self.path.stem,
            title=values["title"],
            about=values["about"],
            shows=values["shows"],
            keeps_history=values["keep_history"],
            is_search=values["search"],
            cells=tuple(self._all_cells(rows)),
        )

    def _check_datasets(self) -> None:
        if not self.datasets:
            raise self.text.error("the spec has nothing to measure", "datasets")
        with self.text.at("datasets"):
            for name in self.datasets:
                settings = RunSettings.from_mapping({"dataset": name})
                check_dataset(_drawn(settings.dataset))

    def _check_generated(self) -> None:
        """A figure over homophily needs graphs whose name says it."""
        for name in self.datasets:
            if generated_settings(_drawn(name)) is None:
                message = f"shows = 'homophily' needs data sets csbm:homophily=…, got {name!r}"
                raise self.text.error(message, "datasets")

    def _splits(self, split: str | dict[str, Any]) -> Mapping[str, str]:
        """The split of each data set that does not keep its own, from one text or a table."""
        splits = dict.fromkeys(self.datasets, split) if isinstance(split, str) else split
        for name, text in splits.items():
            self._check_named("split", name)
            self._check_split(text, f"the split of {name}")
        return splits

    def _check_split(self, text: Any, what: str) -> None:
        if not isinstance(text, str):
            raise self.text.error(f"{what} must be text, got {text!r}", SPLIT)
        with self.text.at(SPLIT):
            check_split(re.sub(f"-{DRAW_SIGN}$", "-0", text))

    def _metrics(self, metrics: dict[str, Any]) -> Mapping[str, str]:
        for name, metric in metrics.items():
            self._check_named("metric", name)
            if metric not in METRICS:
                raise self.text.error(UnknownNameError("metric", str(metric), METRICS), "metric")
        return metrics

    def _check_named(self, field: str, name: str) -> None:
        """Refuse a table with a data set that the spec does not have."""
        if name not in self.datasets:
            raise self.text.error(UnknownNameError("data set", name, self.datasets), field)

    def _points(self, vary: dict[str, Any]) -> list[dict[str, Any]]:
        """The points of the grid."""
        for name, choices in vary.items():
            if not (isinstance(choices, list) and choices):
                raise self.text.error(f"{name} must be a list of values to try", name)
        for text in vary.get(SPLIT, ()):
            self._check_split(text, "a split to try")
        self._check_noise({name: vary[name] for name in NOISE if name in vary})
        if SPLIT in vary and self.splits:
            raise self.text.error("either the spec has a split or its grid varies it", SPLIT)
        return [dict(zip(vary, point, strict=True)) for point in itertools.product(*vary.values())]

    def _check_noise(self, noise: Mapping[str, list[Any]]) -> None:
        for name, choices in noise.items():
            for value in choices:
                with self.text.at(name):
                    NoiseSettings.from_mapping({name: value})
        # Their names have settings after the colon already.
        if noise and (named := [name for name in self.datasets if base_name(name) in GENERATED]):
            message = f"noise is added to graphs that are not generated, got {named[0]!r}"
            raise self.text.error(message, "datasets")

    def _check_draws(self) -> None:
        """Draws and what they are for must come together."""
        splits = [*self.splits.values(), *(point[SPLIT] for point in self.points if SPLIT in point)]
        texts = {"datasets": self.datasets, SPLIT: splits}
        signed = [field for field, names in texts.items() if DRAW_SIGN in "".join(names)]
        if signed and self.draws is None:
            message = f"{DRAW_SIGN} stands for the draw, but the field 'draws' is missing"
            raise self.text.error(message, signed[0])
        has_noise = any(name in point for name in NOISE for point in self.points)
        is_drawn = signed or has_noise or any(map(is_random_split, splits))
        if self.draws is not None and not is_drawn:
            message = f"draws needs a data set or split with {DRAW_SIGN} in its name, or a random"
            raise self.text.error(f"{message} split", "draws")

    def _row(self, table: Any, number: int, seeds: int) -> Row:
        if not isinstance(table, dict):
            raise self.text.error("rows are written as [[rows]]", "rows")
        if "chooses" in table:
            return self._choosing_row(table, number)
        values = self.text.fields(table, _ROW_FIELDS, number)
        self._check_count("seeds", values["seeds"], number)
        with self.text.at("direction", number):
            direction = RunSettings(direction=values["direction"]).direction
        with self.text.at("features", number):
            features = RunSettings(features=values["features"]).features
        return Row(
            values["label"],
            values["model"],
            values["preset"],
            values["set"],
            seeds if values["seeds"] is None else values["seeds"],
            self._all_published(values["published"], number),
            values["about"],
            direction,
            features,
            tries=self._tries(values["tries"], number),
        )

    def _tries(self, tries: list[Any], number: int) -> tuple[dict[str, Any], ...]:
        """The settings to try, each a table; one may name another preset."""
        if tries and (len(tries) < 2 or not all(isinstance(each, dict) for each in tries)):
            message = f"tries must be two or more tables of settings, got {tries!r}"
            raise self.text.error(message, "tries", number)
        return tuple(tries)

    def _choosing_row(self, table: dict[str, Any], number: int) -> Row:
        for name in table:
            if name in _ROW_FIELDS and name not in _CHOOSING_FIELDS:
                message = f"a row that chooses among others has no {name!r} of its own"
                raise self.text.error(message, name, number)
        values = self.text.fields(table, _CHOOSING_FIELDS, number)
        chooses = values["chooses"]
        if len(chooses) < 2 or not all(isinstance(label, str) for label in chooses):
            message = f"chooses must be labels of two or more rows, got {chooses!r}"
            raise self.text.error(message, "chooses", number)
        return Row(
            values["label"],
            model="",
            preset="",
            changes={},
            seeds=0,
            published=self._all_published(values["published"], number),
            about=values["about"],
            chooses=tuple(chooses),
        )

    def _check_labels(self, rows: Sequence[Row]) -> None:
        """Rows must differ in their labels, and may choose among those with a model alone."""
        labels = [row.label for row in rows]
        to_choose = [row.label for row in rows if not (row.chooses or row.tries)]
        for number, row in enumerate(rows):
            if row.label in labels[:number]:
                message = f"there is another row with the label {row.label!r}"
                raise self.text.error(message, "label", number)
            for label in row.chooses:
                if label in labels and label not in to_choose:
                    message = f"{label!r} chooses itself; name rows with one model and setting"
                    raise self.text.error(message, "chooses", number)
                if label not in to_choose:
                    error = UnknownNameError("row", label, to_choose)
                    raise self.text.error(error, "chooses", number)

    def _all_cells(self, rows: Sequence[Row]) -> list[Cell]:
        """The cells of all rows, in their order; those that choose take theirs from the others."""
        own = {row.label: self._cells(row, n) for n, row in enumerate(rows) if not row.chooses}
        return [
            cell
            for row in rows
            for cell in (_choosing_cells(row, own) if row.chooses else own[row.label])
        ]

    def _cells(self, row: Row, number: int) -> list[Cell]:
        if row.tries:
            tried = [self._cells(_with_settings(row, each), number) for each in row.tries]
            return [replace(among[0], row=row, among=among) for among in zip(*tried, strict=True)]
        return [
            self._cell(row, number, dataset, point)
            for dataset in self.datasets
            for point in self.points
        ]

    def _cell(self, row: Row, number: int, dataset: str, point: dict[str, Any]) -> Cell:
        split = point.get(SPLIT, self.splits.get(dataset))
        settings = RunSettings(
            dataset=_with_noise(dataset, point),
            split=split,
            direction=row.direction,
            features=row.features,
            model=row.model,
            preset=row.preset,
        )
        try:
            plan = RunPlan.make(settings, {**row.changes, **settings_in(point)}, is_study=True)
        except AkgnnError as error:
            # The name that the message speaks of first says which line it is about.
            names = [*row.changes, *point, row.model, row.preset]
            said = re.search(rf"(?<!\w)({'|'.join(map(re.escape, names))})(?!\w)", str(error))
            raise self.text.error(error, said[1] if said else "model", number) from error
        return Cell(
            row,
            dataset,
            point,
            plan,
            splits=split is not None and is_random_split(_drawn(split)),
            draws=self.draws,
            metric=self.metrics.get(dataset, "accuracy"),
        )

    def _all_published(self, table: dict[str, Any], number: int) -> dict[str, Published]:
        for name in table:
            if name not in self.datasets:
                raise self.text.error(
                    UnknownNameError("data set", name, self.datasets), name, number
                )
        return {name: self._published(value, name, number) for name, value in table.items()}

    def _published(self, value: Any, name: str, number: int) -> Published:
        """A number, or [mean, deviation]."""
        values = value if isinstance(value, list) else [value]
        if not (1 <= len(values) <= 2 and all(type(part) in (int, float) for part in values)):
            message = f"the published value of {name} must be a number or [mean, deviation], "
            raise self.text.error(f"{message}got {value!r}", name, number)
        return Published(*map(float, values))

    def _check_count(self, name: str, value: int | None, row: int | None = None) -> None:
        if value is not None:
            with self.text.at(name, row):
                _Counts.from_mapping({name: value})


def _choosing_cells(row: Row, own: Mapping[str, Sequence[Cell]]) -> list[Cell]:
    """The cells of a row that chooses, from those of the rows that have a model."""
    named = [own[label] for label in row.chooses]
    # A seed that one of them lacks can have no choice.
    row = replace(row, seeds=min(cells[0].row.seeds for cells in named))
    return [replace(among[0], row=row, among=among) for among in zip(*named, strict=True)]


def _with_settings(row: Row, settings: Mapping[str, Any]) -> Row:
    """One of the rows that a row tries, called by what it sets."""
    changes = {name: value for name, value in settings.items() if name != "preset"}
    return replace(
        row,
        label=", ".join(f"{name}={value}" for name, value in settings.items()) or "as it is",
        preset=settings.get("preset", row.preset),
        changes={**row.changes, **changes},
        tries=(),
    )


def _with_noise(dataset: str, point: Mapping[str, Any]) -> str:
    """The name of the data with the noise of a point; each draw has its own."""
    noise = [f"{name}={point[name]}" for name in NOISE if point.get(name)]
    return f"{dataset}:{','.join(noise)},seed={DRAW_SIGN}" if noise else dataset


def _drawn(text: str) -> str:
    """A name as it is of draw 0."""
    return text.replace(DRAW_SIGN, "0")
