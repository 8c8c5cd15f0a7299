from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from akgnn.data.catalogue import load_dataset
from akgnn.errors import SettingsError
from akgnn.layers.dropout import DropoutKey
from akgnn.models.gcn import GCN
from akgnn.ops.dropout import Noise
from akgnn.training.strategies.perturbations import (
    random_directions,
    small_numbers,
    spread_nodes,
    unit_fields,
)
from akgnn.training.strategies.supervised import training_loss
from akgnn.training.strategies.virtual_adversarial import (
    VirtualAdversarial,
    VirtualAdversarialSettings,
)
from oracles import renormalised, sparse

DATA = load_dataset("csbm:num_nodes=60,degree=2,num_features=5")
DATA = replace(DATA, x=DATA.x.double())
NOISE = Noise(0)
TRAIN = DATA.split.train
# Optimised: large enough for the KL to outweigh the penalty on some features and not on others.
LARGE = {"deviation": 0.5, "step_size": 0.3, "penalty": 5e-4}


def model_of(dropout=0.0):
    generator = torch.Generator().manual_seed(0)
    return GCN(5, 4, 4, dropout=dropout, generator=generator).double()


def directions(noise):
    """A direction for every node."""
    key = noise.key(DropoutKey.DIRECTIONS)
    return random_directions(torch.arange(60), 60, torch.empty(5, 4, dtype=torch.float64), key)


def loss_of(model, **settings):
    (loss,) = VirtualAdversarial(VirtualAdversarialSettings(**settings)).losses(model, DATA, NOISE)
    return loss


@pytest.mark.parametrize("adversary", ["sampled", "optimised"])
def test_without_the_adversarial_part_it_is_cross_entropy_and_entropy(adversary):
    model = model_of(dropout=0.5)
    logits = model(DATA.x, DATA.graph, NOISE)
    p = logits.softmax(1)
    expected = training_loss(logits, DATA) - 0.7 * (p * p.log()).sum(1).mean()
    torch.testing.assert_close(loss_of(model, adversary=adversary, alpha=0.0, beta=0.7), expected)


def test_the_direction_is_one_power_iteration_of_the_hessian():
    """Near zero the divergence is r H r / 2, so its gradient at a small d is H d."""
    model = model_of()
    nodes, field = spread_nodes(DATA.graph, 3, 2, NOISE.key(DropoutKey.NODE_ORDER))
    target = model(DATA.x, DATA.graph).detach()[nodes].softmax(1)

    kernel, (first, second) = renormalised(DATA.graph), model.layers

    def divergence(r):
        # Written densely, as our ops have no second derivatives.
        x = DATA.x + r.view_as(DATA.x)
        h = torch.relu(kernel @ x @ first.linear.weight + first.bias)
        moved = (kernel @ h @ second.linear.weight + second.bias)[nodes].log_softmax(1)
        return F.kl_div(moved, target, reduction="batchmean")

    hessian = torch.autograd.functional.hessian(divergence, torch.zeros_like(DATA.x).view(-1))
    start = directions(NOISE)
    step = (hessian @ start.view(-1)).view_as(DATA.x)
    expected = torch.zeros_like(step)
    for place in range(len(nodes)):
        inside = field == place
        expected[inside] = step[inside] / step[inside].norm()

    plain = loss_of(model, alpha=0.0, beta=0.0, num_nodes=3)
    found = loss_of(model, alpha=1.0, beta=0.0, num_nodes=3, radius=0.5) - plain
    torch.testing.assert_close(found, divergence(0.5 * expected), rtol=1e-3, atol=1e-9)


def test_the_adversary_finds_more_than_a_random_direction():
    model = model_of()
    plain = loss_of(model, alpha=0.0, beta=0.0)
    adversarial = loss_of(model, alpha=1.0, beta=0.0, radius=0.5) - plain
    nodes, field = spread_nodes(DATA.graph, 100, 2, NOISE.key(DropoutKey.NODE_ORDER))
    target = model(DATA.x, DATA.graph).detach()[nodes].softmax(1)
    for _ in range(20):
        unit = torch.zeros_like(DATA.x)
        inside = field >= 0
        unit[inside] = unit_fields(torch.randn_like(DATA.x)[inside], field[inside], len(nodes))
        moved = model(DATA.x + 0.5 * unit, DATA.graph)[nodes].log_softmax(1)
        assert float(F.kl_div(moved, target, reduction="batchmean").detach()) < float(
            adversarial.detach()
        )


@pytest.mark.parametrize("adversary", ["sampled", "optimised"])
@pytest.mark.parametrize("step", [0, 1])
def test_a_step_repeats_whatever_came_before(step, adversary):
    strategy = VirtualAdversarial(VirtualAdversarialSettings(adversary=adversary))
    one, between, other = (
        next(strategy.losses(model_of(0.5), DATA, Noise(3, number)))
        for number in (step, step + 1, step)
    )
    assert torch.equal(one, other)
    assert not torch.equal(one, between)


