"""What people hand to `fit` and `fit_many`, checked before anything is trained."""

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.errors import DataError, SettingsError
from akgnn.training.settings import TrainSettings
from akgnn.training.state import Snapshot


def check_arguments(
    models: Any,
    data: object,
    settings: object,
    *,
    seeds: Any,
    strategy: object,
    resume: Any,
    callbacks: Any,
) -> None:
    """Refuse what is not of its kind.

    Raises:
        SettingsError: It is not.
        DataError: The data are not.
    """
    many = {"models": models, "seeds": seeds, "resume": resume, "callbacks": callbacks}
    for name, values in many.items():
        if isinstance(values, str) or not hasattr(values, "__len__"):
            raise SettingsError(f"{name} must be a list, got {_kind(values)}.")
    for model in models:
        if not isinstance(model, nn.Module):
            raise SettingsError(
                f"A model must be a torch.nn.Module, such as AKGNN(…); got {_kind(model)}."
            )
    if not isinstance(data, NodeData):
        raise DataError(
            f"data must be NodeData, as load_dataset and load_tables give; got {_kind(data)}."
        )
    if not isinstance(settings, TrainSettings):
        raise SettingsError(
            f"settings must be TrainSettings, such as TrainSettings(epochs=50); "
            f"got {_kind(settings)}."
        )
    for seed in seeds:
        if not isinstance(seed, Integral):
            raise SettingsError(f"A seed must be an integer, got {seed!r}.")
    if not hasattr(strategy, "losses"):
        raise SettingsError(
            "strategy must be a Strategy, such as Supervised(), and not its name; "
            f"got {_kind(strategy)}."
        )
    for snapshot in resume:
        if not isinstance(snapshot, Snapshot | None):
            raise SettingsError(f"Training resumes from a Snapshot, got {_kind(snapshot)}.")
    for callback in callbacks:
        if not hasattr(callback, "after_epoch"):
            raise SettingsError(f"callbacks must be a list of Callback, got {_kind(callback)}.")


def _kind(value: object) -> str:
    return value.__name__ if isinstance(value, type) else type(value).__name__


@contextmanager
def outputs_checked(model: nn.Module, data: NodeData) -> Iterator[None]:
    """Inside, a model that gives fewer scores than there are classes is refused when it is called.

    Raises:
        DataError: There are fewer.
    """

    def look(module: nn.Module, inputs: object, output: object) -> None:
        if isinstance(output, Tensor) and output.shape[-1] < data.num_classes:
            raise DataError(
                f"The model gives {output.shape[-1]} scores a node, but {data.name} has "
                f"{data.num_classes} classes; build it with out_channels={data.num_classes}."
            )

    handle = model.register_forward_hook(look)
    try:
        yield
    finally:
        handle.remove()
