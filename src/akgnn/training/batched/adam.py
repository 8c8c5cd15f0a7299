"""Adam for a stacked model, in which every replica has steps and rates of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from akgnn.training.optimizer import optimizer_tensors


@dataclass(frozen=True)
class _Group:
    """Parameters, by name, with one rate for each replica."""

    names: tuple[str, ...]
    betas: tuple[float, float]
    eps: float
    weight_decay: float


class StackedAdam:
    """PyTorch's Adam, replica by replica: the formula is elementwise, so they do not mix.

    Runs that were resumed may be at other steps than their neighbours, and the kernels of one may
    rest while those of another learn. So steps and rates are tensors of one number a replica.

    Args:
        stacked: The stacked model; its parameters are looked up by name in every step.
        model: One model of those that were stacked.
        like: The optimiser of that model, whose groups this one takes over.
        number: Number of replicas.
        before_step: Called before every step.
    """

    def __init__(
        self,
        stacked: nn.Module,
        model: nn.Module,
        like: torch.optim.Adam,
        number: int,
        before_step: Callable[[], None] | None = None,
    ) -> None:
        self.stacked = stacked
        self.before_step = before_step
        names = {id(parameter): name for name, parameter in model.named_parameters()}
        self.groups = [
            _Group(
                tuple(names[id(parameter)] for parameter in group["params"]),
                group["betas"],
                group["eps"],
                group["weight_decay"],
            )
            for group in like.param_groups
        ]
        self.names = [name for group in self.groups for name in group.names]
        own = {name: p for name, p in stacked.named_parameters() if name in set(self.names)}
        self.mean = {name: torch.zeros_like(parameter) for name, parameter in own.items()}
        self.square = {name: torch.zeros_like(parameter) for name, parameter in own.items()}
        device = own[self.names[0]].device
        self.steps = torch.zeros(number, dtype=torch.float64, device=device)
        self.rates = torch.zeros(len(self.groups), number, dtype=torch.float64, device=device)
        self._set: list[tuple[float, ...]] = []

    def set_rates(self, optimizers: Sequence[torch.optim.Adam]) -> None:
        """Take the rate of every group from the optimisers of the single models."""
        rates = [tuple(group["lr"] for group in each.param_groups) for each in optimizers]
        if rates != self._set:
            self._set = rates
            self.rates.copy_(torch.tensor(rates, dtype=torch.float64).T)

    @property
    def state(self) -> list[Tensor]:
        """All that a step changes beside the parameters."""
        return [self.steps, *self.mean.values(), *self.square.values()]

    def zero_grad(self) -> None:
        """Forget the gradients."""
        self.stacked.zero_grad()

    @torch.no_grad()
    def step(self) -> None:
        """One step of every replica."""
        if self.before_step is not None:
            self.before_step()
        self.steps += 1
        parameters = dict(self.stacked.named_parameters())
        for group, rate in zip(self.groups, self.rates, strict=True):
            first, second = group.betas
            # The corrections of both means, brought out of the loop over all numbers.
            root = (1 - second**self.steps).sqrt()
            size, eps = rate * root / (1 - first**self.steps), group.eps * root
            for name in group.names:
                parameter = parameters[name]
                grad = parameter.grad
                if grad is None:
                    continue
                if group.weight_decay:
                    grad = grad.add(parameter, alpha=group.weight_decay)
                mean = self.mean[name].lerp_(grad, 1 - first)
                square = self.square[name].mul_(second).addcmul_(grad, grad, value=1 - second)
                change = square.sqrt().add_(_over(eps, square))
                torch.div(mean, change, out=change)
                parameter.addcmul_(change, _over(size, change), value=-1)

    def put(self, number: int, optimizer: torch.optim.Adam) -> None:
        """Give one replica the state of a single model's optimiser."""
        tensors = optimizer_tensors(optimizer)
        self.steps[number] = tensors["0.step"] if tensors else 0
        for place, name in enumerate(self.names):
            for kind, whole in (("exp_avg", self.mean), ("exp_avg_sq", self.square)):
                kept = tensors.get(f"{place}.{kind}")
                whole[name][number] = 0 if kept is None else kept

    def tensors(self, number: int) -> dict[str, Tensor]:
        """The state of one replica, as `optimizer_tensors` gives that of a single model."""
        state: dict[str, Tensor] = {}
        for place, name in enumerate(self.names):
            state[f"{place}.step"] = self.steps[number].to("cpu", torch.float32, copy=True)
            state[f"{place}.exp_avg"] = self.mean[name][number].clone()
            state[f"{place}.exp_avg_sq"] = self.square[name][number].clone()
        return state

    def select(self, numbers: Tensor) -> None:
        """Keep these replicas, in this order."""
        self.steps, self.rates, self._set = self.steps[numbers], self.rates[:, numbers], []
        for whole in (self.mean, self.square):
            whole.update({name: tensor[numbers] for name, tensor in whole.items()})


def _over(numbers: Tensor, like: Tensor) -> Tensor:
    """One number a replica, to be multiplied with all of that replica's."""
    return numbers.to(like.dtype).view(-1, *[1] * (like.dim() - 1))
