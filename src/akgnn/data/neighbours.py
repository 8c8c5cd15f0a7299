"""The graph of nearest rows, which stands in where there are no edges.

Every row takes in from its nearest rows of the training table, and nothing from anywhere else. So
the edges are directed, every node has the same number of them, and a new row changes nothing for
others: what is predicted for it does not depend on what else is asked.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from akgnn.graph import Graph

Rows = Any
"""A float64 array, or a SciPy matrix in CSR."""
Search = Callable[[Rows, Rows | None, int], NDArray[np.int64]]
"""Finds so many nearest rows of each new row; if there are no new ones, of each row the others."""

MOST_ROWS = 200_000
"""More rows take too long: every one is compared with every other."""
# Distances that are held at a time, at most 128 MiB of them.
_AT_A_TIME = 2**24
# Beyond this, in units of the farthest row, a new row is far from all alike.
_FAR = 1e15


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The training table and who is near whom in it.

    Attributes:
        rows: The table, scaled.
        nearest: For each row the indices of its nearest others, shape (rows, neighbours).
        search: What finds them.
    """

    rows: Rows
    nearest: NDArray[np.int64]
    search: Search

    @classmethod
    def build(cls, rows: Rows, number: int, search: Search) -> "Neighbours":
        """Look for so many neighbours of each row, or as many as there are."""
        if rows.shape[0] == 1:
            return cls(rows, np.empty((1, 0), dtype=np.int64), search)
        return cls(rows, search(rows, None, min(number, rows.shape[0] - 1)), search)

    def graph(self) -> Graph:
        """The graph of the training table."""
        return _graph_of(self.nearest)

    def attach(self, new: Rows) -> tuple[Rows, Graph]:
        """The training table with new rows below it, and the graph of both.

        A row that stands in the training table has the neighbours of its twin there.
        """
        if _is_sparse(self.rows):
            rows: Rows = sparse.csr_array(sparse.vstack([self.rows, sparse.csr_array(new)]))
        else:
            rows = np.concatenate([self.rows, new.toarray() if _is_sparse(new) else new])
        near = self._nearest_to(rows[len(self.nearest) :])
        return rows, _graph_of(np.concatenate([self.nearest, near]))

    def _nearest_to(self, new: Rows) -> NDArray[np.int64]:
        number = self.nearest.shape[1]
        if number == 0:
            return np.empty((new.shape[0], 0), dtype=np.int64)
        near = self.search(self.rows, new, number)
        nobody = len(self.nearest)
        twin = np.full(len(near), nobody)
        for index in near.T:
            is_equal = np.asarray(abs(self.rows[index] - new).sum(axis=1)).reshape(-1) == 0
            twin = np.where(is_equal, np.minimum(twin, index), twin)
        has_twin = twin < nobody
        near[has_twin] = self.nearest[twin[has_twin]]
        return near


def nearest_rows(rows: Rows, new: Rows | None, number: int) -> NDArray[np.int64]:
    """The nearest rows by Euclidean distance: every pair is compared."""
    rows, asked = _comparable(rows, rows if new is None else new)
    transposed, squares = -2 * rows.T, np.asarray((rows * rows).sum(axis=1)).reshape(1, -1)
    block = max(1, _AT_A_TIME // rows.shape[0])
    found = []
    for first in range(0, asked.shape[0], block):
        product = asked[first : first + block] @ transposed
        # What is the same for all candidates of a row is left out.
        distance = (product.toarray() if _is_sparse(product) else product) + squares
        if new is None:
            each = np.arange(len(distance))
            distance[each, first + each] = np.inf
        nearest = torch.from_numpy(distance).topk(number, largest=False).indices
        found.append(nearest.numpy())
    return np.concatenate(found)


def _comparable(rows: Rows, asked: Rows) -> tuple[Rows, Rows]:
    """Dense rows as float32, which is three times as quick, about their middle and below 1."""
    if _is_sparse(rows):
        return rows, asked
    middle = rows.mean(axis=0)
    largest = float(np.abs(rows - middle).max()) or 1.0

    def moved(table: Rows) -> Rows:
        return np.clip((table - middle) / largest, -_FAR, _FAR).astype(np.float32)

    return moved(rows), moved(asked)


def _is_sparse(rows: Rows) -> bool:
    return bool(sparse.issparse(rows))


def _graph_of(nearest: NDArray[np.int64]) -> Graph:
    """The graph in which row i takes in from the rows `nearest[i]`."""
    number, each = nearest.shape
    source, target = nearest.reshape(-1), np.repeat(np.arange(number), each)
    return Graph.from_edge_index(torch.tensor(np.stack([source, target])), num_nodes=number)
