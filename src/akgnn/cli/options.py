"""Every option that several commands have, declared once, and what follows from options."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from akgnn.cli.help import DATA, MODEL, OUTPUT, TABLES, TRAINING
from akgnn.cli.names import dataset_names, preset_names
from akgnn.errors import LeftOutWarning, SettingsError

if TYPE_CHECKING:
    from akgnn.data.node_data import NodeData
    from akgnn.data.tables.settings import TableSettings
    from akgnn.runs.folder import RunFolder
    from akgnn.runs.plan import RunPlan

# Features beyond this drown the others, and saturate what is learned from them.
_LARGE = 30
# Files whose columns are known without reading the rest.
_QUICK = (".csv", ".tsv", ".tab", ".parquet", ".pq")


def option(panel: str, text: str, *names: str, **more: Any) -> Any:
    """An option in one of the groups of `akgnn.cli.help`."""
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


def _table(text: str, *names: str) -> Any:
    return option(TABLES, text, *names)


Dataset = Annotated[
    str | None,
    option(DATA, "Data set; `akgnn datasets` lists them.  [cora]", autocompletion=dataset_names),
]
Nodes = Annotated[Path | None, _table("File of nodes: CSV, TSV, Parquet, JSON lines.")]
Edges = Annotated[
    list[Path] | None,
    option(TABLES, "File of edges; repeatable.  [each row to its nearest rows]", metavar="<path>"),
]
Label = Annotated[str | None, _table("Column of classes, empty where unknown.  [label]")]
Id = Annotated[str | None, _table("Column of ids.  [id, else the first]", "--id")]
Source = Annotated[str | None, _table("Column where an edge starts.  [the first]")]
Target = Annotated[str | None, _table("Column where it ends.  [the second]")]
Weight = Annotated[str | None, _table("Column of edge weights.  [all weigh 1]")]
Columns = Annotated[str | None, _table("Feature columns, such as 'age,word_*,!word_the'.  [all]")]
Prepare = Annotated[
    str | None, _table("auto prepares columns by what they are; plain takes them as is.  [auto]")
]
Standardise = Annotated[
    bool | None, _table("Scale all numbers to mean 0, standard deviation 1.", "--standardise")
]
Missing = Annotated[str | None, _table("Missing values: fill or refuse.  [fill]")]
UnknownIds = Annotated[str | None, _table("Edges to ids without a node: refuse or drop.  [refuse]")]
Neighbours = Annotated[
    int | None, _table("Nearest rows that each is linked to, without --edges.  [10]")
]
Config = Annotated[Path | None, option(MODEL, "Settings file; `akgnn init` writes one.")]
Split = Annotated[
    str | None,
    option(
        DATA,
        "public, public-3, 20-per-class, 60/20/20, fold-0-of-5, or a column of your nodes.  "
        "[the data set's own; 60/20/20]",
    ),
]
SplitSeed = Annotated[int | None, option(DATA, "Seed of a random split.  [0]")]
Features = Annotated[str | None, option(DATA, "auto, raw or row-normalised.  [auto]")]
Direction = Annotated[
    str | None,
    option(DATA, "symmetrised, or kept: the data's own directions.  [symmetrised]"),
]
Preset = Annotated[
    str | None,
    option(
        MODEL,
        "Settings by name.  [paper; any-graph for your own tables]",
        autocompletion=preset_names,
    ),
]
Seed = Annotated[int | None, option(TRAINING, "Seed of the initial weights and dropout.  [0]")]
Device = Annotated[str, option(TRAINING, "auto, cpu, cuda or cuda:1.")]
DataRoot = Annotated[Path | None, option(DATA, "Folder of other data sets.  [$AKGNN_DATA]")]
AsJson = Annotated[bool, option(OUTPUT, "Print one JSON object.", "--json")]
RunFolderArgument = Annotated[Path, typer.Argument(help="Folder of a finished run.")]


def given(context: typer.Context) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was given of the options that are settings of a run, and of those of tables."""
    from akgnn.data.tables.settings import TableSettings
    from akgnn.runs.plan import RunSettings

    options = {name.removesuffix("_column"): value for name, value in context.params.items()}
    # An option that may be repeated and was not given has no values.
    values = {name: value for name, value in options.items() if value not in (None, [], ())}
    run = {name: values[name] for name in RunSettings.names() if name in values}
    return run, {name: values[name] for name in TableSettings.names() if name in values}


def check_range(option: str, value: int | None, low: int, high: int) -> None:
    """Refuse a number outside a range; one that was not given is none."""
    if value is not None and not low <= value <= high:
        raise SettingsError(f"{option} must be from {low} to {high}, got {value}.")


