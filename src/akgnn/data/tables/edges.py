"""The edge table: ids at both ends of every edge, found among the nodes, and the graph of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from akgnn.data.catalogue import Direction, directed
from akgnn.data.edge_weights import WEIGHTS, wrong_weight
from akgnn.data.sorted_edges import SortedEdges, with_transpose_in_files
from akgnn.data.tables.columns import end_columns, named_column
from akgnn.data.tables.nodes import IdFinder, checked_ids, joined_ids, listed_ids, positions
from akgnn.data.tables.settings import TableSettings
from akgnn.data.tables.table import (
    Table,
    TableSource,
    empty_as_missing,
    first_not_numeric,
    is_text,
    pa,
    pc,
)
from akgnn.errors import DataError
from akgnn.graph import Graph
from akgnn.similar_names import looks, visible

# Ids of nodes that are compared with one that is missing.
_MOST_COMPARED = 200_000


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """The edges as their table, kept for messages, has them: ids, and weights unless all are 1."""

    table: Table
    source: pa.ChunkedArray
    target: pa.ChunkedArray
    weight: NDArray[np.float64] | None


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges between positions of nodes, which are -1 where an id is unknown."""

    index: NDArray[np.int64]
    weight: NDArray[np.float64] | None

    def where(self, mask: NDArray[np.bool_]) -> "Edges":
        """Some of the edges."""
        return Edges(self.index[:, mask], None if self.weight is None else self.weight[mask])

    def followed_by(self, others: "Edges") -> "Edges":
        """These edges and others, weighted like them."""
        index = np.concatenate([self.index, others.index], axis=1)
        if self.weight is None or others.weight is None:
            return Edges(index, None)
        return Edges(index, np.concatenate([self.weight, others.weight]))

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Whether both ends of each edge are known."""
        return np.asarray((self.index >= 0).all(axis=0))


def read_edges(opened: TableSource, settings: TableSettings) -> EdgeTable:
    """Read and check the columns of the ends and of the weight."""
    ends, columns = _edge_columns(opened, settings)
    return _edge_table(opened.read(columns, text=ends), ends, settings.weight)


def edge_blocks(opened: TableSource, settings: TableSettings) -> Iterator[EdgeTable]:
    """The same block by block."""
    ends, columns = _edge_columns(opened, settings)
    for table in opened.blocks(columns, text=ends):
        yield _edge_table(table, ends, settings.weight)


def _edge_columns(
    opened: TableSource, settings: TableSettings
) -> tuple[tuple[str, str], list[str]]:
    """The columns of the ends, and all that are read."""
    ends = end_columns(opened, settings.source, settings.target)
    columns = list(ends)
    if settings.weight is not None:
        columns.append(named_column(opened, settings.weight, "`weight`"))
        if settings.weight in ends:
            raise DataError(
                f"{opened.name}: {settings.weight!r} holds ids and cannot hold the weights too."
            )
    return ends, columns


def _edge_table(table: Table, ends: tuple[str, str], weight: str | None) -> EdgeTable:
    source, target = (checked_ids(table, name) for name in ends)
    return EdgeTable(table, source, target, None if weight is None else _weights(table, weight))


def read_graph(
    opened: TableSource,
    settings: TableSettings,
    nodes_name: str,
    ids: pa.ChunkedArray,
    direction: Direction,
    folder: Path | None = None,
) -> tuple[Graph, dict[str, str]]:
    """The graph of an edge table, with what the record of a run says about it.

    With a folder edges are read block by block, and the graph lies in files there.
    """
    if folder is not None:
        graph, dropped = _graph_in_files(opened, settings, nodes_name, ids, direction, folder)
        return _with_notes(graph, dropped, direction)
    edges = read_edges(opened, settings)
    if not len(edges.table):
        raise DataError(f"{opened.name} has column names but no rows.")
    ends = find_ends(edges, ids)
    dropped = int((~ends.is_known).sum())
    if dropped and settings.unknown_ids == "refuse":
        raise unknown_ids_error(edges, ends, nodes_name, known=ids)
    if dropped == len(edges.table):
        raise DataError(f"{opened.name}: no edge joins two ids of {nodes_name}.")
    graph = build_graph(ends.where(ends.is_known) if dropped else ends, len(ids), direction)
    return _with_notes(graph, dropped, direction)


def _with_notes(graph: Graph, dropped: int, direction: Direction) -> tuple[Graph, dict[str, str]]:
    graph, notes = directed(graph, direction)
    return graph, {"dropped": f"{dropped} edges to unknown ids", **notes} if dropped else notes


def _graph_in_files(
    opened: TableSource,
    settings: TableSettings,
    nodes_name: str,
    ids: pa.ChunkedArray,
    direction: Direction,
    folder: Path,
) -> tuple[Graph, int]:
    """The graph of an edge table that need not fit into memory, and how many edges it lacks."""
    dtype = None if settings.weight is None else torch.float32
    places = [folder / name for name in ("edges", "transpose")]
    for place in places:
        place.mkdir()
    is_symmetrised = direction == "symmetrised"
    edges = SortedEdges(places[0], len(ids), weight_dtype=dtype, symmetrise=is_symmetrised)
    finder, rows, dropped = IdFinder(ids), 0, 0
    for block in edge_blocks(opened, settings):
        ends = _found(block, finder.positions)
        unknown = int((~ends.is_known).sum())
        if unknown and settings.unknown_ids == "refuse":
            raise unknown_ids_error(block, ends, nodes_name, is_part=True, known=ids)
        rows, dropped = rows + len(block.table), dropped + unknown
        ends = ends.where(ends.is_known) if unknown else ends
        source, target = torch.from_numpy(ends.index)
        edges.add(source, target, None if ends.weight is None else torch.from_numpy(ends.weight))
    if not rows:
        raise DataError(f"{opened.name} has column names but no rows.")
    if dropped == rows:
        raise DataError(f"{opened.name}: no edge joins two ids of {nodes_name}.")
    return with_transpose_in_files(edges.finish(), places[1]), dropped


def find_ends(edges: EdgeTable, ids: pa.ChunkedArray) -> Edges:
    """Find the ends of the edges among the nodes' ids."""
    return _found(edges, lambda end: positions(end, ids))


