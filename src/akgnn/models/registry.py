"""The list of models: every name that `--model` and `build_model` know."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from akgnn.errors import UnknownNameError
from akgnn.models.akgnn import AKGNN, AKGNNSettings
from akgnn.settings import Settings


@dataclass(frozen=True)
class ModelEntry:
    """What is known of a model before it is built.

    Attributes:
        build: Makes the model as `build(in_channels, hidden_channels, out_channels, …)`.
        settings: The class of its settings.
        family: Kind of model, for lists.
        paper: Where it was published.
    """

    build: Callable[..., nn.Module]
    settings: type[Settings]
    family: str
    paper: str


MODELS = {
    "akgnn": ModelEntry(
        AKGNN,
        AKGNNSettings,
        "adaptive kernel",
        "Ju et al., Adaptive Kernel Graph Neural Network, 2022",
    ),
}


def find_model(name: str) -> ModelEntry:
    """The entry of a model, or an error that lists the names."""
    if name not in MODELS:
        raise UnknownNameError("model", name, MODELS)
    return MODELS[name]


def build_model(
    name: str, settings: Settings, in_channels: int, out_channels: int, *, seed: int = 0
) -> nn.Module:
    """Build a model by name, its initial weights drawn from `seed`."""
    options = settings.to_dict()
    return find_model(name).build(
        in_channels,
        options.pop("hidden_channels"),
        out_channels,
        generator=torch.Generator().manual_seed(seed),
        **options,
    )