def parsed_changes(changes: Sequence[str]) -> dict[str, str]:
    """What `--set` says, given as NAME=VALUE each."""
    pairs = [change.partition("=") for change in changes]
    for name, equals, _ in pairs:
        if not (name and equals):
            raise SettingsError(f"Write --set NAME=VALUE, such as num_layers=8; got {name!r}.")
    return {name: value for name, _, value in pairs}


def decide_plan(
    run: Mapping[str, Any],
    tables: Mapping[str, Any],
    config: Path | None,
    changes: Mapping[str, str],
) -> "RunPlan":
    """The plan of a new run: what the options say, over what a settings file says."""
    from akgnn.runs.config import Config, read_config
    from akgnn.runs.plan import RunPlan

    file = Config() if config is None else read_config(config)
    own = table_settings(tables, file.tables)
    return RunPlan.decide({**file.run, **run}, changes, by_kind=file.preset, tables=own)


def resumed_plan(
    folders: Sequence["RunFolder | None"],
    run: Mapping[str, Any],
    tables: Mapping[str, Any],
    changes: Mapping[str, str],
) -> "RunPlan | None":
    """The plan of the first run in these folders, which the options may repeat; None without."""
    from akgnn.runs.load import plan_of

    for folder in folders:
        if folder is not None and folder.holds_run():
            return plan_of(folder, folder.read()).updated(run, changes, _with_paths(tables))
    return None


def table_settings(options: Mapping[str, Any], config: Mapping[str, Any]) -> "TableSettings | None":
    """What the options say of tables, over what a settings file says; None if neither does.

    Files are kept with their whole path, so that the run can be used from any folder.
    """
    from akgnn.data.tables.settings import TableSettings

    values = {**config, **_with_paths(options)}
    if not values:
        return None
    if not values.get("nodes"):
        raise SettingsError("Your own tables need --nodes, the file of the nodes.")
    # Without edges rows are linked to their nearest rows.
    return TableSettings.from_mapping({**values, "edges": values.get("edges") or ()})


def _with_paths(options: Mapping[str, Any]) -> dict[str, Any]:
    from akgnn.data.tables.settings import paths_of

    files = {name: paths_of(options[name]) for name in ("nodes", "edges") if name in options}
    return {**options, **files}


def hints(data: "NodeData") -> list[str]:
    """Lines about tables that may be meant otherwise."""
    found = [scale_hint(data), weight_hint(data), *look_alike_hints(data)]
    return [hint for hint in found if hint]


def look_alike_hints(data: "NodeData") -> list[str]:
    """Lines about labels and categories that look alike but count as different."""
    from akgnn.data.tables.recipe import CategoryColumn
    from akgnn.similar_names import told

    columns = () if data.recipe is None else data.recipe.columns
    return [
        told("Labels", data.class_names),
        *(
            told(f"Categories of column {column.name!r}", column.categories)
            for column in columns
            if isinstance(column, CategoryColumn)
        ),
    ]


def left_out_hint(plan: "RunPlan", data: "NodeData") -> list[str]:
    """A line about presets that the settings that were named do not fit."""
    left_out = plan.suited_to(data).left_out
    return [str(LeftOutWarning(left_out))] if left_out else []


def weight_hint(data: "NodeData") -> str | None:
    """A line about a column of weights that nobody asked for."""
    tables = data.tables
    if tables is None or tables.weight is not None or not tables.edges:
        return None
    files = [tables.edges] if isinstance(tables.edges, str) else tables.edges
    if Path(files[0]).suffix.lower() not in _QUICK:
        return None
    from akgnn.data.tables.columns import called
    from akgnn.data.tables.readers import open_table

    name = called(open_table(files[0], "edge"), ("weight", "weights"))
    if name is None or name in (tables.source, tables.target):
        return None
    return f"Every edge weighs 1; --weight {quote(name)} takes the weights of that column."


def scale_hint(data: "NodeData") -> str | None:
    """A line about the feature with the largest numbers, where they are too large to learn from."""
    from torch import Tensor

    if data.recipe is None or data.tables is None or not isinstance(data.x, Tensor):
        return None
    if data.tables.prepare == "auto":
        return None
    largest = data.x.abs().amax(0)
    feature = int(largest.argmax())
    if float(largest[feature]) <= _LARGE:
        return None
    name = data.recipe.feature_names[feature]
    return (
        f"Column {name!r} holds numbers as large as {float(largest[feature]):,.6g}; networks learn "
        "best from numbers of about 1. --prepare auto scales them."
    )
