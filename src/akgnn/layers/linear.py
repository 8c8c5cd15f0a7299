"""A linear map whose input may be sparse."""

import math
from numbers import Integral
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.errors import DataError, SettingsError
from akgnn.ops.divided import affine, product, shift
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
        _check_width("in_channels", in_channels)
        _check_width("out_channels", out_channels)
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
        if isinstance(x, CSR) or self.bias is None:
            return self.shifted(multiply(x, self.weight))
        weight = _weight_for(x, self.weight)
        return affine(x, weight, self.bias.unsqueeze(-2).to(weight.dtype))

    def shifted(self, h: Tensor) -> Tensor:
        """`h` with the bias added, if there is one."""
        return h if self.bias is None else shift(h, self.bias.unsqueeze(-2).to(h.dtype))

    def extra_repr(self) -> str:
        """Sizes, for `print(model)`."""
        return f"{self.weight.size(-2)}, {self.weight.size(-1)}, bias={self.bias is not None}"


def _check_width(name: str, number: Any) -> None:
    if not isinstance(number, Integral) or int(number) < 1:
        raise SettingsError(f"{name} must be an integer from 1 on, got {number!r}.")


def multiply(x: Tensor | CSR, weight: Tensor) -> Tensor:
    """The product x W for dense or sparse x, in the precision of dense x if that is lower."""
    if isinstance(x, CSR):
        return sparse_linear(x, weight)
    return product(x, _weight_for(x, weight))


def _weight_for(x: Tensor, weight: Tensor) -> Tensor:
    """The weight in the precision of the product with `x`, which is checked."""
    check_input(x, weight)
    return weight.to(x.dtype) if x.dtype in (torch.bfloat16, torch.float16) else weight


def check_input(x: Tensor, weight: Tensor) -> None:
    """Refuse an input that the weight cannot multiply.

    Raises:
        DataError: It is no tensor, of another width, or of another type than the weight.
    """
    if not isinstance(x, Tensor):
        raise DataError(
            f"x must be a torch tensor or CSR, got {type(x).__name__}; torch.as_tensor converts "
            "arrays."
        )
    if x.dim() < 2 or x.size(-1) != weight.size(-2):
        width = weight.size(-2)
        raise DataError(
            f"x must have shape (nodes, {width}) for this layer, got {list(x.shape)}; a model is "
            "built with in_channels=data.num_features."
        )
    # Lower precisions are the signals' own, and inside of autocast torch converts by itself.
    is_low = x.dtype in (torch.bfloat16, torch.float16)
    if x.dtype != weight.dtype and not is_low and not torch.is_autocast_enabled(x.device.type):
        raise DataError(
            f"x is {x.dtype}, but the weights are {weight.dtype}; convert x with "
            f"x.to({weight.dtype}), or the model with model.to({x.dtype})."
            if x.is_floating_point()
            else f"x must hold floating-point numbers, got {x.dtype}; x.float() converts them."
        )
