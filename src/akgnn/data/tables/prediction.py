"""New nodes and edges for a trained model, joined to the old graph where they touch it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from akgnn.csr import CSR
from akgnn.data.catalogue import Direction
from akgnn.data.tables.arrow import pa
from akgnn.data.tables.columns import id_column
from akgnn.data.tables.edges import (
    Edges,
    EdgeTable,
    build_graph,
    place_edges,
    read_edges,
    unknown_ids_error,
)
from akgnn.data.tables.features import build_features, check_columns, typed_columns
from akgnn.data.tables.ids import checked_node_ids, in_one, output_ids, positions
from akgnn.data.tables.open_table import open_table
from akgnn.data.tables.recipe import FeatureRecipe
from akgnn.data.tables.settings import TableSettings
from akgnn.data.tables.table import Table, TableSource
from akgnn.errors import DataError
from akgnn.graph import Graph

Known = Callable[[], tuple[Any, Any]]
"""Gives the node and the edge table of training, as paths or DataFrames."""


@dataclass(frozen=True, eq=False)
class PredictionData:
    """A graph in which some nodes wait for a class.

    Attributes:
        x: Features of every node of the graph.
        graph: The new nodes, and the old graph where new edges lead to it.
        ids: The ids of the nodes that are asked for, a pyarrow array of the type in the table.
        rows: The positions of those nodes in the graph.
    """

    x: Tensor | CSR
    graph: Graph
    ids: pa.ChunkedArray
    rows: Tensor


@dataclass(frozen=True, eq=False)
class _Nodes:
    """The rows of a node table: their ids and their columns as the recipe wants them."""

    table: Table
    id_name: str
    ids: pa.ChunkedArray
    columns: pa.Table


def load_for_prediction(
    settings: TableSettings,
    recipe: FeatureRecipe,
    *,
    nodes: Any,
    edges: Any = None,
    known: Known | None = None,
    direction: Direction = "symmetrised",
) -> PredictionData:
    """Read the nodes whose classes are asked for, with their edges.

    Where an edge leads to an id that is not in the new node table, the tables of training are
    looked at, and the graph becomes the old one with the new nodes and edges added. A node or an
    edge that is in both is taken as it is in the new tables.

    Args:
        settings: Those of training: the names of the columns.
        recipe: That of training.
        nodes: Path or DataFrame of the nodes to predict.
        edges: Path or DataFrame of their edges; None where there are none.
        known: Gives the node and the edge table of training, as paths or DataFrames; None where
            they are not to be had.
        direction: That of training.
    """
    new = _read_nodes(open_table(nodes, "node"), settings, recipe)
    rows, ids = torch.arange(len(new.ids)), output_ids(new.table, new.id_name)
    if edges is None:
        placed = Edges(np.empty((2, 0), dtype=np.int64), None)
    else:
        links = read_edges(open_table(edges, "edge"), settings)
        placed = place_edges(links, new.ids)
        if not placed.is_known.all():
            if known is None:
                advice = "the tables of training, where they may be, are not to be had."
                raise unknown_ids_error(links, placed, new.table.name, advice)
            new, placed = _joined(new, links, known(), settings, recipe, direction)
    graph = build_graph(placed, len(new.ids), direction)
    return PredictionData(build_features(recipe, new.columns, graph), graph, ids, rows)


def _read_nodes(opened: TableSource, settings: TableSettings, recipe: FeatureRecipe) -> _Nodes:
    id_name, wanted = id_column(opened, settings.id), recipe.column_names
    check_columns(recipe, opened.name, opened.columns)
    if id_name in wanted:
        raise DataError(
            f"{opened.name}: {id_name!r} is a feature of the model, so it cannot hold the ids; "
            "name their column with --id."
        )
    table = opened.read([id_name, *wanted], text=[id_name, *recipe.text_columns])
    if not len(table):
        raise DataError(f"{table.name} has column names but no rows.")
    ids = checked_node_ids(table, id_name)
    return _Nodes(table, id_name, ids, typed_columns(recipe, table))


def _joined(
    new: _Nodes,
    links: EdgeTable,
    known: tuple[Any, Any],
    settings: TableSettings,
    recipe: FeatureRecipe,
    direction: Direction,
) -> tuple[_Nodes, Edges]:
    """The new nodes followed by the old ones, and the edges of both."""
    old = _read_nodes(open_table(known[0], "node"), settings, recipe)
    is_old = pa.array(positions(old.ids, new.ids) < 0)
    ids = in_one(new.ids, old.ids.filter(is_old))
    columns = (
        pa.concat_tables([new.columns, old.columns.filter(is_old)])
        if recipe.columns
        else new.columns
    )
    placed = place_edges(links, ids)
    if not placed.is_known.all() and settings.unknown_ids == "refuse":
        where = f"{new.table.name} or {old.table.name}"
        advice = "add them, or leave such edges out with --unknown-ids drop."
        raise unknown_ids_error(links, placed, where, advice)
    placed = placed.where(placed.is_known)
    before = place_edges(read_edges(open_table(known[1], "edge"), settings), ids)
    # What training refused or dropped is no part of the old graph.
    before = before.where(before.is_known)
    before = before.where(
        ~np.isin(_keys(before, len(ids), direction), _keys(placed, len(ids), direction))
    )
    return _Nodes(new.table, new.id_name, ids, columns), placed.followed_by(before)


def _keys(edges: Edges, num_nodes: int, direction: Direction) -> NDArray[np.int64]:
    """A number for each edge, the same for both directions where they count as one."""
    ends = edges.index if direction == "kept" else np.sort(edges.index, axis=0)
    return np.asarray(ends[0] * num_nodes + ends[1])
