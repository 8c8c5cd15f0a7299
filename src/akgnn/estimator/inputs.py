"""What people hand in, as tensors and graphs."""

import hashlib
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from akgnn.csr import CSR, Pattern
from akgnn.errors import DataError
from akgnn.graph import Graph

_KINDS = (
    "an akgnn Graph, a SciPy sparse matrix, a NetworkX graph, PyG data, "
    "or an edge_index of shape (2, edges)"
)


def is_sparse(x: Any) -> bool:
    """Whether it is a SciPy sparse matrix or array."""
    return bool(sparse.issparse(x))


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
    rows: Any = sparse.csr_array(x, copy=True)
    rows.sum_duplicates()
    rowptr, col = (torch.tensor(index, dtype=torch.int64) for index in (rows.indptr, rows.indices))
    value = torch.tensor(rows.data, dtype=dtype)
    return CSR(Pattern(rowptr, col, rows.shape, copy=False), value)


def fingerprint(x: Any) -> str:
    """The SHA-256 of an array or sparse matrix: equal for equal rows in the same order."""
    digest = hashlib.sha256(repr(x.shape).encode())
    if is_sparse(x):
        rows: Any = sparse.csr_array(x, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        arrays = [rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data]
    else:
        arrays = [x]
    for array in arrays:
        # -0 is 0.
        digest.update(np.ascontiguousarray(array + 0).tobytes())
    return digest.hexdigest()
