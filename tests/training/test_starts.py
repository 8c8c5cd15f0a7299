import math

import pytest
import torch

from akgnn.data.catalogue import load_dataset
from akgnn.layers.kernels import KERNELS, Start
from akgnn.training.loop import fit
from akgnn.training.plan import RunPlan, RunSettings
from akgnn.training.starts import begin_trial, starts_of

DATA = load_dataset("csbm:num_nodes=200,homophily=0.1")
SHORT = {"num_layers": 2, "hidden_channels": 8, "epochs": 30, "patience": 8, "input_dropout": 0.2}


def plan(**changes):
    return RunPlan.make(RunSettings(dataset="csbm"), {"kernel": "signed", **SHORT, **changes})


def fitted(**changes):
    made = plan(**changes)
    model = made.build(DATA)
    return fit(model, DATA, made.preset.training, seed=made.which.seed), model


@pytest.mark.parametrize("stop_on", ["loss", "accuracy"])
def test_the_best_start_gives_what_it_gives_alone(stop_on):
    starts = KERNELS["signed"].learning.starts
    several, model = fitted(stop_on=stop_on)
    assert [each.start for each in several.starts] == [start.text for start in starts]
    alone = []
    for start in starts:
        scalar = DATA.graph.mean_degree if start.scalar == "gcn" else start.scalar
        alone.append(fitted(stop_on=stop_on, kernel_start=scalar, learn_lambda=start.learns))
    for tried, (result, _) in zip(several.starts, alone, strict=True):
        assert (tried.epochs, tried.val_loss) == (result.epochs, result.val_loss)
    key = {
        "loss": lambda r: -r[0].val_loss,
        "accuracy": lambda r: (r[0].val_accuracy, -r[0].val_loss),
    }
    best, its_model = max(alone, key=key[stop_on])
    chosen = [each for each in several.starts if each.is_chosen]
    assert [each.val_loss for each in chosen] == [best.val_loss]
    assert several.history == best.history
    assert several.test_accuracy == best.test_accuracy
    assert several.neighbour_share == best.neighbour_share
    assert several.best_epoch == best.best_epoch
    for one, other in zip(model.parameters(), its_model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_named_start_or_a_fixed_kernel_is_the_only_one():
    training = plan().preset.training
    assert starts_of(plan().build(DATA), training) == KERNELS["signed"].learning.starts
    for changes in ({"kernel_start": 0.3}, {"learn_lambda": False}, {"kernel": "paper"}):
        assert starts_of(plan(**changes).build(DATA), training) == (None,)
    one = plan(several_starts=False)
    assert starts_of(one.build(DATA), one.preset.training) == (None,)


def test_a_start_that_does_not_learn_stays():
    result, _ = fitted(kernel_start=-0.5, phi_warm_up=30)
    assert result.neighbour_share == pytest.approx([-1 / 3] * 2)


def test_phi_rests_while_it_warms_up():
    shares = fitted(kernel_start=-0.5, phi_warm_up=5)[0].history.neighbour_share
    assert all(row == shares[0] for row in shares[:5])
    assert shares[5] != shares[4]


def test_the_start_of_gcn_is_that_of_the_graph():
    model = plan().build(DATA)
    begin_trial(model, DATA.graph, Start("gcn"), plan().preset.training)
    expected = [DATA.graph.mean_degree] * 2
    assert [float(layer.scalar.detach()) for layer in model.layers] == pytest.approx(expected)


def test_validation_keeps_one_start():
    result, _ = fitted()
    assert [each.is_chosen for each in result.starts].count(True) == 1
    assert not math.isnan(result.test_accuracy)