def test_perturbed_rows_are_dropped_as_the_features_are():
    """The loss equals that of whole matrices X and X + R through the model, masks and all."""
    model = model_of(dropout=0.5)
    nodes, field = spread_nodes(DATA.graph, 100, 2, NOISE.key(DropoutKey.NODE_ORDER))
    logits = model(DATA.x, DATA.graph, NOISE)
    target = logits.detach()[nodes].softmax(1)

    def divergence(r):
        moved = model(DATA.x + r, DATA.graph, NOISE)[nodes].log_softmax(1)
        return F.kl_div(moved, target, reduction="batchmean")

    start = (1e-6 * directions(NOISE)).requires_grad_()
    (gradient,) = torch.autograd.grad(divergence(start), start)
    r, inside = torch.zeros_like(DATA.x), field >= 0
    r[inside] = unit_fields(gradient[inside], field[inside], len(nodes))
    assert float(gradient[~inside].abs().max() if (~inside).any() else 0) == 0
    expected = training_loss(logits, DATA) + 0.9 * divergence(0.03 * r)
    torch.testing.assert_close(loss_of(model, alpha=0.9, beta=0.0), expected)


def test_only_a_gcn_is_trained_so():
    with pytest.raises(SettingsError, match="written for a GCN"):
        list(VirtualAdversarial().losses(torch.nn.Linear(5, 4), DATA, NOISE))


@pytest.mark.parametrize(
    ("adversary", "name", "value"),
    [
        ("optimised", "num_nodes", 10),
        ("optimised", "hops", 1),
        ("optimised", "radius", 0.1),
        ("optimised", "probe", 1e-3),
        ("sampled", "steps", 3),
        ("sampled", "step_size", 0.1),
        ("sampled", "penalty", 0.0),
        ("sampled", "deviation", 1.0),
    ],
)
def test_settings_of_the_other_adversary_are_refused(adversary, name, value):
    other = {"sampled": "optimised", "optimised": "sampled"}[adversary]
    with pytest.raises(SettingsError, match=f"^{name}={value} needs adversary='{other}', and"):
        VirtualAdversarialSettings(adversary=adversary, **{name: value})
    assert getattr(VirtualAdversarialSettings(adversary=other, **{name: value}), name) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [("steps", 0), ("steps", 1001), ("step_size", 0.0), ("penalty", -1.0), ("deviation", 0.0)],
)
def test_numbers_outside_their_range_are_refused(name, value):
    with pytest.raises(SettingsError, match=f"^{name} must be"):
        VirtualAdversarialSettings(adversary="optimised", **{name: value})


def test_an_unknown_adversary_is_refused():
    with pytest.raises(SettingsError, match=r"must be one of sampled, optimised.*Did you mean"):
        VirtualAdversarialSettings(adversary="optimized")


def optimised_loss(model, data=DATA, noise=NOISE, **settings):
    settings = VirtualAdversarialSettings(adversary="optimised", **settings)
    (loss,) = VirtualAdversarial(settings).losses(model, data, noise)
    return loss


def start_of(deviation):
    key = NOISE.key(DropoutKey.DIRECTIONS)
    return small_numbers(60, torch.empty(5, 4, dtype=torch.float64), deviation, key)


def weights_of(model):
    return [t for layer in model.layers for t in (layer.linear.weight, layer.bias)]


def predictions(x, weights):
    """A two-layer GCN, densely."""
    kernel, (w1, b1, w2, b2) = renormalised(DATA.graph), weights
    return torch.softmax(kernel @ torch.relu(kernel @ x @ w1 + b1) @ w2 + b2, 1)


def mean_kl(p, q):
    return (p * (p / q).log()).sum(1).mean()


def found_by_adam(objective, r, steps, rate, *, is_held=True):
    """Adam by its formula, with betas 0.9 and 0.999, down `objective` from `r`."""
    m = v = torch.zeros_like(r)
    for step in range(1, steps + 1):
        r = r.detach().requires_grad_() if is_held else r.requires_grad_()
        (g,) = torch.autograd.grad(objective(r), r, create_graph=not is_held)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        r = r - rate * (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-8)
    return r.detach() if is_held else r


def oracle(model, steps, *, deviation, step_size, penalty, is_held=True, alpha=1.4, beta=0.7):
    """The loss; `is_held` leaves R and p(X) without gradients, as they should be."""
    weights = weights_of(model)
    p = predictions(DATA.x, weights)
    target = p.detach() if is_held else p

    def objective(r):
        moved = predictions(DATA.x + r, weights)
        return penalty * r.square().sum() / 2 - mean_kl(target, moved)

    start = start_of(deviation)
    r = found_by_adam(objective, start, steps, step_size, is_held=is_held)
    supervised = -p[TRAIN, DATA.y[TRAIN]].log().mean()
    adversarial = mean_kl(target, predictions(DATA.x + r, weights))
    return supervised + alpha * adversarial - beta * (p * p.log()).sum(1).mean()


