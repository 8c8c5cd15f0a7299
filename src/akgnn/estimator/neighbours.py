"""Nearest neighbours by any distance that scikit-learn knows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from akgnn.data.neighbours import Rows
from akgnn.errors import SettingsError


@dataclass(frozen=True)
class ByMetric:
    """A search for nearest rows; `metric` is a name that scikit-learn knows."""

    metric: str

    def __post_init__(self) -> None:
        if self.metric == "precomputed":
            raise SettingsError(
                "metric='precomputed' needs distances in place of features; "
                "pass the graph that they make as graph=… instead."
            )

    def __call__(self, rows: Rows, new: Rows | None, number: int) -> NDArray[np.int64]:
        """So many nearest rows of each new row, or of each row itself among the others."""
        search = NearestNeighbors(n_neighbors=number, metric=self.metric).fit(rows)
        near: NDArray[np.int64] = search.kneighbors(new, return_distance=False).astype(np.int64)
        return near
