"""Edges sorted into rows on a disk, for graphs whose edges do not fit into memory.

Edges come in any order, block by block, and are written down. They are then dealt out to buckets of
neighbouring rows, each small enough to be sorted in memory. What comes out is the graph that
`Graph.from_edge_index`, and `symmetrised` if asked for, would have made, as memory maps. Memory
holds a few integers for each node, a block and a bucket.
"""

from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from akgnn.arrays import Growing
from akgnn.csr import CSR, Pattern, index_dtype
from akgnn.graph import Graph, join_repeats

# Edges that are read at a time, and entries of a bucket; of a huge graph buckets hold more, so that
# there are not too many.
_BLOCK, _BUCKET, _MOST_BUCKETS = 2**19, 2**20, 256

Block = tuple[Tensor, Tensor, Tensor | None]
"""Rows, columns, and weights if there are any."""


class SortedEdges:
    """Takes edges between `num_nodes` nodes, block by block, and makes their graph.

    Args:
        folder: An empty folder for files; those of the graph must stay while it is used.
        num_nodes: Number of nodes.
        weight_dtype: Type of the weights; None where there are none.
        symmetrise: Whether an edge in either direction is one in both, with the larger weight.
    """

    def __init__(
        self,
        folder: Path,
        num_nodes: int,
        *,
        weight_dtype: torch.dtype | None = None,
        symmetrise: bool = False,
    ) -> None:
        self._folder, self._num_nodes, self._symmetrise = folder, num_nodes, symmetrise
        self._weight_dtype = weight_dtype
        self._written = self._rows("edges")
        self._counts = torch.zeros(num_nodes, dtype=torch.int64)

    def _rows(self, name: str) -> "_Rows":
        return _Rows(self._folder / name, index_dtype(self._num_nodes), self._weight_dtype)

    def add(self, source: Tensor, target: Tensor, weight: Tensor | None = None) -> None:
        """Take in edges; those from a node to itself are dropped."""
        kept = source != target
        row, col = target[kept], source[kept]
        self._written.append(row, col, None if weight is None else weight[kept])
        for ends in (row, col) if self._symmetrise else (row,):
            self._counts.index_add_(0, ends, torch.ones_like(ends))

    def finish(self) -> Graph:
        """The graph of all edges."""
        limit = max(_BUCKET, int(self._counts.sum()) // _MOST_BUCKETS)
        # Rows of one bucket have up to `limit` entries together, or it is one row.
        bucket_of = (self._counts.cumsum(0) - 1).clamp_(min=0) // limit
        bucket_of = torch.unique(bucket_of, return_inverse=True)[1]
        buckets = self._deal_out(bucket_of)
        counts = torch.zeros(self._num_nodes, dtype=torch.int64)
        columns = Growing(index_dtype(self._num_nodes), self._folder / "col")
        dtype = self._weight_dtype
        values = None if dtype is None else Growing(dtype, self._folder / "value")
        are_ones = True
        for forward, backward in buckets:
            key, value = self._joined(forward, backward)
            row = key // self._num_nodes
            if len(row):
                # The rows of a bucket are neighbours.
                first, last = int(row[0]), int(row[-1])
                counts[first : last + 1] = torch.bincount(row - first)
            columns.append(key - row * self._num_nodes)
            if values is not None and value is not None:
                values.append(value)
                are_ones = are_ones and bool((value == 1).all())
        rowptr = torch.zeros(self._num_nodes + 1, dtype=torch.int64)
        torch.cumsum(counts, 0, out=rowptr[1:])
        shape = self._num_nodes, self._num_nodes
        pattern = Pattern(rowptr, columns.finish(), shape, copy=False)
        return Graph(CSR(pattern, None if values is None or are_ones else values.finish()))

    def _deal_out(self, bucket_of: Tensor) -> list[tuple["_Rows", "_Rows"]]:
        """The edges by buckets of rows, and the same edges backward if they are to be both."""
        buckets = [
            (self._rows(f"forward-{number}"), self._rows(f"backward-{number}"))
            for number in range(int(bucket_of[-1]) + 1)
        ]
        for row, col, weight in self._written.blocks():
            sides = [(row, col), (col, row)] if self._symmetrise else [(row, col)]
            for side, (first, second) in enumerate(sides):
                bucket = bucket_of[first.long()]
                order = torch.argsort(bucket, stable=True)
                sizes = torch.bincount(bucket, minlength=len(buckets)).tolist()
                for pair, where in zip(buckets, order.split(sizes), strict=True):
                    if len(where):
                        chosen = None if weight is None else weight[where]
                        pair[side].append(first[where], second[where], chosen)
        self._written.remove()
        return buckets

    def _joined(self, forward: "_Rows", backward: "_Rows") -> tuple[Tensor, Tensor | None]:
        """The keys row · nodes + column of a bucket, each once, ascending, with their weights."""
        sides = [self._keys(rows) for rows in (forward, backward)]
        for rows in (forward, backward):
            rows.remove()
        (key, weight), (back, back_weight) = sides
        if not self._symmetrise:
            return join_repeats(key, weight)
        if weight is None:
            return join_repeats(torch.cat([key, back]), None)
        both = torch.unique(torch.cat([key, back]))
        larger = weight.new_full((len(both),), -torch.inf)
        for joined, value in (join_repeats(key, weight), join_repeats(back, back_weight)):
            assert value is not None, "there are weights"
            place = torch.searchsorted(both, joined)
            larger[place] = torch.maximum(larger[place], value)
        return both, larger

    def _keys(self, rows: "_Rows") -> tuple[Tensor, Tensor | None]:
        row, col, weight = rows.read()
        return row.long().mul_(self._num_nodes).add_(col), weight


class _Rows:
    """Entries in files: rows, columns and weights."""

    def __init__(self, path: Path, index: torch.dtype, weight_dtype: torch.dtype | None) -> None:
        self._path = path
        names = {"row": index, "col": index}
        if weight_dtype is not None:
            names["weight"] = weight_dtype
        self._arrays = {name: Growing(dtype, self._file(name)) for name, dtype in names.items()}

    def _file(self, name: str) -> Path:
        return self._path.with_name(f"{self._path.name}-{name}")

    def append(self, row: Tensor, col: Tensor, weight: Tensor | None) -> None:
        for name, values in (("row", row), ("col", col), ("weight", weight)):
            if values is not None:
                self._arrays[name].append(values)

    def read(self) -> Block:
        arrays = {name: array.finish() for name, array in self._arrays.items()}
        return arrays["row"], arrays["col"], arrays.get("weight")

    def blocks(self) -> Iterator[Block]:
        row, col, weight = self.read()
        for start in range(0, len(row), _BLOCK):
            part = slice(start, start + _BLOCK)
            yield row[part], col[part], None if weight is None else weight[part]

    def remove(self) -> None:
        for name in self._arrays:
            self._file(name).unlink()


def with_transpose_in_files(graph: Graph, folder: Path) -> Graph:
    """The graph with its transpose, if it is directed, sorted in files of an empty folder.

    Otherwise `Graph.transpose` sorts it in memory when it is asked for.
    """
    if graph.is_symmetric:
        return graph
    weight = graph.edge_weight
    dtype = None if weight is None else weight.dtype
    edges = SortedEdges(folder, graph.num_nodes, weight_dtype=dtype)
    pattern = graph.adjacency.pattern
    for part, row in pattern.blocks():
        edges.add(row.long(), pattern.col[part].long(), None if weight is None else weight[part])
    # What the property would find out.
    graph.__dict__["transpose"] = edges.finish()
    return graph
