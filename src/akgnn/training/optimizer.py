"""The optimiser: Adam with its own rate and decay for each kind of parameter, and its state."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from akgnn.errors import SettingsError
from akgnn.layers.ak_conv import AKConv
from akgnn.layers.kernels import Learning
from akgnn.training.settings import TrainSettings


def make_optimizer(model: nn.Module, settings: TrainSettings) -> torch.optim.Adam:
    """Adam, with rate and decay of each kind of parameter.

    Where the settings leave rate and decay of φ open, its kernel may say them.

    The last part of a parameter's name says its kind: `bias`, the kernels' scalars `phi`, and
    `gamma`, weights that mix propagations, which are never penalised; all others are matrices.
    """
    rate, decay = settings.learning_rate, settings.weight_decay
    learning = _learning_of(model)
    phi_rate = _first(settings.phi_learning_rate, learning.rate, rate)
    phi_decay = _first(settings.phi_weight_decay, learning.decay, decay)
    penalty = phi_penalty(model, settings)
    groups: dict[str, dict[str, Any]] = {
        "weight": {"params": []},
        "bias": {"params": [], "weight_decay": decay if settings.decay_biases else 0.0},
        "phi": {
            "params": [],
            "lr": phi_rate,
            "phi_rate": phi_rate,
            "weight_decay": phi_decay if penalty is None else 0.0,
        },
        "gamma": {"params": [], "weight_decay": 0.0},
    }
    if settings.decay_first_layer_only:
        groups["later"] = {"params": [], "weight_decay": 0.0}
        first = {id(parameter) for parameter in _first_layer(model).parameters()}
    for name, parameter in model.named_parameters():
        kind = name.rpartition(".")[2]
        if settings.decay_first_layer_only and id(parameter) not in first:
            kind = "later"
        if parameter.requires_grad:
            groups[kind if kind in groups else "weight"]["params"].append(parameter)
    used = [group for group in groups.values() if group["params"]]
    optimizer = torch.optim.Adam(used, lr=rate, weight_decay=decay)
    if penalty is not None:
        optimizer.register_step_pre_hook(penalty)
    return optimizer


def parameters_in_order(model: nn.Module, settings: TrainSettings) -> list[nn.Parameter]:
    """The parameters that learn, as the optimiser numbers them."""
    groups = make_optimizer(model, settings).param_groups
    return [parameter for group in groups for parameter in group["params"]]


def let_phi_learn(optimizer: torch.optim.Optimizer, learns: bool) -> None:
    """Give φ its rate, or none, so that it rests."""
    for group in optimizer.param_groups:
        if "phi_rate" in group:
            group["lr"] = group["phi_rate"] if learns else 0.0


def _learning_of(model: nn.Module) -> Learning:
    """What the model's kernel says of its learning."""
    kernels = [module.kernel for module in model.modules() if isinstance(module, AKConv)]
    return kernels[0].learning if kernels else Learning()


def _first(*choices: float | None) -> float:
    return next(choice for choice in choices if choice is not None)


def phi_penalty(model: nn.Module, settings: TrainSettings) -> Callable[..., None] | None:
    """What adds decay · (φ - φ_start) to the gradient of each φ that learns, before every step.

    None where the optimiser's own decay, towards 0, is asked for.
    """
    if settings.phi_decays_to != "start":
        return None
    decay = _first(settings.phi_weight_decay, _learning_of(model).decay, settings.weight_decay)
    convs = [module for module in model.modules() if isinstance(module, AKConv)]
    known = {id(conv.phi) for conv in convs}
    for name, parameter in model.named_parameters():
        if name.rpartition(".")[2] == "phi" and id(parameter) not in known:
            kind = type(model).__name__
            raise SettingsError(f"phi_decays_to='start': {kind} does not say where its φ start.")

    def add_penalty(*_: object) -> None:
        for conv in convs:
            if conv.phi.grad is not None:
                conv.phi.grad.add_(conv.phi.detach() - conv.phi_initial, alpha=decay)

    return add_penalty


def _first_layer(model: nn.Module) -> nn.Module:
    layer = getattr(model, "first_layer", None)
    if not isinstance(layer, nn.Module):
        name = type(model).__name__
        raise SettingsError(
            f"decay_first_layer_only: {name} does not say which layer is its first."
        )
    return layer


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The state of the optimiser by `number.name`, such as `0.exp_avg`."""
    state = optimizer.state_dict()["state"]
    return {
        f"{number}.{name}": tensor.detach().clone()
        for number, entries in state.items()
        for name, tensor in entries.items()
    }


def load_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put back what `optimizer_tensors` gave."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = tensor.clone()
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
