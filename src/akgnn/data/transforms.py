"""Functions from NodeData to NodeData."""

from dataclasses import replace

import torch
from torch import Tensor

from akgnn.csr import CSR
from akgnn.data.node_data import NodeData


def row_normalise(data: NodeData) -> NodeData:
    """Divide each node's features by their sum; rows that sum to 0 stay as they are."""
    return replace(data, x=rows_to_1(data.x), source={**data.source, "features": "rows sum to 1"})


def rows_to_1(x: Tensor | CSR) -> Tensor | CSR:
    """Features divided by the sum of their row; rows that sum to 0 stay as they are."""
    return _sparse_rows(x) if isinstance(x, CSR) else _dense_rows(x)


def dense_features(data: NodeData) -> NodeData:
    """Write sparse features out with their zeros."""
    return replace(data, x=data.x.to_dense()) if isinstance(data.x, CSR) else data


def _dense_rows(x: Tensor) -> Tensor:
    total = x.sum(1, keepdim=True)
    return torch.where(total == 0, x, x / torch.where(total == 0, 1, total))


def _sparse_rows(x: CSR) -> CSR:
    value = torch.ones(x.num_entries, device=x.device) if x.value is None else x.value
    total = value.new_zeros(x.shape[0]).index_add_(0, x.pattern.row, value)
    total = torch.where(total == 0, 1, total)
    return CSR(x.pattern, value / total[x.pattern.row])