def gradients(loss, model):
    return torch.cat([g.view(-1) for g in torch.autograd.grad(loss, list(model.parameters()))])


@pytest.mark.parametrize("penalty", [0.0, 5e-4, 1.0])
@pytest.mark.parametrize("steps", [1, 2, 10])
def test_the_loss_is_that_of_the_formula(steps, penalty):
    model, settings = model_of(), LARGE | {"penalty": penalty}
    expected = oracle(model, steps, **settings)
    found = optimised_loss(model, steps=steps, alpha=1.4, beta=0.7, **settings)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


def test_one_step_goes_up_the_divergence_and_down_the_penalty():
    """Adam's first step has the length of its rate, and the sign of the gradient."""
    model, r = model_of(), start_of(LARGE["deviation"]).requires_grad_()
    weights = weights_of(model)
    p = predictions(DATA.x, weights).detach()
    (up,) = torch.autograd.grad(mean_kl(p, predictions(DATA.x + r, weights)), r)
    step = 0.3 * (up - 5e-4 * r).sign()
    # Neither of the two decides everywhere.
    assert 0.1 < float((step.sign() == -r.sign()).double().mean()) < 0.9
    assert 0.1 < float((step.sign() == up.sign()).double().mean()) < 0.9
    expected = mean_kl(p, predictions(DATA.x + r + step, weights))
    found = optimised_loss(model, steps=1, alpha=1.0, beta=0.0, **LARGE) - optimised_loss(
        model, steps=1, alpha=0.0, beta=0.0, **LARGE
    )
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=0)


def test_the_authors_numbers_are_the_defaults():
    model = model_of()
    expected = oracle(model, 10, deviation=0.01, step_size=0.001, penalty=1.0)
    torch.testing.assert_close(
        optimised_loss(model, alpha=1.4, beta=0.7), expected, rtol=1e-9, atol=1e-12
    )


def test_weights_learn_from_the_loss_but_not_through_the_perturbation():
    model = model_of()
    found = gradients(optimised_loss(model, steps=3, alpha=1.4, beta=0.7, **LARGE), model)
    held = oracle(model, 3, **LARGE)
    through = oracle(model, 3, **LARGE, is_held=False)
    torch.testing.assert_close(found, gradients(held, model), rtol=1e-7, atol=1e-10)
    assert not torch.allclose(found, gradients(through, model), rtol=1e-2)
    plain = gradients(optimised_loss(model, steps=3, alpha=0.0, beta=0.7, **LARGE), model)
    assert not torch.allclose(found, plain, rtol=1e-2)


def test_the_steps_leave_no_gradient_in_the_weights():
    model = model_of()
    optimised_loss(model)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_the_steps_find_a_larger_divergence_than_they_start_at():
    model, settings = model_of(), {"alpha": 1.0, "beta": 0.0, "penalty": 0.0, "deviation": 0.1}
    few, many = (
        optimised_loss(model, steps=n, step_size=0.01, **settings).detach() for n in (1, 20)
    )
    start = optimised_loss(model, steps=1, step_size=1e-12, **settings).detach()
    assert start < few < many


def test_every_pass_has_masks_of_its_own_which_features_and_perturbation_share():
    model, rate, steps = model_of(dropout=0.5), 0.3, 2

    def pass_of(x, number):
        return model(x, DATA.graph, Noise(NOISE.key(15_000_000 + number), 0)).softmax(1)

    numbers = iter(range(2 * steps))

    def objective(r):
        target = pass_of(DATA.x, next(numbers)).detach()
        return 5e-4 * r.square().sum() / 2 - mean_kl(target, pass_of(DATA.x + r, next(numbers)))

    r = found_by_adam(objective, start_of(0.5), steps, rate)
    p = model(DATA.x, DATA.graph, NOISE).softmax(1)
    expected = -p[TRAIN, DATA.y[TRAIN]].log().mean() + mean_kl(
        p.detach(), pass_of(DATA.x + r, 2 * steps)
    )
    found = optimised_loss(model, steps=steps, alpha=1.0, beta=0.0, **LARGE)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


def test_sparse_features_give_the_loss_of_dense_ones():
    model = model_of(dropout=0.5)
    x = DATA.x * (DATA.x > 0)
    one, other = (optimised_loss(model, replace(DATA, x=form), **LARGE) for form in (x, sparse(x)))
    torch.testing.assert_close(one, other)
