"""What is done to features, whatever they come from: divided by row, sparse or dense."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from akgnn.csr import CSR, check_scipy, rowptr_from_rows
from akgnn.data.node_data import NodeData

SPARSE_BELOW = 0.1
"""Features with fewer non-zeros than this share are kept sparse."""


def row_normalise(data: NodeData) -> NodeData:
    """Divide each node's features by their sum; rows that sum to 0 stay as they are."""
    return replace(data, x=rows_to_1(data.x), source={**data.source, "features": "rows sum to 1"})


def rows_to_1(x: Tensor | CSR) -> Tensor | CSR:
    """Features divided by the sum of their row; rows that sum to 0 stay as they are."""
    if isinstance(x, CSR):
        value = torch.ones(x.num_entries, device=x.device) if x.value is None else x.value
        total = value.new_zeros(x.shape[0]).index_add_(0, x.pattern.row, value)
        total = torch.where(total == 0, 1, total)
        return CSR(x.pattern, value / total[x.pattern.row])
    total = x.sum(1, keepdim=True)
    return torch.where(total == 0, x, x / torch.where(total == 0, 1, total))


def dense_features(data: NodeData) -> NodeData:
    """Write sparse features out with their zeros."""
    return replace(data, x=data.x.to_dense()) if isinstance(data.x, CSR) else data


def sparse_if_sparse(x: Tensor) -> Tensor | CSR:
    """Features as CSR where most of them are 0, else as they are."""
    where = x.nonzero()
    if len(where) >= SPARSE_BELOW * x.numel():
        return x
    row, col = where.unbind(1)
    value = x[row, col]
    rows, columns = x.shape
    is_binary = bool((value == 1).all())
    rowptr = rowptr_from_rows(row, rows)
    return CSR.from_arrays(rowptr, col, None if is_binary else value, (rows, columns))


def as_rows(x: Tensor | CSR) -> Any:
    """Features as NumPy has them, or SciPy where they are sparse."""
    return x.numpy() if isinstance(x, Tensor) else x.to_scipy()


def from_rows(rows: Any) -> Tensor | CSR:
    """Features from what `as_rows` gave, as float32."""
    if sparse.issparse(rows):
        return csr_from_scipy(rows)
    return torch.from_numpy(rows.astype(np.float32, copy=False))


def csr_from_scipy(matrix: Any) -> CSR:
    """Features as CSR from a SciPy sparse matrix; repeated entries add up."""
    check_scipy("The features", matrix)
    matrix = sparse.csr_array(matrix, dtype=np.float32)
    matrix.sum_duplicates()
    value = None if (matrix.data == 1).all() else torch.from_numpy(matrix.data)
    rowptr, col = (torch.from_numpy(a.astype(np.int64)) for a in (matrix.indptr, matrix.indices))
    rows, columns = matrix.shape
    return CSR.from_arrays(rowptr, col, value, (rows, columns))
