from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from akgnn.data.catalogue import load_dataset
from akgnn.errors import SettingsError
from akgnn.layers.dropout import DropoutKey
from akgnn.models.gcn import GCN
from akgnn.ops.dropout import Noise
from akgnn.training.strategies.supervised import training_loss
from akgnn.training.strategies.virtual_adversarial import (
    VirtualAdversarial,
    VirtualAdversarialSettings,
    random_directions,
    spread_nodes,
    unit_fields,
)
from oracles import dense, graphs, renormalised

DATA = load_dataset("csbm:num_nodes=60,degree=2,num_features=5")
DATA = replace(DATA, x=DATA.x.double())
NOISE = Noise(0)


def model_of(dropout=0.0):
    generator = torch.Generator().manual_seed(0)
    return GCN(5, 4, 4, dropout=dropout, generator=generator).double()


def directions(noise, rows=None):
    """A direction for every node."""
    rows = torch.arange(60) if rows is None else rows
    key = noise.key(DropoutKey.DIRECTIONS)
    return random_directions(rows, 60, torch.empty(5, 4, dtype=torch.float64), key)


def loss_of(model, **settings):
    (loss,) = VirtualAdversarial(VirtualAdversarialSettings(**settings)).losses(model, DATA, NOISE)
    return loss


@given(graphs(), st.integers(1, 5), st.integers(1, 2), st.integers(0, 99))
def test_receptive_fields_are_whole_and_do_not_overlap(graph, number, hops, seed):
    nodes, field = spread_nodes(graph, number, hops, Noise(seed).key(0))
    reach = torch.linalg.matrix_power(torch.eye(graph.num_nodes) + (dense(graph) > 0).float(), hops)
    assert 1 <= len(nodes) <= number
    for place, node in enumerate(nodes.tolist()):
        assert torch.equal(field == place, reach[node] > 0)


def test_without_the_adversarial_part_it_is_cross_entropy_and_entropy():
    model = model_of(dropout=0.5)
    logits = model(DATA.x, DATA.graph, NOISE)
    p = logits.softmax(1)
    expected = training_loss(logits, DATA) - 0.7 * (p * p.log()).sum(1).mean()
    torch.testing.assert_close(loss_of(model, alpha=0.0, beta=0.7), expected)


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


@pytest.mark.parametrize("step", [0, 1])
def test_a_step_repeats(step):
    strategy, noise = VirtualAdversarial(), Noise(3, step)
    (one,), (other,) = (list(strategy.losses(model_of(0.5), DATA, noise)) for _ in range(2))
    assert torch.equal(one, other)


def test_directions_have_length_one_and_are_a_nodes_own():
    every, some = directions(NOISE), torch.tensor([3, 17, 59])
    torch.testing.assert_close(every.norm(dim=1), torch.ones(60, dtype=torch.float64))
    assert torch.equal(directions(NOISE, some), every[some])
    assert abs(float(every.mean())) < 0.1
    assert len(every.unique()) == every.numel()


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
