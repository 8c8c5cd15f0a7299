"""Replicas: several models of one kind as one, whose parameters have an axis more in front.

A stacked model maps features that all share to signals of the shape (replicas, nodes, channels), in
which replica i is what model i alone would give. Rows of one replica lie together, so that masks
and products work on one at a time, which stays in a CPU's cache.
"""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import TypeVar

import torch
from torch import Tensor, nn

from akgnn.errors import SettingsError

Model = TypeVar("Model", bound=nn.Module)


def can_stack(model: type[nn.Module]) -> bool:
    """Whether several models of this class can be one.

    A class says so by `is_stackable = True`: all its layers and operations take an axis of replicas
    in front, as those of `akgnn.layers` and `akgnn.ops` do and PyG's do not.
    """
    return getattr(model, "is_stackable", False)


def stack(models: Sequence[Model]) -> Model:
    """One model of several, which differ in their parameters and buffers alone.

    Raises:
        SettingsError: The models cannot be stacked, or differ in more.
    """
    first = models[0]
    if not can_stack(type(first)):
        raise SettingsError(f"{type(first).__name__} cannot be stacked; train one at a time.")
    shapes = [_shapes(model) for model in models]
    if any(shape != shapes[0] for shape in shapes):
        raise SettingsError("Only models of one kind, with the same settings, can be stacked.")
    stacked = deepcopy(first)
    others = zip(*(_tensors(model) for model in models), strict=True)
    for (module, name, _), replicas in zip(list(_tensors(stacked)), others, strict=True):
        _replace(module, name, torch.stack([tensor.detach() for _, _, tensor in replicas]))
    return stacked


def unstack(stacked: nn.Module, slot: int) -> dict[str, Tensor]:
    """A copy of the state of one replica, as `state_dict` of its own model would give it."""
    return {name: tensor[slot].clone() for name, tensor in stacked.state_dict().items()}


@torch.no_grad()
def put_replica(stacked: nn.Module, slot: int, model: nn.Module) -> None:
    """Let a model take the slot of one replica."""
    for (_, _, all_slots), (_, _, own) in zip(_tensors(stacked), _tensors(model), strict=True):
        all_slots[slot].copy_(own)


def select_replicas(stacked: nn.Module, slots: Tensor) -> None:
    """Keep the replicas in these slots, in this order, and let go of the others."""
    for module, name, tensor in list(_tensors(stacked)):
        _replace(module, name, tensor.detach()[slots])


def _tensors(model: nn.Module) -> Iterator[tuple[nn.Module, str, Tensor]]:
    """Every parameter and buffer, with the module that holds it and its name there."""
    for module in model.modules():
        yield from ((module, name, tensor) for name, tensor in module.named_parameters("", False))
        yield from ((module, name, tensor) for name, tensor in module.named_buffers("", False))


def _replace(module: nn.Module, name: str, tensor: Tensor) -> None:
    old = getattr(module, name)
    is_parameter = isinstance(old, nn.Parameter)
    setattr(module, name, nn.Parameter(tensor, old.requires_grad) if is_parameter else tensor)


def _shapes(model: nn.Module) -> list[tuple[str, str, torch.Size]]:
    return [(type(module).__name__, name, t.shape) for module, name, t in _tensors(model)]
