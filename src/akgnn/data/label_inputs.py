"""Labels as inputs: one more feature for each class, 1 where a training node has it.

A node that is being predicted must not see its own label, so it is hidden from the features then;
that of others may reach it over edges.
"""

import torch
from torch import Tensor

from akgnn.csr import CSR


def append_labels(x: Tensor | CSR, y: Tensor, nodes: Tensor, num_classes: int) -> Tensor | CSR:
    """Features with a column for each class behind them, in which these nodes have their label."""
    rows, columns = x.shape
    if isinstance(x, Tensor):
        labels = x.new_zeros(rows, num_classes)
        labels[nodes, y[nodes]] = 1
        return torch.cat([x, labels], dim=1)
    pattern = x.pattern
    has_label = torch.zeros(rows + 1, dtype=torch.int64, device=y.device)
    has_label[nodes + 1] = 1
    before = has_label.cumsum(0)
    rowptr = pattern.rowptr + before
    old = torch.arange(x.num_entries, device=y.device) + before[pattern.row.long()]
    new = rowptr[nodes + 1] - 1
    col = torch.empty(x.num_entries + len(nodes), dtype=torch.int64, device=y.device)
    col[old], col[new] = pattern.col.long(), columns + y[nodes]
    value = torch.ones(len(col), device=y.device)
    if x.value is not None:
        value[old] = x.value
    return CSR.from_arrays(rowptr, col, value, (rows, columns + num_classes))


def remove_labels(x: Tensor | CSR, num_classes: int) -> Tensor | CSR:
    """Features without the columns that `append_labels` put behind them."""
    rows, columns = x.shape[0], x.shape[1] - num_classes
    if isinstance(x, Tensor):
        return x[:, :columns].contiguous()
    keep = x.pattern.col < columns
    row = x.pattern.row[keep].long()
    counts = torch.bincount(row, minlength=rows)
    rowptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    value = None if x.value is None else x.value[keep]
    value = None if value is None or bool((value == 1).all()) else value
    return CSR.from_arrays(rowptr, x.pattern.col[keep].long(), value, (rows, columns))


def labels_in(x: Tensor | CSR, num_classes: int) -> tuple[Tensor, Tensor]:
    """The nodes, ascending, that have a label among the features, and which."""
    columns = x.shape[1] - num_classes
    if isinstance(x, Tensor):
        row, label = x[:, columns:].nonzero().unbind(1)
        return row, label
    is_label = x.pattern.col >= columns
    return x.pattern.row[is_label].long(), x.pattern.col[is_label].long() - columns


def hide_labels(x: Tensor | CSR, nodes: Tensor, num_classes: int) -> Tensor | CSR:
    """Features in which these nodes, all of which have one, do not have their label."""
    if isinstance(x, Tensor):
        hidden = x.clone()
        hidden[nodes, -num_classes:] = 0
        return hidden
    assert x.value is not None, "append_labels writes the values out"
    value = x.value.clone()
    # The last entry of a row, since its column is behind those of the features.
    value[x.pattern.rowptr[nodes + 1].long() - 1] = 0
    return CSR(x.pattern, value)
