"""Readouts: how the signals of all layers become the one that a classifier sees."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import mul

import torch
from torch import Tensor

from akgnn.errors import SettingsError, UnknownNameError
from akgnn.ops.adaptive_chain import ChainReadout, added_up


@dataclass(frozen=True, kw_only=True)
class Readout:
    """What READOUT of Eq. 9 is: signals H^(1) … H^(K) in, one signal out.

    Attributes:
        name: The name that it is registered under.
        reduce: Makes one signal of several, each of shape (nodes, channels), or (replicas, nodes,
            channels). It must not change them.
        width: How many channels it makes of so many signals of so many channels; those of one
            signal unless said otherwise.
        is_channelwise: Whether a channel of the result depends on that channel of the signals
            alone. Then some channels at a time can be computed, which is faster on a CPU.
        is_linear: Whether the result is a weighted sum of the signals. Then a linear transform of
            the readout is the readout of transformed signals, and the narrower order is computed.
        chain: What `adaptive_chain` calls this readout, if it can compute it; only with that can
            layers be recomputed, and run as one fused op on a GPU.
    """

    name: str = ""
    reduce: Callable[[Sequence[Tensor]], Tensor]
    width: Callable[[int, int], int] = lambda signals, channels: channels
    is_channelwise: bool = False
    is_linear: bool = False
    chain: ChainReadout | None = None


READOUTS: dict[str, Readout] = {}


def register_readout(name: str, readout: Readout) -> None:
    """Add a readout, under a name that is not taken, to those that `readout="…"` finds.

        register_readout("min", Readout(reduce=lambda signals: torch.stack(signals).amin(0)))

    Raises:
        SettingsError: The name is taken, or the second argument is no `Readout`.
    """
    if not isinstance(readout, Readout):
        raise SettingsError(f"A readout must be a Readout, got {type(readout).__name__}.")
    if name in READOUTS:
        raise SettingsError(f"There is a readout {name!r} already; choose another name.")
    READOUTS[name] = replace(readout, name=name)


def find_readout(name: str) -> Readout:
    """The readout of this name; an unknown one is answered with the names there are."""
    if name not in READOUTS:
        raise UnknownNameError("readout", name, READOUTS)
    return READOUTS[name]


def _mean(signals: Sequence[Tensor]) -> Tensor:
    return added_up(signals) / len(signals)


register_readout("sum", Readout(reduce=added_up, is_channelwise=True, is_linear=True, chain="sum"))
register_readout("mean", Readout(reduce=_mean, is_channelwise=True, is_linear=True, chain="mean"))
register_readout("max", Readout(reduce=lambda x: torch.stack(list(x)).amax(0), is_channelwise=True))
register_readout("concat", Readout(reduce=lambda x: torch.cat(list(x), dim=-1), width=mul))
register_readout(
    "last", Readout(reduce=lambda x: x[-1], is_channelwise=True, is_linear=True, chain="last")
)
