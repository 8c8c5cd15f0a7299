"""New nodes and edges for a trained model, joined to the old graph where they touch it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from akgnn.csr import CSR
from akgnn.data.catalogue import Direction
from akgnn.data.tables.columns import id_column
from akgnn.data.tables.edges import (
    Edges,
    EdgeTable,
    build_graph,
    find_ends,
    read_edges,
    unknown_ids_error,
)
from akgnn.data.tables.features import build_features, check_columns, typed_columns
from akgnn.data.tables.nodes import checked_node_ids, joined_ids, output_ids, positions
from akgnn.data.tables.readers import open_table
from akgnn.data.tables.recipe import FeatureRecipe
from akgnn.data.tables.settings import TableSettings
from akgnn.data.tables.table import Table, TableSource, pa
from akgnn.errors import DataError
from akgnn.graph import Graph

Tables = tuple[Any, Any]
"""A node table and an edge table, as paths or DataFrames."""


@dataclass(frozen=True, eq=False)
class PredictionData:
    """A graph in which some nodes wait for a class.

    Attributes:
        x: Features of every node of the graph, as the model takes them.
        graph: The new nodes, and the old graph where new edges lead to it.
        ids: Ids of the nodes that wait, a pyarrow array of the type in the table.
        rows: Positions of those nodes in the graph.
        graph_ids: Ids of all nodes of the graph, as text or integers.
        y: Classes of the training nodes among them, -1 for others; None where they are not at hand.
    """

    x: Tensor | CSR
    graph: Graph
    ids: pa.ChunkedArray
    rows: Tensor
    graph_ids: pa.ChunkedArray
    y: Tensor | None = None

    @property
    def num_alone(self) -> int:
        """How many of the nodes that wait have no neighbour."""
        return int((self.graph.adjacency.pattern.rowptr.diff()[self.rows] == 0).sum())


@dataclass(frozen=True, eq=False)
class ReadNodes:
    """The rows of a node table: their ids and their columns as the recipe wants them."""

    table: Table
    id_name: str
    ids: pa.ChunkedArray
    columns: pa.Table


def read_for_prediction(
    settings: TableSettings,
    recipe: FeatureRecipe,
    *,
    nodes: Any,
    edges: Any = None,
    known: Tables | Callable[[], Tables] | None = None,
    direction: Direction = "symmetrised",
) -> PredictionData:
    """Read the nodes whose classes are asked for, with their edges.

    Where an edge leads to an id that is not in the new node table, the tables of training are
    looked at, and the graph becomes the old one with the new nodes and edges added. A node or an
    edge that is in both is taken as it is in the new tables.

    Args:
        settings: Settings of training, which name the columns: `tables` of its data.
        recipe: Recipe of training.
        nodes: Path or DataFrame of the nodes to predict.
        edges: Path or DataFrame of their edges; None where there are none.
        known: Node and edge table of training, as paths or DataFrames, or a function that gives
            them; None where they are not to be had.
        direction: Direction of training.
    """
    new = read_nodes(open_table(nodes, "node"), settings, recipe)
    rows, ids = torch.arange(len(new.ids)), output_ids(new.table, new.id_name)
    if edges is None:
        ends = Edges(np.empty((2, 0), dtype=np.int64), None)
    else:
        links = read_edges(open_table(edges, "edge"), settings)
        ends = find_ends(links, new.ids)
        if not ends.is_known.all():
            if known is None:
                advice = "the tables of training, where they may be, are not to be had."
                raise unknown_ids_error(links, ends, new.table.name, advice)
            tables = known() if callable(known) else known
            new, ends = _joined(new, links, tables, settings, recipe, direction)
    graph = build_graph(ends, len(new.ids), direction)
    x = build_features(recipe, new.columns, graph)
    return PredictionData(x, graph, ids, rows, new.ids)


def read_nodes(opened: TableSource, settings: TableSettings, recipe: FeatureRecipe) -> ReadNodes:
    """Read the ids of a node table, and the columns that the recipe wants."""
    id_name, wanted = id_column(opened, settings.id), recipe.column_names
    check_columns(recipe, opened.name, opened.columns)
    if id_name in wanted:
        raise DataError(
            f"{opened.name}: {id_name!r} is a feature of the model, so it cannot hold the ids; "
            "name their column with `id`."
        )
    table = opened.read([id_name, *wanted], text=[id_name, *recipe.text_columns])
    if not len(table):
        raise DataError(f"{table.name} has column names but no rows.")
    ids = checked_node_ids(table, id_name)
    return ReadNodes(table, id_name, ids, typed_columns(recipe, table))


def _joined(
    new: ReadNodes,
    links: EdgeTable,
    known: Tables,
    settings: TableSettings,
    recipe: FeatureRecipe,
    direction: Direction,
) -> tuple[ReadNodes, Edges]:
    """The new nodes followed by the old ones, and the edges of both."""
    old = read_nodes(open_table(known[0], "node"), settings, recipe)
    is_old = pa.array(positions(old.ids, new.ids) < 0)
    ids = joined_ids(new.ids, old.ids.filter(is_old))
    columns = new.columns
    if recipe.columns:
        columns = pa.concat_tables([columns, old.columns.filter(is_old)])
    ends = find_ends(links, ids)
    if not ends.is_known.all() and settings.unknown_ids == "refuse":
        raise unknown_ids_error(links, ends, f"{new.table.name} or {old.table.name}")
    ends = ends.where(ends.is_known)
    before = find_ends(read_edges(open_table(known[1], "edge"), settings), ids)
    # What training refused or dropped is no part of the old graph.
    before = before.where(before.is_known)
    old_keys, new_keys = (_keys(edges, len(ids), direction) for edges in (before, ends))
    before = before.where(~np.isin(old_keys, new_keys))
    return replace(new, ids=ids, columns=columns), ends.followed_by(before)


def _keys(edges: Edges, num_nodes: int, direction: Direction) -> NDArray[np.int64]:
    """A number for each edge, the same for both directions where they count as one."""
    pairs = edges.index if direction == "kept" else np.sort(edges.index, axis=0)
    return np.asarray(pairs[0] * num_nodes + pairs[1])
