"""From a node table and an edge table to `NodeData`, with the ids kept."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from torch import Tensor

from akgnn.data.catalogue import Direction, draw_split, is_drawn_split
from akgnn.data.node_data import NodeData
from akgnn.data.splits import Split
from akgnn.data.tables.arrow import pa
from akgnn.data.tables.columns import (
    end_columns,
    feature_columns,
    id_column,
    label_column,
    named_column,
)
from akgnn.data.tables.content_hash import content_sha256
from akgnn.data.tables.edges import build_graph, place_edges, read_edges, unknown_ids_error
from akgnn.data.tables.features import learn_recipe
from akgnn.data.tables.ids import check_unique, checked_ids, output_ids
from akgnn.data.tables.labels import encode_labels
from akgnn.data.tables.open_table import open_table
from akgnn.data.tables.prediction import PredictionData, load_for_prediction
from akgnn.data.tables.recipe import FeatureRecipe
from akgnn.data.tables.settings import TableSettings
from akgnn.data.tables.split_column import split_from_column
from akgnn.data.tables.table import Table, TableSource
from akgnn.errors import DataError, UnknownNameError
from akgnn.graph import Graph

__all__ = ["PredictionData", "TableData", "load_for_prediction", "load_tables"]

_SPLIT = "60/20/20"


@dataclass(frozen=True, eq=False)
class TableData:
    """What tables were turned into, and what leads back to them.

    Attributes:
        data: For training; node i is row i of the node table.
        ids: The ids of the nodes, a pyarrow array of the type they have in the table.
        recipe: How the columns became features.
        settings: Those given, with the names of all columns that were found by rule: what is
            needed to read other tables alike.
    """

    data: NodeData
    ids: pa.ChunkedArray
    recipe: FeatureRecipe
    settings: TableSettings


def load_tables(
    settings: TableSettings,
    *,
    nodes: Any = None,
    edges: Any = None,
    split: str | None = None,
    split_seed: int = 0,
    direction: Direction = "symmetrised",
) -> TableData:
    """Read a node table and an edge table, ready for training.

    Args:
        settings: Files, columns and rules.
        nodes: A DataFrame (pandas, polars, pyarrow, …) or path instead of the settings' file.
        edges: The same for the edges.
        split: `60/20/20` in per cent, `20-per-class`, or the name of a column that says train,
            val or test; 60/20/20 if not given.
        split_seed: Of a random split.
        direction: `symmetrised` counts every edge both ways; `kept` only from source to target.
    """
    if direction not in get_args(Direction):
        raise UnknownNameError("direction", direction, get_args(Direction))
    nodes = settings.nodes if nodes is None else nodes
    opened = open_table(nodes, "node")
    opened_edges = open_table(settings.edges if edges is None else edges, "edge")
    split = _SPLIT if split is None else split
    parts = _parts(opened, settings, split)
    chosen = feature_columns(opened, settings.features, parts)
    table = opened.read([*parts, *chosen], text=parts)
    if not len(table):
        raise DataError(f"{table.name} has column names but no rows.")

    id_name, label = list(parts)[:2]
    ids = checked_ids(table, id_name)
    check_unique(table, id_name, ids)
    y, class_names = encode_labels(table, label)
    graph, dropped = _graph(opened_edges, settings, table.name, ids, direction)
    recipe = learn_recipe(table, chosen, standardise=settings.standardise, missing=settings.missing)
    x = recipe.apply(table, graph)
    source = {
        "origin": "tables",
        "features": recipe.in_words,
        "sha256": content_sha256(x, y, graph, class_names),
    }
    if direction == "kept" and not graph.is_symmetric:
        source["direction"] = "kept"
    if dropped:
        source["dropped"] = f"{dropped} edges to unknown ids"
    data = NodeData(
        name=Path(nodes).stem if isinstance(nodes, str | Path) else "tables",
        x=x,
        y=y,
        graph=graph,
        split=_split(table, label, y, class_names, split, split_seed),
        class_names=class_names,
        source=source,
    )
    start, end = end_columns(opened_edges, settings.source, settings.target)
    found = replace(settings, id=id_name, label=label, source=start, target=end)
    return TableData(data, output_ids(table, id_name), recipe, found)


def _parts(nodes: TableSource, settings: TableSettings, split: str) -> dict[str, str]:
    """What the columns hold that are no features: ids, labels, and perhaps the split."""
    id_name = id_column(nodes, settings.id)
    label = label_column(nodes, settings.label)
    parts = {id_name: "ids", label: "labels"}
    if len(parts) == 1:
        raise DataError(f"{nodes.name}: {label!r} cannot hold both the ids and the labels.")
    if not is_drawn_split(split):
        named_column(nodes, split, "--split (which may also be 60/20/20 or 20-per-class)")
        if split in parts:
            raise DataError(f"{nodes.name}: {split!r} holds the {parts[split]}, not the split.")
        parts[split] = "split"
    return parts


def _graph(
    opened: TableSource,
    settings: TableSettings,
    nodes: str,
    ids: pa.ChunkedArray,
    direction: Direction,
) -> tuple[Graph, int]:
    """The graph, and how many edges were dropped for an unknown id."""
    edges = read_edges(opened, settings)
    if not len(edges.table):
        raise DataError(f"{opened.name} has column names but no rows.")
    placed = place_edges(edges, ids)
    known = placed.is_known
    dropped = len(known) - int(known.sum())
    if dropped and settings.unknown_ids == "refuse":
        advice = "add them, or leave such edges out with --unknown-ids drop."
        raise unknown_ids_error(edges, placed, nodes, advice)
    if dropped == len(known):
        raise DataError(f"{opened.name}: no edge joins two ids of {nodes}.")
    return build_graph(placed.where(known) if dropped else placed, len(ids), direction), dropped


def _split(
    table: Table, label: str, y: Tensor, names: tuple[str, ...], text: str, seed: int
) -> Split:
    if not is_drawn_split(text):
        return split_from_column(table, text, y)
    try:
        return draw_split(y, text, seed)
    except DataError as error:
        counts = y[y >= 0].bincount(minlength=len(names))
        smallest = int(counts.argmin())
        raise DataError(
            f"{table.of(label)}: the split {text} cannot be drawn. {error} The smallest class is "
            f"{names[smallest]!r} with {int(counts[smallest])} nodes."
        ) from error
