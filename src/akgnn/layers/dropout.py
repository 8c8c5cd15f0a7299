"""Dropout as a layer: one place in a model where values are dropped by a counter."""

from collections.abc import Sequence
from typing import TypeVar

from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.errors import SettingsError
from akgnn.hashing import Key
from akgnn.ops.dropout import Noise, check_rate, dropout, dropout_entries

Features = TypeVar("Features", Tensor, CSR)


class Dropout(nn.Module):
    """Drops values of a dense or sparse matrix whose rows are nodes.

    Args:
        rate: Probability of dropping a value.
        place: A number that no other dropout of the model has; it sets the masks apart.
    """

    def __init__(self, rate: float, place: int) -> None:
        super().__init__()
        check_rate("rate", rate)
        self.rate = rate
        self.place = place

    def forward(self, x: Features, noise: Noise | None) -> Features:
        """Drop values of `x` as the seed and step of `noise` say; keep all without `noise`."""
        key = self.key(noise)
        if key is None:
            return x
        if isinstance(x, CSR):
            return CSR(x.pattern, dropout_entries(x, self.rate, key))
        if isinstance(key, Tensor) and x.dim() == 2:
            # Features that all replicas share: each drops its own.
            x = x.expand(len(key), -1, -1)
        return dropout(x, self.rate, key)

    def key(self, noise: Noise | None) -> Key | None:
        """The key of the mask; None where nothing is dropped."""
        if self.rate == 0:
            return None
        if noise is None:
            check_evaluating(self)
            return None
        return noise.key(self.place)

    def extra_repr(self) -> str:
        """The rate, for `print(model)`."""
        return f"{self.rate}"


def keys_of(drops: Sequence[Dropout], noise: Noise | None) -> list[Key] | None:
    """The keys of several dropouts of one rate; None where nothing is dropped."""
    if drops[0].key(noise) is None or noise is None:
        return None
    return noise.keys([drop.place for drop in drops])


def check_evaluating(module: nn.Module) -> None:
    """Refuse training mode, where what is dropped has to be said."""
    if module.training:
        raise SettingsError(
            "In training mode values are dropped by a counter: pass "
            "noise=Noise(seed, step) to the model, or call model.eval() first."
        )
