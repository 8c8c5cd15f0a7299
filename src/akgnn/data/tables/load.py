"""From a node table and an edge table to `NodeData`, with the ids kept."""

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from akgnn.data.catalogue import Direction
from akgnn.data.tables.arrow import pa
from akgnn.data.tables.assemble import BuiltGraph, TableData, assemble
from akgnn.data.tables.columns import end_columns
from akgnn.data.tables.edges import build_graph, place_edges, read_edges, unknown_ids_error
from akgnn.data.tables.open_table import open_table
from akgnn.data.tables.prediction import PredictionData, load_for_prediction
from akgnn.data.tables.settings import TableSettings
from akgnn.data.tables.table import Table, TableSource
from akgnn.errors import DataError, UnknownNameError

__all__ = ["PredictionData", "TableData", "load_for_prediction", "load_tables"]


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
    links = open_table(settings.edges if edges is None else edges, "edge")
    source, target = end_columns(links, settings.source, settings.target)
    settings = replace(settings, source=source, target=target)

    def graph_of(table: Table, ids: pa.ChunkedArray) -> BuiltGraph:
        return _graph(links, settings, table, ids, direction)

    name = Path(nodes).stem if isinstance(nodes, str | Path) else "tables"
    return assemble(opened, graph_of, settings, name=name, split=split, split_seed=split_seed)


def _graph(
    links: TableSource,
    settings: TableSettings,
    nodes: Table,
    ids: pa.ChunkedArray,
    direction: Direction,
) -> BuiltGraph:
    edges = read_edges(links, settings)
    if not len(edges.table):
        raise DataError(f"{links.name} has column names but no rows.")
    placed = place_edges(edges, ids)
    known = placed.is_known
    dropped = len(known) - int(known.sum())
    if dropped and settings.unknown_ids == "refuse":
        advice = "add them, or leave such edges out with --unknown-ids drop."
        raise unknown_ids_error(edges, placed, nodes.name, advice)
    if dropped == len(known):
        raise DataError(f"{links.name}: no edge joins two ids of {nodes.name}.")
    graph = build_graph(placed.where(known) if dropped else placed, len(ids), direction)
    notes = {"dropped": f"{dropped} edges to unknown ids"} if dropped else {}
    if direction == "kept" and not graph.is_symmetric:
        notes["direction"] = "kept"
    return BuiltGraph(graph, notes)
