"""Options of commands that take tables of one's own."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from akgnn.errors import SettingsError

if TYPE_CHECKING:
    from akgnn.data.node_data import NodeData
    from akgnn.data.tables.settings import TableSettings

PANEL = "Your own tables"
# Features beyond this drown the others, and saturate what is learned from them.
_LARGE = 30

NODES = typer.Option(
    None, help="File of nodes: CSV, TSV, Parquet, JSON lines.", rich_help_panel=PANEL
)
EDGES = typer.Option(None, help="File of edges.", rich_help_panel=PANEL)
LABEL = typer.Option(
    None, help="Column of classes, empty where unknown.  [label]", rich_help_panel=PANEL
)
ID = typer.Option(None, "--id", help="Column of ids.  [id, else the first]", rich_help_panel=PANEL)
SOURCE = typer.Option(None, help="Column where an edge starts.  [the first]", rich_help_panel=PANEL)
TARGET = typer.Option(None, help="Column where it ends.  [the second]", rich_help_panel=PANEL)
WEIGHT = typer.Option(None, help="Column of edge weights.  [all weigh 1]", rich_help_panel=PANEL)
COLUMNS = typer.Option(
    None, help="Feature columns, such as 'age,word_*,!word_the'.  [all]", rich_help_panel=PANEL
)
STANDARDISE = typer.Option(
    None, "--standardise", help="Scale numbers to mean 0, deviation 1.", rich_help_panel=PANEL
)
MISSING = typer.Option(None, help="Missing values: fill or refuse.  [fill]", rich_help_panel=PANEL)
UNKNOWN_IDS = typer.Option(
    None, help="Edges to ids without a node: refuse or drop.  [refuse]", rich_help_panel=PANEL
)


def table_settings(options: Mapping[str, Any], config: Mapping[str, Any]) -> "TableSettings | None":
    """What the options say of tables, over what a settings file says; None if neither does.

    Files are kept with their whole path, so that the run can be used from any folder.
    """
    from akgnn.data.tables.settings import TableSettings

    given = {name: value for name, value in options.items() if value is not None}
    for name in ("nodes", "edges"):
        if name in given:
            given[name] = str(Path(given[name]).absolute())
    values = {**config, **given}
    if not values:
        return None
    for name in ("nodes", "edges"):
        if not values.get(name):
            raise SettingsError(f"Your own tables need --nodes and --edges; --{name} is missing.")
    return TableSettings.from_mapping(values)


def scale_hint(data: "NodeData") -> str | None:
    """A line about the feature with the largest numbers, where they are too large to learn from."""
    from torch import Tensor

    if data.recipe is None or not isinstance(data.x, Tensor):
        return None
    largest = data.x.abs().amax(0)
    feature = int(largest.argmax())
    if float(largest[feature]) <= _LARGE:
        return None
    name = data.recipe.feature_names[feature]
    return (
        f"Column {name!r} holds numbers as large as {float(largest[feature]):,.6g}; networks learn "
        "best from numbers of about 1. --standardise scales them."
    )
