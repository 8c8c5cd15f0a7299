"""The edge table: ids at both ends of every edge, found among the nodes, and the graph of them."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from akgnn.data.catalogue import Direction
from akgnn.data.tables.arrow import pa, pc
from akgnn.data.tables.column_values import first_no_number
from akgnn.data.tables.columns import end_columns, named_column
from akgnn.data.tables.ids import checked_ids, in_one, positions, shown
from akgnn.data.tables.settings import TableSettings
from akgnn.data.tables.table import Table, TableSource, is_text, no_text_as_missing
from akgnn.errors import DataError
from akgnn.graph import Graph


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """The edges as they were given.

    Attributes:
        table: Where they came from.
        source: The id that each starts from.
        target: The id that it ends in.
        weight: How much it weighs; None where all weigh 1.
    """

    table: Table
    source: pa.ChunkedArray
    target: pa.ChunkedArray
    weight: NDArray[np.float64] | None


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges between positions of nodes.

    Attributes:
        index: The positions of the two ends, in two rows; -1 where the id is unknown.
        weight: How much each weighs; None where all weigh 1.
    """

    index: NDArray[np.int64]
    weight: NDArray[np.float64] | None

    def where(self, kept: NDArray[np.bool_]) -> "Edges":
        """Some of the edges."""
        return Edges(self.index[:, kept], None if self.weight is None else self.weight[kept])

    def followed_by(self, others: "Edges") -> "Edges":
        """These edges and others, weighted like them."""
        index = np.concatenate([self.index, others.index], axis=1)
        if self.weight is None or others.weight is None:
            return Edges(index, None)
        return Edges(index, np.concatenate([self.weight, others.weight]))

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Of each edge, whether both its ends are known."""
        return np.asarray((self.index >= 0).all(axis=0))


def read_edges(opened: TableSource, settings: TableSettings) -> EdgeTable:
    """Read and check the columns of the ends and of the weight."""
    ends = end_columns(opened, settings.source, settings.target)
    columns = list(ends)
    if settings.weight is not None:
        columns.append(named_column(opened, settings.weight, "--weight"))
        if settings.weight in ends:
            raise DataError(
                f"{opened.name}: {settings.weight!r} holds ids and cannot hold the weights too."
            )
    table = opened.read(columns, text=ends)
    source, target = (checked_ids(table, name) for name in ends)
    weight = None if settings.weight is None else _weights(table, settings.weight)
    return EdgeTable(table, source, target, weight)


def place_edges(edges: EdgeTable, ids: pa.ChunkedArray) -> Edges:
    """Find the ends among the nodes' ids."""
    index = np.stack([positions(end, ids) for end in (edges.source, edges.target)])
    return Edges(index, edges.weight)


def unknown_ids_error(edges: EdgeTable, placed: Edges, where: str, advice: str) -> DataError:
    """The error about edges to ids that no node has."""
    row = np.flatnonzero(~placed.is_known)
    ends = [
        end.take(pa.array(row[position[row] < 0]))
        for end, position in zip((edges.source, edges.target), placed.index, strict=True)
    ]
    unknown = pc.unique(in_one(*ends))
    return DataError(
        f"{edges.table.name}, first at {edges.table.place_of(int(row[0]))}: {len(row):,} edges "
        f"mention {len(unknown):,} ids that are not in {where}: {shown(unknown)}; {advice}"
    )


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
        row = first_no_number(no_text_as_missing(column))
        what = "numbers written as text" if row is None else f"{column[row].as_py()!r}"
        where = table.of(name) if row is None else table.at(row, name)
        raise DataError(f"{where}: weights must be numbers, got {what}.")
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_null(kind)):
        raise DataError(f"{table.of(name)}: weights must be numbers, got {kind}.")
    values = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    is_wrong = ~((values >= 0) & (values <= np.finfo(np.float32).max))
    if is_wrong.any():
        row = int(is_wrong.argmax())
        what = "is missing" if np.isnan(values[row]) else f"is {values[row]:g}"
        raise DataError(
            f"{table.at(row, name)}: the weight {what}; it must be a finite number from 0 on."
        )
    return values
