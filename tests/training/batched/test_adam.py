import pytest
import torch
from torch import nn

from akgnn.models.akgnn import AKGNN
from akgnn.models.replicas import select_replicas, stack
from akgnn.training.batched.adam import StackedAdam
from akgnn.training.optimizer import make_optimizer, optimizer_tensors
from akgnn.training.settings import TrainSettings

SETTINGS = TrainSettings(weight_decay=0.1, phi_learning_rate=0.03, decay_biases=True)


def models_of(number):
    return [
        AKGNN(5, 4, 3, num_layers=2, generator=torch.Generator().manual_seed(seed)).double()
        for seed in range(number)
    ]


def give_gradients(model: nn.Module, step: int, replica: int | None = None) -> None:
    """Gradients that follow from the step and the replica alone."""
    for place, parameter in enumerate(model.parameters()):
        replicas = range(3) if replica is None else [replica]
        drawn = []
        shape = parameter.shape if replica is not None else parameter.shape[1:]
        for number in replicas:
            generator = torch.Generator().manual_seed(1000 * step + 10 * place + number)
            drawn.append(torch.randn(shape, generator=generator, dtype=torch.float64))
        parameter.grad = drawn[0] if replica is not None else torch.stack(drawn)


def assert_alike(stacked, adam, models, optimizers, places):
    for place, number in enumerate(places):
        parameters = dict(models[number].named_parameters())
        for name, whole in stacked.named_parameters():
            torch.testing.assert_close(whole[place], parameters[name].data)
        wanted = optimizer_tensors(optimizers[number])
        found = adam.tensors(place)
        assert list(found) == list(wanted)
        for key, tensor in wanted.items():
            torch.testing.assert_close(found[key].to(tensor.dtype), tensor)


def test_replicas_take_the_steps_of_pytorchs_adam_at_their_own_count_and_rate():
    models = models_of(3)
    optimizers = [make_optimizer(model, SETTINGS) for model in models]
    # The second comes from a training that was two steps ahead.
    for step in (7, 8):
        give_gradients(models[1], step, 1)
        optimizers[1].step()
    # The kernels of the third rest.
    for group in optimizers[2].param_groups:
        if "phi_rate" in group:
            group["lr"] = 0.0
    stacked = stack(models)
    adam = StackedAdam(stacked, models[0], optimizers[0], 3)
    for place, optimizer in enumerate(optimizers):
        adam.put(place, optimizer)
    adam.set_rates(optimizers)
    for step in range(4):
        give_gradients(stacked, step)
        adam.step()
        for number, (model, optimizer) in enumerate(zip(models, optimizers, strict=True)):
            give_gradients(model, step, number)
            optimizer.step()
    assert_alike(stacked, adam, models, optimizers, [0, 1, 2])
    phi = stacked.layers[0].phi.tolist()
    assert phi[2] == 1.0 != phi[0]
    numbers = torch.tensor([2, 1])
    select_replicas(stacked, numbers)
    adam.select(numbers)
    assert_alike(stacked, adam, models, optimizers, [2, 1])


def test_a_place_can_be_given_to_a_fresh_run():
    models = models_of(3)
    optimizers = [make_optimizer(model, SETTINGS) for model in models]
    stacked = stack(models)
    adam = StackedAdam(stacked, models[0], optimizers[0], 3)
    adam.set_rates(optimizers)
    give_gradients(stacked, 0)
    adam.step()
    adam.put(1, optimizers[1])
    assert adam.steps.tolist() == [1, 0, 1]
    state = adam.tensors(1)
    assert all(float(tensor.abs().sum()) == 0 for tensor in state.values())
    assert float(adam.tensors(0)["0.exp_avg"].abs().sum()) > 0


def test_a_penalty_comes_before_the_step():
    models = models_of(3)
    stacked = stack(models)
    seen = []
    optimizer = make_optimizer(models[0], SETTINGS)
    adam = StackedAdam(
        stacked, models[0], optimizer, 3, lambda: seen.append(stacked.layers[0].phi.tolist())
    )
    adam.set_rates([optimizer] * 3)
    give_gradients(stacked, 0)
    adam.step()
    assert seen == [pytest.approx([1.0] * 3)]
    adam.zero_grad()
    assert all(parameter.grad is None for parameter in stacked.parameters())
