"""What people hand in, as graphs and tensors, and columns brought to mean 0 and variance 1."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from akgnn.csr import CSR, Pattern, check_scipy
from akgnn.errors import DataError, SettingsError
from akgnn.graph import Graph

_KINDS = (
    "an akgnn Graph, a SciPy sparse matrix, a NetworkX graph, PyG data, "
    "or an edge_index of shape (2, edges)"
)


def is_sparse(x: Any) -> bool:
    """Whether it is a SciPy sparse matrix or array."""
    return bool(sparse.issparse(x))


def checked_table(x: Any) -> Any:
    """The table as it is, if its arrays fit together where it is sparse."""
    if is_sparse(x):
        check_scipy("X", x)
    return x


def as_graph(graph: Any, num_nodes: int) -> Graph:
    """A graph of any kind that is known here, checked to have one node for each row of X."""
    found = _converted(graph, num_nodes)
    if found.num_nodes != num_nodes:
        raise DataError(
            f"The graph has {found.num_nodes} nodes, but X has {num_nodes} rows; "
            "row i holds the features of node i."
        )
    return found.to("cpu")


def _converted(graph: Any, num_nodes: int) -> Graph:
    if isinstance(graph, Graph):
        return graph
    if is_sparse(graph):
        return Graph.from_scipy(graph)
    if isinstance(graph, Tensor | np.ndarray | list | tuple):
        index = torch.as_tensor(graph) if isinstance(graph, Tensor) else _index_tensor(graph)
        return Graph.from_edge_index(index, num_nodes=num_nodes)
    if hasattr(graph, "edge_index"):
        return Graph.from_pyg(graph)
    if hasattr(graph, "is_directed") and hasattr(graph, "nodes"):
        return Graph.from_networkx(graph)
    raise DataError(f"graph must be {_KINDS}; got {type(graph).__name__}.")


def _index_tensor(index: Any) -> Tensor:
    array = np.asarray(index)
    if array.dtype.kind not in "iu" or array.ndim != 2 or len(array) != 2:
        raise DataError(
            f"graph must be {_KINDS}; got an array of {array.dtype} of shape {list(array.shape)}. "
            "scipy.sparse.csr_array converts a dense adjacency matrix."
        )
    return torch.tensor(array.astype(np.int64))


def as_features(x: Any, dtype: torch.dtype = torch.float32) -> Tensor | CSR:
    """A NumPy array as a tensor, a SciPy matrix as CSR; both copied."""
    if not is_sparse(x):
        return torch.tensor(x, dtype=dtype)
    rows = _csr(x)
    rowptr, col = (torch.tensor(index, dtype=torch.int64) for index in (rows.indptr, rows.indices))
    value = torch.tensor(rows.data, dtype=dtype)
    return CSR(Pattern(rowptr, col, rows.shape, copy=False), value)


def _csr(x: Any) -> Any:
    """A copy with sorted rows and no repeated entries."""
    rows = sparse.csr_array(x, copy=True)
    rows.sum_duplicates()
    return rows


def fingerprint(x: Any) -> str:
    """The SHA-256 of an array or sparse matrix: equal for equal rows in the same order."""
    digest = hashlib.sha256(repr(x.shape).encode())
    if is_sparse(x):
        rows = _csr(x)
        rows.eliminate_zeros()
        arrays = [rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data]
    else:
        arrays = [x]
    for array in arrays:
        # -0 is 0.
        digest.update(np.ascontiguousarray(array + 0).tobytes())
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Scaling:
    """What is subtracted from each column of a table, and what it is divided by."""

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

    Unless `standardize` says so, dense tables are scaled that have no graph. Without a graph rows
    become float64, in which distances are measured.
    """
    if standardize and is_sparse(x):
        raise SettingsError("standardize=True would fill a sparse X with numbers other than 0.")
    if standardize is None:
        standardize = not is_sparse(x) and not has_graph
    if not standardize:
        return (x if has_graph else x.astype(np.float64)), None
    scaling = Scaling.of(x.astype(np.float64))
    return scaling.apply(x), scaling
