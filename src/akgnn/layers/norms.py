"""Normalisations of a signal: each channel over the nodes, or each node over its channels."""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.errors import DataError
from akgnn.ops.divided import batch_norm, layer_norm, node_count

Norm = Literal["none", "layer", "batch", "length"]
InputNorm = Literal["none", "max"]

_MOMENTUM, _EPSILON = 0.1, 1e-5


class BatchNorm(nn.Module):
    """PyTorch's `BatchNorm1d`, for several replicas too, each over its own nodes.

    Args:
        channels: Width of the signal.
    """

    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))
        self.register_buffer("num_batches_tracked", torch.tensor(0))

    @property
    def fixed(self) -> tuple[Tensor, Tensor]:
        """Scale and shift of every channel outside training."""
        scale = self.weight * (self.running_var + _EPSILON).rsqrt()
        return scale, self.bias - self.running_mean * scale

    def forward(self, h: Tensor) -> Tensor:
        """Normalise `h`, shape (nodes, channels), or (replicas, nodes, channels).

        Raises:
            DataError: There is one node only, in training.
        """
        if self.training:
            if node_count(h[..., 0]) < 2:
                raise DataError("Batch normalisation needs at least two nodes to train on.")
            self.num_batches_tracked.add_(1)
        if h.dim() == 2:
            return self._normalised(h)
        # Channels of all replicas side by side: to each channel its own mean.
        beside = h.transpose(0, 1)
        return self._normalised(beside.flatten(1)).view_as(beside).transpose(0, 1).contiguous()

    def _normalised(self, h: Tensor) -> Tensor:
        of_channels = (self.running_mean, self.running_var, self.weight, self.bias)
        mean, var, weight, bias = (tensor.view(-1) for tensor in of_channels)
        if self.training:
            return batch_norm(h, mean, var, weight, bias, _MOMENTUM, _EPSILON)
        return F.batch_norm(h, mean, var, weight, bias, False, _MOMENTUM, _EPSILON)


class LayerNorm(nn.Module):
    """PyTorch's `LayerNorm`, for several replicas too.

    Args:
        channels: Width of the signal.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, h: Tensor) -> Tensor:
        """Normalise `h`, shape (nodes, channels), or (replicas, nodes, channels)."""
        if self.weight.dim() == 1:
            return layer_norm(h, self.weight, self.bias, _EPSILON)
        plain = F.layer_norm(h, h.shape[-1:], eps=_EPSILON)
        return plain * self.weight.unsqueeze(-2) + self.bias.unsqueeze(-2)


class UnitLength(nn.Module):
    """h / ‖h‖ of every node; nothing is learned.

    Args:
        channels: Width of the signal, which does not matter here.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()

    def forward(self, h: Tensor) -> Tensor:
        """Scale `h`, shape (nodes, channels), or (replicas, nodes, channels)."""
        return rows_to_length_1(h)


def rows_to_length_1(h: Tensor) -> Tensor:
    """Rows divided by their length; rows of zeros, and the gradients of these, stay as they are."""
    length = torch.linalg.vector_norm(h, dim=-1, keepdim=True)
    # Divided by a tiny number instead, a row of zeros would have a gradient beyond all others.
    return h / torch.where(length == 0, 1, length)


def rows_to_max(x: Tensor | CSR) -> Tensor | CSR:
    """Features divided by the largest size in their row; rows of zeros stay as they are."""
    if isinstance(x, Tensor):
        largest = x.detach().abs().amax(-1, keepdim=True)
        return x / torch.where(largest == 0, 1, largest)
    if x.value is None:
        return x
    row = x.pattern.row.long().expand_as(x.value)
    largest = x.value.new_zeros(*x.value.shape[:-1], x.shape[0])
    largest = largest.scatter_reduce(-1, row, x.value.detach().abs(), "amax")
    return CSR(x.pattern, x.value / torch.where(largest == 0, 1, largest).gather(-1, row))


NORMS: dict[Norm, type[nn.Module]] = {
    "none": nn.Identity,
    "layer": LayerNorm,
    "batch": BatchNorm,
    "length": UnitLength,
}
"""The normalisations by the names that settings have for them."""
