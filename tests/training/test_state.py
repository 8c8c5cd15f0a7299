import math

import pytest
import torch

from akgnn.data.catalogue import load_dataset
from akgnn.layers.kernels import KERNELS, SAME_STARTS, InitialValue
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.training.fit import fit
from akgnn.training.state import RestartResult, TrainingState, begin_restart, initial_values

DATA = load_dataset("csbm:num_nodes=200,homophily=0.1")
SHORT = {"num_layers": 2, "hidden_channels": 8, "epochs": 30, "patience": 8, "input_dropout": 0.2}


def plan(**changes):
    return RunPlan.make(RunSettings(dataset="csbm"), {"kernel": "signed", **SHORT, **changes})


def fitted(**changes):
    made = plan(**changes)
    model = made.build(DATA)
    return fit(model, DATA, made.preset.training, seed=made.run.seed), model


@pytest.mark.parametrize("stop_on", ["loss", "accuracy"])
def test_the_best_start_gives_what_it_gives_alone(stop_on):
    starts = KERNELS["signed"].learning.restarts
    several, model = fitted(stop_on=stop_on)
    assert [each.initial_value for each in several.restarts] == [start.text for start in starts]
    alone = []
    for start in starts:
        scalar = DATA.graph.mean_degree if start.scalar == "gcn" else start.scalar
        alone.append(fitted(stop_on=stop_on, kernel_start=scalar, learn_lambda=start.learns))
    for tried, (result, _) in zip(several.restarts, alone, strict=True):
        assert (tried.epochs, tried.val_loss) == (result.epochs, result.val_loss)
    key = {
        "loss": lambda r: -r[0].val_loss,
        "accuracy": lambda r: (r[0].val_accuracy, -r[0].val_loss),
    }
    best, its_model = max(alone, key=key[stop_on])
    chosen = [each for each in several.restarts if each.is_chosen]
    assert [each.val_loss for each in chosen] == [best.val_loss]
    assert several.history == best.history
    assert several.test_accuracy == best.test_accuracy
    assert several.neighbour_share == best.neighbour_share
    assert several.best_epoch == best.best_epoch
    for one, other in zip(model.parameters(), its_model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_named_start_or_a_fixed_kernel_is_the_only_one():
    training = plan().preset.training
    assert initial_values(plan().build(DATA), training) == KERNELS["signed"].learning.restarts
    for changes in ({"kernel_start": 0.3}, {"learn_lambda": False}, {"kernel": "paper"}):
        assert initial_values(plan(**changes).build(DATA), training) == (None,)
    one = plan(several_starts=False)
    assert initial_values(one.build(DATA), one.preset.training) == (None,)


@pytest.mark.parametrize("kernel", ["paper", "signed"])
def test_kernels_can_be_trained_from_the_same_starts(kernel):
    same = plan(kernel=kernel, same_starts=True)
    model = same.build(DATA)
    assert initial_values(model, same.preset.training) == SAME_STARTS
    begin_restart(model, DATA.graph, SAME_STARTS[1], same.preset.training)
    assert model.neighbour_share(DATA.graph).flatten().tolist() == pytest.approx([0.5] * 2)


def test_a_start_that_does_not_learn_stays():
    result, _ = fitted(kernel_start=-0.5, phi_warm_up=30)
    assert result.neighbour_share == pytest.approx([-1 / 3] * 2)


def test_phi_rests_while_it_warms_up():
    shares = fitted(kernel_start=-0.5, phi_warm_up=5)[0].history.neighbour_share
    assert all(row == shares[0] for row in shares[:5])
    assert shares[5] != shares[4]


def test_the_start_of_gcn_is_that_of_the_graph():
    model = plan().build(DATA)
    begin_restart(model, DATA.graph, InitialValue("gcn"), plan().preset.training)
    expected = [DATA.graph.mean_degree] * 2
    assert [float(layer.scalar.detach()) for layer in model.layers] == pytest.approx(expected)


def test_validation_keeps_one_start():
    result, _ = fitted()
    assert [each.is_chosen for each in result.restarts].count(True) == 1
    assert not math.isnan(result.test_accuracy)


def test_every_initial_value_gets_its_epochs_and_then_it_is_over():
    made = plan(epochs=2)
    state = TrainingState(made.build(DATA), DATA.graph, made.preset.training, None)
    losses = iter([5.0, 4.0, 3.0, 2.0, 3.0, 1.0])
    is_best, epochs = [], []
    while state.next_epoch():
        loss = next(losses)
        epochs.append(state.epoch)
        others = {"train_loss": loss, "train_accuracy": 0.0, "val_accuracy": 0.0, "lambda_max": []}
        is_best.append(state.update(loss, {**others, "val_loss": loss}))
    assert epochs == [0, 1, 0, 1, 0, 1]
    assert is_best == [True, True, True, True, False, True]
    assert [each.val_loss for each in state.restart_results()] == [4.0, 2.0, 1.0]
    assert [each.is_chosen for each in state.restart_results()] == [False, False, True]


def test_records_call_the_initial_value_start():
    result = RestartResult("GCN, fixed", 3, 0.5, 70.0, is_chosen=True)
    assert result.to_dict()["start"] == "GCN, fixed"
    assert RestartResult.from_dict(result.to_dict()) == result
