"""The graph of nearest neighbours that stands in where there is no graph.

Every row takes in from its nearest rows of the training table, and nothing from anywhere else. So
the edges are directed, every node has the same number of them, and a new row changes nothing for
others: what is predicted for it does not depend on what else is asked.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from akgnn.errors import SettingsError
from akgnn.estimator.inputs import is_sparse
from akgnn.graph import Graph

Rows = Any
"""A float64 array, or a SciPy matrix in CSR."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The training table and who is near whom in it.

    Attributes:
        rows: The table, scaled.
        nearest: For each row the places of its nearest others, shape (rows, neighbours).
        metric: How far apart two rows are; a name that scikit-learn knows.
    """

    rows: Rows
    nearest: NDArray[np.int64]
    metric: str

    @classmethod
    def build(cls, rows: Rows, number: int, metric: str) -> "Neighbours":
        """Look for so many neighbours of each row, or as many as there are."""
        if metric == "precomputed":
            raise SettingsError(
                "metric='precomputed' needs distances in place of features; "
                "pass the graph that they make as graph=… instead."
            )
        search = NearestNeighbors(n_neighbors=max(1, min(number, rows.shape[0] - 1)), metric=metric)
        search.fit(rows)
        if rows.shape[0] == 1:
            return cls(rows, np.empty((1, 0), dtype=np.int64), metric)
        return cls(rows, search.kneighbors(return_distance=False).astype(np.int64), metric)

    def graph(self) -> Graph:
        """The graph of the training table."""
        return _graph_of(self.nearest)

    def attach(self, new: Rows) -> tuple[Rows, Graph]:
        """The training table with new rows below it, and the graph of both.

        A row that stands in the training table has the neighbours of its twin there.
        """
        if is_sparse(self.rows):
            rows: Rows = sparse.csr_array(sparse.vstack([self.rows, sparse.csr_array(new)]))
        else:
            rows = np.concatenate([self.rows, new.toarray() if is_sparse(new) else new])
        near = self._nearest_to(rows[len(self.nearest) :])
        return rows, _graph_of(np.concatenate([self.nearest, near]))

    def _nearest_to(self, new: Rows) -> NDArray[np.int64]:
        number = self.nearest.shape[1]
        if number == 0:
            return np.empty((new.shape[0], 0), dtype=np.int64)
        search = NearestNeighbors(n_neighbors=number, metric=self.metric).fit(self.rows)
        near: NDArray[np.int64] = search.kneighbors(new, return_distance=False).astype(np.int64)
        nobody = len(self.nearest)
        twin = np.full(len(near), nobody)
        for place in near.T:
            is_equal = np.asarray(abs(self.rows[place] - new).sum(axis=1)).reshape(-1) == 0
            twin = np.where(is_equal, np.minimum(twin, place), twin)
        has_twin = twin < nobody
        near[has_twin] = self.nearest[twin[has_twin]]
        return near


def _graph_of(nearest: NDArray[np.int64]) -> Graph:
    """The graph in which row i takes in from the rows `nearest[i]`."""
    number, each = nearest.shape
    source, target = nearest.reshape(-1), np.repeat(np.arange(number), each)
    return Graph.from_edge_index(torch.tensor(np.stack([source, target])), num_nodes=number)
