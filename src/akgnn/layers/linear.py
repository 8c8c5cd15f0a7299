"""A linear map whose input may be sparse."""

import math
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.errors import SettingsError
from akgnn.ops.products import sparse_linear

Initialisation = Literal["glorot_normal", "uniform"]


class Linear(nn.Module):
    """x W + b for dense or sparse x.

    With several replicas, W has the shape (replicas, in, out), and x may be one for all of them.
    The product has the precision of dense x where that is lower than W's, so that signals may be
    bfloat16 while W is learned in float32.

    Args:
        in_channels: Width of x.
        out_channels: Width of the result.
        bias: Whether to add b.
        initialisation: `"glorot_normal"`, as in the paper, with b = 0; or `"uniform"` between
            ±1 / sqrt(in_channels), for b too.
        generator: Source of the initial weights.

    Raises:
        SettingsError: There are no channels, or the initialisation is unknown.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        bias: bool = True,
        initialisation: Initialisation = "glorot_normal",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if initialisation not in get_args(Initialisation):
            raise SettingsError(
                f"initialisation must be one of {get_args(Initialisation)}, got {initialisation!r}."
            )
        if min(in_channels, out_channels) < 1:
            raise SettingsError(
                f"A layer needs channels, got {in_channels} in, {out_channels} out."
            )
        self.initialisation = initialisation
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the weights anew."""
        if self.initialisation == "glorot_normal":
            nn.init.xavier_normal_(self.weight, generator=generator)
            if self.bias is not None:
                nn.init.zeros_(self.bias)
            return
        bound = 1 / math.sqrt(self.weight.size(0))
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound, generator=generator)

    def forward(self, x: Tensor | CSR) -> Tensor:
        """Map `x`, one row a node."""
        out = multiply(x, self.weight)
        return out if self.bias is None else out + self.bias.unsqueeze(-2).to(out.dtype)

    def extra_repr(self) -> str:
        """Sizes, for `print(model)`."""
        return f"{self.weight.size(-2)}, {self.weight.size(-1)}, bias={self.bias is not None}"


def multiply(x: Tensor | CSR, weight: Tensor) -> Tensor:
    """The product x W for dense or sparse x, in the precision of dense x if that is lower."""
    if isinstance(x, CSR):
        return sparse_linear(x, weight)
    return x @ (weight.to(x.dtype) if x.dtype in (torch.bfloat16, torch.float16) else weight)
