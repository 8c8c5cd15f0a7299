"""Columns brought to mean 0 and variance 1, by the training table."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akgnn.errors import DataError, SettingsError
from akgnn.estimator.inputs import is_sparse


@dataclass(frozen=True, eq=False)
class Scaling:
    """What is subtracted from each column, and what it is divided by."""

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def of(cls, x: NDArray[np.float64]) -> "Scaling":
        """The scaling that a table asks for."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean, scale = x.mean(axis=0), x.std(axis=0)
        too_large = np.flatnonzero(~np.isfinite(scale))
        if len(too_large):
            raise DataError(f"Column {too_large[0]} of X holds numbers too large to be scaled.")
        # The deviation of a column of one value is 0, or a rounding error.
        scale[scale <= 1e-12 * np.abs(mean)] = 1.0
        return cls(mean, scale)

    def apply(self, x: Any) -> NDArray[np.float64]:
        """The table scaled, written out with its zeros."""
        dense = x.toarray() if is_sparse(x) else x
        scaled: NDArray[np.float64] = (dense - self.mean) / self.scale
        return scaled


def scaled(x: Any, standardize: bool | None, *, has_graph: bool) -> tuple[Any, Scaling | None]:
    """The table as the model is to see it, and the scaling if there is any.

    Args:
        x: The table.
        standardize: Whether to scale it; None scales dense tables without a graph.
        has_graph: Whether the rows have a graph; without one they become float64, in which
            distances are measured.
    """
    if standardize and is_sparse(x):
        raise SettingsError("standardize=True would fill a sparse X with numbers other than 0.")
    if standardize is None:
        standardize = not is_sparse(x) and not has_graph
    if not standardize:
        return (x if has_graph else x.astype(np.float64)), None
    scaling = Scaling.of(x.astype(np.float64))
    return scaling.apply(x), scaling
