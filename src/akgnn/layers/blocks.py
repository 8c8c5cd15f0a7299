"""Blocks: a transform, a propagation and a residual, then a normalisation and a non-linearity."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import cast

from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.layers.dropout import Dropout
from akgnn.layers.linear import Linear, multiply
from akgnn.layers.norms import NORMS, Norm
from akgnn.ops.dropout import Noise

Propagate = Callable[[int, Tensor], Tensor]
"""What block k, counted from 0, makes of its transformed signal."""


class Blocks(nn.Module, ABC):
    """The blocks of a network, whatever propagates in them.

        H^(0) = X W_0, or X
        H^(k) = σ(norm(P_k(H^(k-1) W_k) + H^(k-1) U_k + b_k))

    with dropout on every H^(k). P_k is the propagation of block k; the bias is added after it, as
    neighbours would add it up by their number. A final class calls `_add_blocks` when it is built.
    """

    input_transform: Linear | None
    transforms: nn.ModuleList
    residuals: nn.ModuleList
    norms: nn.ModuleList

    @property
    @abstractmethod
    def has_relu(self) -> bool:
        """Whether σ is relu."""

    @abstractmethod
    def activate(self, h: Tensor) -> Tensor:
        """The non-linearity σ."""

    def _add_blocks(
        self,
        in_channels: int,
        hidden_channels: int,
        linear: Callable[..., Linear],
        *,
        num_layers: int,
        norm: Norm,
        residual: bool,
        input_transform: bool,
        input_bias: bool = True,
        residual_map: Callable[..., Linear] | None = None,
    ) -> None:
        """Add the maps, made by `linear`, or residuals by `residual_map`, and so many norms."""
        width = hidden_channels if input_transform else in_channels
        inputs = [width, *[hidden_channels] * (num_layers - 1)]
        self.input_transform = (
            linear(in_channels, width, bias=input_bias) if input_transform else None
        )
        # One bias a block is enough.
        self.transforms = nn.ModuleList(
            linear(each, hidden_channels, bias=not residual) for each in inputs
        )
        residual_map = residual_map or linear
        self.residuals = nn.ModuleList(
            residual_map(each, hidden_channels) for each in inputs if residual
        )
        self.norms = nn.ModuleList(NORMS[norm](hidden_channels) for _ in inputs)

    def _first(self, x: Tensor | CSR) -> Tensor | CSR:
        """H^(0), which without the first map is the features themselves."""
        return x if self.input_transform is None else cast(Tensor, self.input_transform(x))

    def _blocks(
        self,
        h: Tensor | CSR,
        propagate: Propagate,
        drops: Iterable[nn.Module],
        noise: Noise | None,
    ) -> list[Tensor]:
        """H^(1) … H^(K) of H^(0)."""
        outputs: list[Tensor] = []
        for k, drop in enumerate(drops):
            before = outputs[-1] if outputs else h
            transform = cast(Linear, self.transforms[k])
            mixed = transform.shifted(propagate(k, multiply(before, transform.weight)))
            if len(self.residuals):
                mapped = self.residuals[k](before)
                # In place where that loses no digits: the map is needed by nothing else.
                same = mapped.dtype == mixed.dtype
                mixed = mapped.add_(mixed) if same else mapped + mixed
            normalised = self.norms[k](mixed)
            if self.has_relu:
                outputs.append(cast(Dropout, drop).of_relu(normalised, noise))
            else:
                outputs.append(drop(self.activate(normalised), noise))
        return outputs
