import pytest
import torch

from akgnn.errors import SettingsError
from akgnn.models.akgnn import AKGNN
from akgnn.models.gcn import GCN, PGSO
from akgnn.models.predict_first import GPRGNN
from akgnn.training.optimizer import (
    let_phi_learn,
    load_optimizer,
    make_optimizer,
    optimizer_tensors,
)
from akgnn.training.settings import TrainSettings


def build(**options):
    return AKGNN(6, 8, 3, generator=torch.Generator().manual_seed(0), **options)


def phi_group(model, **options):
    groups = make_optimizer(model, TrainSettings(**options)).param_groups
    return next(group for group in groups if "phi_rate" in group)


def test_each_kind_of_parameter_has_its_rate_and_decay():
    def groups(**options):
        optimizer = make_optimizer(build(), TrainSettings(**options))
        return [(len(g["params"]), g["lr"], g["weight_decay"]) for g in optimizer.param_groups]

    assert groups() == [(2, 0.01, 5e-4), (2, 0.01, 0.0), (5, 0.01, 5e-4)]
    assert groups(decay_biases=True, phi_learning_rate=0.1, phi_weight_decay=0.0) == [
        (2, 0.01, 5e-4),
        (2, 0.01, 5e-4),
        (5, 0.1, 0.0),
    ]


@pytest.mark.parametrize("first_only", [False, True])
def test_weights_that_mix_propagations_are_not_penalised(first_only):
    model = GPRGNN(6, 5, 3)
    settings = TrainSettings(decay_first_layer_only=first_only, decay_biases=True)
    kinds = {id(p): g for g in make_optimizer(model, settings).param_groups for p in g["params"]}
    assert kinds[id(model.gamma)]["weight_decay"] == 0
    assert kinds[id(model.gamma)]["lr"] == settings.learning_rate
    first, second = model.mlp.layers
    assert kinds[id(first.weight)]["weight_decay"] == 5e-4
    later = 0 if first_only else 5e-4
    assert (
        kinds[id(second.weight)]["weight_decay"] == kinds[id(second.bias)]["weight_decay"] == later
    )


def test_the_scalars_can_be_drawn_back_to_their_start():
    settings = TrainSettings(learning_rate=0.1, phi_weight_decay=0.5, phi_decays_to="start")
    model = build(num_layers=2, kernel="smooth")
    optimizer = make_optimizer(model, settings)
    assert optimizer.param_groups[-1]["weight_decay"] == 0
    with torch.no_grad():
        model.layers[0].phi.add_(0.2)
    for layer in model.layers:
        layer.phi.grad = torch.tensor(0.3)
    optimizer.step()
    assert model.layers[0].phi.grad.item() == pytest.approx(0.3 + 0.5 * 0.2)
    assert model.layers[1].phi.grad.item() == pytest.approx(0.3)


def test_a_start_that_is_not_known_is_refused():
    with pytest.raises(SettingsError, match="PGSO does not say where its φ start"):
        make_optimizer(PGSO(6, 5, 3), TrainSettings(phi_decays_to="start"))


def test_fixed_lambdas_are_not_handed_to_the_optimizer():
    optimizer = make_optimizer(build(learn_lambda=False), TrainSettings())
    assert sum(len(group["params"]) for group in optimizer.param_groups) == 4


def test_weight_decay_can_be_confined_to_the_first_layer():
    model = GCN(6, 5, 3)
    optimizer = make_optimizer(model, TrainSettings(decay_first_layer_only=True))
    decay = {id(p): g["weight_decay"] for g in optimizer.param_groups for p in g["params"]}
    assert decay[id(model.layers[0].linear.weight)] == 5e-4
    assert decay[id(model.layers[0].bias)] == 0
    assert decay[id(model.layers[1].linear.weight)] == decay[id(model.layers[1].bias)] == 0
    with pytest.raises(SettingsError, match="AKGNN does not say which layer is its first"):
        make_optimizer(build(), TrainSettings(decay_first_layer_only=True))


def test_the_kernel_says_the_rate_of_phi_where_the_settings_do_not():
    left_open = phi_group(build(kernel="signed"))
    assert (left_open["lr"], left_open["weight_decay"]) == (0.05, 0.0)
    said = phi_group(build(kernel="signed"), phi_learning_rate=0.2, phi_weight_decay=0.3)
    assert (said["lr"], said["weight_decay"]) == (0.2, 0.3)


def step(optimizer, model):
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()


def test_phi_rests_without_a_rate_and_wakes_with_its_own():
    model = build(num_layers=1)
    optimizer = make_optimizer(model, TrainSettings(phi_learning_rate=0.2))
    phi, weight = model.layers[0].phi, model.transforms[0].weight
    before, weight_before = phi.item(), weight.detach().clone()
    let_phi_learn(optimizer, False)
    step(optimizer, model)
    assert phi.item() == before
    assert not torch.equal(weight, weight_before)
    let_phi_learn(optimizer, True)
    step(optimizer, model)
    assert phi.item() == pytest.approx(before - 0.2, rel=1e-3)


def test_the_state_of_the_optimiser_goes_on_elsewhere():
    models = [build(), build()]
    optimizers = [make_optimizer(model, TrainSettings()) for model in models]
    step(optimizers[0], models[0])
    kept = optimizer_tensors(optimizers[0])
    assert set(kept) == {
        f"{k}.{name}" for k in range(9) for name in ("step", "exp_avg", "exp_avg_sq")
    }
    models[1].load_state_dict(models[0].state_dict())
    load_optimizer(optimizers[1], kept)
    # What is kept is a copy.
    step(optimizers[0], models[0])
    assert kept["0.step"].item() == 1
    step(optimizers[1], models[1])
    for one, other in zip(*(model.parameters() for model in models), strict=True):
        assert torch.equal(one, other)