def _found(edges: EdgeTable, positions_of: Callable[[pa.ChunkedArray], NDArray[np.int64]]) -> Edges:
    index = np.stack([positions_of(end) for end in (edges.source, edges.target)])
    return Edges(index, edges.weight)


def unknown_ids_error(
    edges: EdgeTable,
    ends: Edges,
    nodes: str,
    advice: str = "add them, or leave such edges out with `unknown_ids='drop'`.",
    *,
    is_part: bool = False,
    known: pa.ChunkedArray | None = None,
) -> DataError:
    """The error about edges to ids that no node has; there may be more if this is a part.

    If the ids of the nodes are `known`, it names one that looks like an id that is missing.
    """
    row = np.flatnonzero(~ends.is_known)
    missing = [
        ids.take(pa.array(row[position[row] < 0]))
        for ids, position in zip((edges.source, edges.target), ends.index, strict=True)
    ]
    unknown = pc.unique(joined_ids(*missing))
    number = f"{'at least ' * is_part}{len(row):,}"
    return DataError(
        f"{edges.table.name}, first at {edges.table.locate(int(row[0]))}: {number} edges "
        f"mention {len(unknown):,} ids that are not in {nodes}: {listed_ids(unknown)}"
        f"{_like_a_known_id(unknown, known)}; {advice}"
    )


def _like_a_known_id(unknown: pa.ChunkedArray, known: pa.ChunkedArray | None) -> str:
    """Words about a node whose id looks like the first that is missing."""
    if known is None or len(known) > _MOST_COMPARED:
        return ""
    wanted = str(unknown[0].as_py())
    look = looks(wanted)
    twin = next((name for name in map(str, known.to_pylist()) if looks(name) == look), None)
    return "" if twin is None else f" ({visible(wanted)} looks like the node {visible(twin)})"


def build_graph(edges: Edges, num_nodes: int, direction: Direction) -> Graph:
    """The graph of edges whose ends are known."""
    index = torch.from_numpy(edges.index)
    if edges.weight is None:
        if direction == "symmetrised":
            index = torch.cat([index, index.flip(0)], dim=1)
        return Graph.from_edge_index(index, num_nodes=num_nodes)
    weight = torch.tensor(edges.weight, dtype=torch.float32)
    graph = Graph.from_edge_index(index, weight, num_nodes=num_nodes)
    return graph.symmetrised() if direction == "symmetrised" else graph


def _weights(table: Table, name: str) -> NDArray[np.float64]:
    column = table.column(name)
    kind, types = column.type, pa.types
    if is_text(kind):
        row = first_not_numeric(empty_as_missing(column))
        what = "numbers written as text" if row is None else f"{column[row].as_py()!r}"
        where = table.of(name) if row is None else table.at(row, name)
        raise DataError(f"{where}: weights must be numbers, got {what}.")
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_null(kind)):
        raise DataError(f"{table.of(name)}: weights must be numbers, got {kind}.")
    values = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    row = wrong_weight(values)
    if row is not None:
        what = "is missing" if np.isnan(values[row]) else f"is {values[row]:g}"
        raise DataError(f"{table.at(row, name)}: the weight {what}; {WEIGHTS}.")
    return values
