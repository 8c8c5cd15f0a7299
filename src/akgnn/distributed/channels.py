"""Slices of the channels: what one process has of a model, and how the model is put together.

Every process has all parameters, but of those that have numbers of each channel it learns its own
slice; the others go stale. So no gradients of them travel, and whoever keeps a state of the
training asks all slices for theirs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn

from akgnn.distributed.division import spans_of
from akgnn.distributed.group import Group
from akgnn.errors import DivergedError, SettingsError
from akgnn.models.adaptive_network import CHAIN
from akgnn.models.akgnn import AKGNN
from akgnn.training.callbacks import Callback, Epoch
from akgnn.training.optimizer import parameters_in_order
from akgnn.training.result import FitResult
from akgnn.training.settings import TrainSettings
from akgnn.training.state import Snapshot

Tensors = dict[str, Tensor]


class ChannelSlices:
    """Slices of the channels, one for each process of a group.

    Args:
        group: The processes that have the same nodes.
    """

    def __init__(self, group: Group) -> None:
        self._group = group

    @property
    def number(self) -> int:
        """The number of slices."""
        return self._group.size

    def own(self, channels: int, unit: int) -> slice:
        """The channels of this process, of so many, which are cut at multiples of the unit."""
        return self._all(channels, unit)[self._group.rank]

    def total(self, share: Tensor) -> Tensor:
        """The sum of what each slice has, added up in their order; the same for all of them."""
        if not share.numel():
            return share
        total, *others = self._group.gather(share)
        for other in others:
            total = total + other
        return total

    def whole(self, tensor: Tensor, dimension: int, unit: int) -> Tensor:
        """A tensor with the numbers of all channels, from one whose own ones count."""
        slices = self._all(tensor.size(dimension), unit)
        rows = tensor.movedim(dimension, 0)
        counts = [part.stop - part.start for part in slices]
        everyone = self._group.gather_rows(rows[slices[self._group.rank]], counts)
        return torch.cat(everyone).movedim(0, dimension).contiguous()

    def _all(self, channels: int, unit: int) -> list[slice]:
        spans = spans_of(_num_units(channels, unit), self._group.size)
        return [slice(first * unit, min(last * unit, channels)) for first, last in spans]


def check_slices(model: type[nn.Module] | None, settings: object, number: int) -> None:
    """Refuse a model whose channels cannot be cut into so many slices.

    Args:
        model: Its class.
        settings: Its settings.
        number: Of slices.

    Raises:
        SettingsError: Its layers mix channels, or there are too few of them.
    """
    if number == 1:
        return
    if not getattr(settings, "is_chain", False):
        name = "This model" if model is None else model.__name__
        raise SettingsError(
            f"{name} divides along the nodes alone with these settings; `mesh` with {number} "
            f"slices of the channels needs {CHAIN}."
        )
    channels, unit = (cast(int, getattr(settings, n)) for n in ("hidden_channels", "channel_unit"))
    most = _num_units(channels, unit)
    if number > most:
        raise SettingsError(
            f"hidden_channels={channels} cannot be cut into {number} slices, but into {most} at "
            f"most: {unit} channels stay together."
        )


def _num_units(channels: int, unit: int) -> int:
    return -(-channels // unit)


class WholeStates(Callback):
    """Shows other callbacks the states of whole models, which all processes ask for at once.

    Args:
        model: The model that is trained; it is whole when its training has ended.
        settings: Of its training.
        slices: Who has which channels.
        callbacks: Those that look on.
    """

    def __init__(
        self,
        model: AKGNN,
        settings: TrainSettings,
        slices: ChannelSlices,
        callbacks: Sequence[Callback],
    ) -> None:
        self._model, self._callbacks = model, callbacks
        self._slices, self._unit = slices, model.settings.channel_unit
        self._dimensions = model.channel_dimensions
        names = {id(parameter): name for name, parameter in model.named_parameters()}
        # Adam has two numbers for each number of a parameter.
        self._of_optimizer = {
            f"{index}.{kind}": self._dimensions[names[id(parameter)]]
            for index, parameter in enumerate(parameters_in_order(model, settings))
            for kind in ("exp_avg", "exp_avg_sq")
            if names[id(parameter)] in self._dimensions
        }

    def after_epoch(self, epochs: Sequence[Epoch]) -> None:
        """Called when an epoch has ended."""
        shown = self._shown(epochs)
        for callback in self._callbacks:
            callback.after_epoch(shown)

    def should_stop(self) -> bool:
        """Whether any of them wants to."""
        return any(callback.should_stop() for callback in self._callbacks)

    def before_stop(self, epochs: Sequence[Epoch]) -> None:
        """Called before training ends because some callback wanted it to."""
        shown = self._shown(epochs)
        for callback in self._callbacks:
            callback.before_stop(shown)

    def after_run(self, index: int, outcome: FitResult | DivergedError) -> None:
        """Put the model together, and show it."""
        if isinstance(outcome, FitResult):
            self._model.load_state_dict(self._whole(self._model.state_dict(), self._dimensions))
        for callback in self._callbacks:
            callback.after_run(index, outcome)

    def _shown(self, epochs: Sequence[Epoch]) -> list[Epoch]:
        return [replace(epoch, snapshot=partial(self._snapshot, epoch)) for epoch in epochs]

    def _snapshot(self, epoch: Epoch) -> Snapshot:
        own = epoch.snapshot()
        return replace(
            own,
            weights=self._whole(own.weights, self._dimensions),
            best_weights=self._whole(own.best_weights, self._dimensions),
            optimizer=self._whole(own.optimizer, self._of_optimizer),
        )

    def _whole(self, tensors: Mapping[str, Tensor], dimensions: Mapping[str, int]) -> Tensors:
        # In one order for all: a state that was read from a file has its tensors in another.
        whole = {
            name: self._slices.whole(tensors[name], dimension, self._unit)
            for name, dimension in dimensions.items()
        }
        return {**tensors, **whole}
