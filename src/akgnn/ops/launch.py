"""What the Triton ops are given beside signals, and how a signal enters a layer; no gradients.

What there is none of is None: an op is compiled without it.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
import triton
from torch import Tensor

from akgnn.csr import CSR
from akgnn.hashing import Key
from akgnn.ops import triton_ops as ops
from akgnn.ops.dropout import Window, dropped_lanes
from akgnn.ops.inputs import Normalisation
from akgnn.ops.triton_gather import block_c_of, channel_grid


class Scalars(NamedTuple):
    """The weights of one layer, float32, each of shape (replicas, groups)."""

    a: Tensor
    w: Tensor


class Mask(NamedTuple):
    """Which values are dropped.

    Attributes:
        keys: One for each replica, int64.
        dropped: How many of 65536 lanes are dropped.
        kept_scale: What kept values are multiplied by.
        first: The number of the first channel that is here.
        channels: How many channels there are in all.
    """

    keys: Tensor
    dropped: int
    kept_scale: float
    first: int
    channels: int

    @classmethod
    def of(cls, key: Key, rate: float, h: Tensor, window: Window | None) -> "Mask":
        """The mask of `dropout` with this rate and key, for signals like `h`."""
        keys = torch.as_tensor(key, device=h.device).view(-1)
        return cls(keys, *dropped_lanes(rate), *(window or (0, h.size(-1))))


@dataclass(frozen=True)
class Adjacency:
    """A matrix with the degrees that its scalings come from.

    Attributes:
        matrix: Row i holds what node i sums over.
        degree: Degrees of the nodes in the forward direction, float32.
        form: Form of the kernel.
    """

    matrix: CSR
    degree: Tensor
    form: Normalisation


def enter(
    x: Tensor,
    adjacency: Adjacency | None = None,
    scalars: Scalars | None = None,
    *,
    backward: bool = False,
    mask: Mask | None = None,
    factor: float = 1.0,
) -> Tensor:
    """`factor` times a signal, after dropout, with the entry scaling of a layer if there is one."""
    replicas, num_nodes, width = x.shape
    groups = 1 if scalars is None else scalars.a.size(1)
    out = torch.empty_like(x)
    block_c = block_c_of(width // groups)
    block_r = max(1, 2048 // block_c)
    ops.enter[(triton.cdiv(num_nodes, block_r), *channel_grid(width, replicas, groups))](
        x,
        out,
        None if adjacency is None else adjacency.degree,
        scalars,
        mask,
        factor,
        num_nodes,
        width,
        groups,
        SYMMETRIC=adjacency is not None and adjacency.form == "sym",
        BACKWARD=backward,
        BLOCK_R=block_r,
        BLOCK_C=block_c,
    )
    return out
