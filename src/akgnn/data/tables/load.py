"""From a node table and an edge table to `NodeData`, with the ids kept."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from akgnn.data.catalogue import Direction, FeatureTransform, check_options
from akgnn.data.node_data import NodeData, content_sha256
from akgnn.data.tables.columns import end_columns, feature_columns, node_columns
from akgnn.data.tables.edges import read_graph
from akgnn.data.tables.features import build_features, learn_recipe
from akgnn.data.tables.nodes import (
    DEFAULT_SPLIT,
    checked_node_ids,
    encode_labels,
    output_ids,
    split_nodes,
)
from akgnn.data.tables.readers import open_table
from akgnn.data.tables.recipe import ROWS_TO_1, normalises_rows
from akgnn.data.tables.settings import Missing, Prepare, TableSettings, UnknownIds, paths_of
from akgnn.data.tables.table import TableSource, pa
from akgnn.errors import DataError
from akgnn.graph import Graph


def load_tables(
    nodes: Any,
    edges: Any,
    *,
    id: str | None = None,  # noqa: A002
    label: str | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    columns: str = "*",
    prepare: Prepare = "auto",
    standardise: bool = False,
    missing: Missing = "fill",
    unknown_ids: UnknownIds = "refuse",
    features: FeatureTransform = "auto",
    split: str | None = None,
    split_seed: int = 0,
    direction: Direction = "symmetrised",
) -> NodeData:
    """Read a node table and an edge table, ready for training.

    Both are paths or DataFrames (pandas, polars, pyarrow, …). The arguments to `unknown_ids` are
    those of `TableSettings`, the others those of `read_tables`.
    """
    settings = TableSettings(
        id=id,
        label=label,
        source=source,
        target=target,
        weight=weight,
        columns=columns,
        prepare=prepare,
        standardise=standardise,
        missing=missing,
        unknown_ids=unknown_ids,
    )
    return read_tables(
        settings,
        nodes=nodes,
        edges=edges,
        features=features,
        split=split,
        split_seed=split_seed,
        direction=direction,
    )


def read_tables(
    settings: TableSettings,
    *,
    nodes: Any = None,
    edges: Any = None,
    features: FeatureTransform = "auto",
    split: str | None = None,
    split_seed: int = 0,
    direction: Direction = "symmetrised",
) -> NodeData:
    """Read tables as settings say.

    Args:
        settings: Files, columns and rules.
        nodes: Path or DataFrame in place of the settings' file of nodes.
        edges: Path or DataFrame in place of the settings' file of edges, or a list of several.
        features: `raw`, `row-normalised`, or by `auto` what suits the features.
        split: `60/20/20` in per cent, `20-per-class`, or the name of a column that says train,
            val or test; 60/20/20 if not given.
        split_seed: Seed of a random split.
        direction: `symmetrised` counts every edge in both directions, `kept` only from source to
            target.

    Returns:
        The data. Node i is row i of the node table; `ids` are as in the table, `recipe` says how
        columns became features, and `tables` names all columns, as other tables are to be read.

    Raises:
        DataError: A table cannot be read, or something in it is wrong. The message names the
            file, the line and the column.
        UnknownNameError: `features` or `direction` is none of its choices.
    """
    check_options(features, direction)
    nodes = settings.nodes if nodes is None else nodes
    edges = settings.edges if edges is None else edges
    node_source, edge_source = open_table(nodes, "node"), open_table(edges, "edge")
    start, end = end_columns(edge_source, settings.source, settings.target)
    settings = replace(
        settings, nodes=str(paths_of(nodes)), edges=paths_of(edges), source=start, target=end
    )
    name = Path(nodes).stem if isinstance(nodes, str | Path) else "tables"

    def graph_of(ids: pa.ChunkedArray) -> tuple[Graph, dict[str, str]]:
        return read_graph(edge_source, settings, node_source.name, ids, direction)

    return read_node_data(name, node_source, settings, graph_of, features, split, split_seed)


def read_node_data(
    name: str,
    opened: TableSource,
    settings: TableSettings,
    graph_of: Callable[[pa.ChunkedArray], tuple[Graph, dict[str, str]]],
    features: FeatureTransform,
    split: str | None,
    split_seed: int,
) -> NodeData:
    """The data of a node table, under this name.

    `graph_of` makes the graph of the nodes' ids, with what the record of a run says about it.
    """
    split = DEFAULT_SPLIT if split is None else split
    parts = node_columns(opened, settings, split)
    columns = feature_columns(opened, settings.columns, parts)
    table = opened.read([*parts, *columns], text=parts)
    if not len(table):
        raise DataError(f"{table.name} has column names but no rows.")
    id_name, label = list(parts)[:2]
    ids = checked_node_ids(table, id_name)
    y, class_names = encode_labels(table, label)
    graph, notes = graph_of(ids)
    recipe, typed = learn_recipe(
        table,
        columns,
        prepare=settings.prepare,
        standardise=settings.standardise,
        missing=settings.missing,
    )
    raw = build_features(recipe, typed, graph)
    sha256 = content_sha256(raw, y, graph, class_names)
    source = {"origin": "tables", "features": recipe.in_words, "sha256": sha256, **notes}
    if normalises_rows(raw, features, recipe, by_kind=settings.prepare == "auto"):
        recipe = replace(recipe, normalise_rows=True)
        source["rows"] = ROWS_TO_1
    return NodeData(
        name=name,
        x=recipe.finish(raw),
        y=y,
        graph=graph,
        split=split_nodes(table, label, y, class_names, split, split_seed),
        class_names=class_names,
        source=source,
        ids=output_ids(table, id_name),
        recipe=recipe,
        tables=replace(settings, id=id_name, label=label),
    )
