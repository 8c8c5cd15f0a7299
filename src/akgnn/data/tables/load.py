"""From a node table and an edge table to `NodeData`, with the ids kept."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from akgnn.data.catalogue import Direction, FeatureTransform, check_options
from akgnn.data.node_data import NodeData
from akgnn.data.tables.columns import end_columns, feature_columns, node_columns
from akgnn.data.tables.edges import read_graph
from akgnn.data.tables.features import build_features, check_columns, learn_recipe, typed_columns
from akgnn.data.tables.fingerprint import graph_sha256, nodes_sha256
from akgnn.data.tables.nearest import known_ids, link_to_nearest, with_ids
from akgnn.data.tables.nodes import (
    DEFAULT_SPLIT,
    checked_node_ids,
    encode_labels,
    output_ids,
    split_nodes,
)
from akgnn.data.tables.readers import open_table
from akgnn.data.tables.recipe import ROWS_TO_1, FeatureRecipe, normalises_rows
from akgnn.data.tables.settings import (
    EDGES_SHA256,
    NODES_SHA256,
    Missing,
    Prepare,
    TableSettings,
    UnknownIds,
    paths_of,
)
from akgnn.data.tables.table import TableSource, pa
from akgnn.errors import DataError
from akgnn.graph import Graph


def load_tables(
    nodes: Any,
    edges: Any = None,
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
    neighbours: int = 10,
    features: FeatureTransform = "auto",
    split: str | None = None,
    split_seed: int = 0,
    direction: Direction = "symmetrised",
) -> NodeData:
    """Read a node table and an edge table, ready for training.

    Both are paths or DataFrames (pandas, polars, pyarrow, …). Without edges each row is linked to
    its nearest rows. The arguments to `neighbours` are those of `TableSettings`, the others those
    of `read_tables`.
    """
    settings = TableSettings(
        edges=() if edges is None else "",
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
        neighbours=neighbours,
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
    folder: Path | None = None,
    recipe: FeatureRecipe | None = None,
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
            target. Where rows are linked to their nearest rows, `kept` lets a row take in from
            these and from no others.
        folder: An empty folder for a graph whose edges need not fit into memory: they are read
            block by block, sorted in files there and looked at by memory map.
        recipe: Recipe to prepare the columns with; learned from the table if None.

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
    node_source = open_table(nodes, "node")
    settings = replace(settings, nodes=str(paths_of(nodes)), edges=paths_of(edges))
    name = Path(nodes).stem if isinstance(nodes, str | Path) else "tables"
    if settings.has_no_edges:
        settings = known_ids(node_source, settings)
        opened, named = with_ids(node_source, settings)
        data = read_node_data(name, opened, named, _unlinked, features, split, split_seed, recipe)
        return link_to_nearest(data, settings, direction)
    edge_source = open_table(edges, "edge")
    start, end = end_columns(edge_source, settings.source, settings.target)
    settings = replace(settings, source=start, target=end)

    def graph_of(ids: pa.ChunkedArray) -> tuple[Graph, dict[str, str]]:
        return read_graph(edge_source, settings, node_source.name, ids, direction, folder)

    return read_node_data(
        name, node_source, settings, graph_of, features, split, split_seed, recipe
    )


def _unlinked(ids: pa.ChunkedArray) -> tuple[Graph, dict[str, str]]:
    none = torch.empty(2, 0, dtype=torch.int64)
    return Graph.from_edge_index(none, num_nodes=len(ids)), {}


def read_node_data(
    name: str,
    opened: TableSource,
    settings: TableSettings,
    graph_of: Callable[[pa.ChunkedArray], tuple[Graph, dict[str, str]]],
    features: FeatureTransform,
    split: str | None,
    split_seed: int,
    recipe: FeatureRecipe | None = None,
) -> NodeData:
    """The data of a node table, under this name.

    `graph_of` makes the graph of the nodes' ids, with what the record of a run says about it. The
    columns are prepared with `recipe`, or with one that is learned from them.
    """
    split = DEFAULT_SPLIT if split is None else split
    parts = node_columns(opened, settings, split)
    if recipe is None:
        columns = feature_columns(opened, settings.columns, parts)
        table = opened.read([*parts, *columns], text=parts)
    else:
        check_columns(recipe, opened.name, opened.columns)
        table = opened.read([*parts, *recipe.column_names], text=[*parts, *recipe.text_columns])
    if not len(table):
        raise DataError(f"{table.name} has column names but no rows.")
    id_name, label = list(parts)[:2]
    ids = checked_node_ids(table, id_name)
    y, class_names = encode_labels(table, label)
    graph, notes = graph_of(ids)
    if recipe is None:
        recipe, typed = learn_recipe(
            table,
            columns,
            prepare=settings.prepare,
            standardise=settings.standardise,
            missing=settings.missing,
        )
        x = build_features(recipe, typed, graph)
        if normalises_rows(x, features, recipe, by_kind=settings.prepare == "auto"):
            recipe = replace(recipe, normalise_rows=True)
            x = recipe.finish(x)
    else:
        typed = typed_columns(recipe, table)
        x = build_features(recipe, typed, graph)
    source = {"origin": "tables", "features": recipe.in_words, **notes}
    source[NODES_SHA256] = nodes_sha256(ids, y, class_names, typed)
    if not settings.has_no_edges:
        source[EDGES_SHA256] = graph_sha256(graph)
    if recipe.normalise_rows:
        source["rows"] = ROWS_TO_1
    return NodeData(
        name=name,
        x=x,
        y=y,
        graph=graph,
        split=split_nodes(table, label, y, class_names, split, split_seed),
        class_names=class_names,
        source=source,
        ids=output_ids(table, id_name),
        recipe=recipe,
        tables=replace(settings, id=id_name, label=label),
    )
