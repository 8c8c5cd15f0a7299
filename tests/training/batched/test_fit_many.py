import copy
import math
from dataclasses import replace

import pytest
import torch

from akgnn.data.catalogue import load_dataset
from akgnn.data.node_data import NodeData
from akgnn.errors import DivergedError, InterruptedRunError, SettingsError
from akgnn.models.registry import MODELS
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.training.batched import fit_many as many
from akgnn.training.batched.fit_many import can_batch, fit_many, runs_at_once
from akgnn.training.callbacks import Callback
from akgnn.training.fit import fit
from oracles import sparse
from run_files import stop_after

SMALL = load_dataset("csbm:num_nodes=120,homophily=0.7,signal=2")
TWO_CLASSES = load_dataset("csbm:num_nodes=150,num_classes=2,homophily=0.5,signal=1")
SEEDS = [0, 3, 4, 9]
WIDTH = {"hidden_channels": 8}
CONSISTENT = {
    "order": "propagate-first",
    "layer_dropout": 0.0,
    "strategy": "consistency",
    "passes": 2,
}
RISING = {**CONSISTENT, "warm_up": 7, "confidence": 1.2, "distance": "cross-entropy"}
OWN_PASS = {**CONSISTENT, "node_dropout": 0.5, "batch_norm": True}
SHORT = {"epochs": 12, "patience": 3}


def double(data: NodeData, *, as_sparse: bool = False) -> NodeData:
    x = data.x.double()
    return replace(data, x=sparse(x * (x.abs() > 0.5)) if as_sparse else x)


def plan_of(model="akgnn", **changes):
    changes = {**SHORT, **changes}
    if model not in ("sgc", "ssgc"):
        changes = {**WIDTH, **changes}
    return RunPlan.make(RunSettings(dataset="csbm", model=model), changes)


def models_of(plan, data, seeds=SEEDS):
    return [plan.with_seed(seed).build(data).double() for seed in seeds]


class Notes(Callback):
    """Remembers the epochs of all runs, and how they ended."""

    def __init__(self):
        self.epochs, self.ended = [], []

    def after_epoch(self, epochs):
        self.epochs.append([(epoch.index, len(epoch.history)) for epoch in epochs])

    def after_run(self, index, outcome):
        self.ended.append((index, outcome))


def both_ways(plan, data, seeds=SEEDS, **options):
    """Models and results one by one, and side by side."""
    training, strategy = plan.preset.training, plan.strategy()
    ones = models_of(plan, data, seeds)
    alone = [
        fit(model, data, training, seed=seed, strategy=strategy)
        for model, seed in zip(ones, seeds, strict=True)
    ]
    others = models_of(plan, data, seeds)
    beside = fit_many(
        others, data, training, seeds=seeds, strategy=strategy, **{"at_once": 10, **options}
    )
    return ones, alone, others, beside


def assert_alike(alone, beside):
    """The same up to rounding in float64."""
    assert (beside.epochs, beside.best_epoch) == (alone.epochs, alone.best_epoch)
    assert beside.history.to_dict().keys() == alone.history.to_dict().keys()
    for name, column in alone.history.to_dict().items():
        found = torch.tensor(beside.history.column(name), dtype=torch.float64)
        wanted = torch.tensor(column, dtype=torch.float64)
        torch.testing.assert_close(found, wanted, rtol=1e-7, atol=1e-9)
    assert beside.scores == pytest.approx(alone.scores, rel=1e-5, nan_ok=True)
    assert beside.neighbour_share == pytest.approx(alone.neighbour_share, abs=1e-9)
    assert [(r.initial_value, r.epochs, r.is_chosen) for r in beside.restarts] == [
        (r.initial_value, r.epochs, r.is_chosen) for r in alone.restarts
    ]


def assert_same_runs(ones, alone, others, beside):
    for one, result, other, found in zip(ones, alone, others, beside, strict=True):
        assert_alike(result, found)
        for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-8)


STACKABLE = sorted(set(MODELS) - {"gat", "gaugo", "graphsage", "dropedge", "fastgcn", "vbat"})


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("model", STACKABLE)
def test_every_model_ends_as_its_seed_alone(model, as_sparse):
    plan, data = plan_of(model), double(SMALL, as_sparse=as_sparse)
    assert can_batch(type(plan.build(data)), plan.strategy())
    assert_same_runs(*both_ways(plan, data))


@pytest.mark.parametrize(
    "changes",
    [
        {"readout": "concat", "classifier_layers": 2},
        {"share_weights": False, "num_layers": 2},
        {"groups": 2, "normalisation": "directed", "kernel": "smooth"},
        {"phi_decays_to": "start", "phi_weight_decay": 0.5},
        {"phi_warm_up": 5, "phi_learning_rate": 0.1},
        {"stop_on": "accuracy"},
        {"stop_on": "either"},
        {"stop_on": "both"},
        {"decay_biases": True},
        {"order": "propagate-first", "node_dropout": 0.5, "readout": "mean", "batch_norm": True},
        CONSISTENT,
        {"warm_up": 7, **RISING},
        {"phi_sees_masks": False, **OWN_PASS},
        {"learn_lambda": False},
        {"class_weight": "balanced"},
    ],
    ids=lambda changes: next(iter(changes.items())),
)
def test_every_way_of_training_ends_as_its_seed_alone(changes):
    assert_same_runs(*both_ways(plan_of(**changes), double(SMALL)))


@pytest.mark.parametrize("model", ["gcn", "graphsage"])
def test_blocks_end_as_their_seed_alone(model):
    plan = RunPlan.make(
        RunSettings(dataset="csbm", model=model),
        {**SHORT, **WIDTH, "form": "blocks", "norm": "batch"},
        by_kind={"training": {"decay_first_layer_only": False}},
    )
    assert_same_runs(*both_ways(plan, double(SMALL)))


@pytest.mark.parametrize("at_once", [2, 3, 10])
def test_initial_values_are_tried_and_chosen_by_each_run(at_once):
    plan = plan_of(kernel="signed", num_layers=2, learning_rate=0.1)
    ones, alone, others, beside = both_ways(plan, double(SMALL), at_once=at_once)
    assert_same_runs(ones, alone, others, beside)
    assert all(len(result.restarts) == 3 for result in beside)
    # Otherwise the runs would never be at different restarts.
    assert len({tuple(each.epochs for each in result.restarts) for result in alone}) > 1


def test_restarts_with_decay_to_the_start_keep_their_own():
    plan = plan_of(
        kernel="signed", num_layers=2, phi_decays_to="start", phi_weight_decay=0.3, groups=2
    )
    assert_same_runs(*both_ways(plan, double(SMALL)))


def test_runs_stop_at_their_own_epochs():
    _, alone, _, beside = both_ways(plan_of(patience=2, epochs=60), double(SMALL))
    assert len({result.epochs for result in alone}) > 1
    assert [result.epochs for result in beside] == [result.epochs for result in alone]


def test_two_classes_have_their_roc_auc():
    plan = plan_of(stop_on="roc_auc")
    ones, alone, others, beside = both_ways(plan, double(TWO_CLASSES))
    assert_same_runs(ones, alone, others, beside)
    assert all(result.history.val_roc_auc for result in beside)


def test_runs_that_wait_take_the_place_of_those_that_end():
    plan, data = plan_of(patience=2, epochs=60), double(SMALL)
    notes = Notes()
    ones, alone, others, beside = both_ways(plan, data, at_once=2, callbacks=[notes])
    assert_same_runs(ones, alone, others, beside)
    # The third begins when one of the first two has ended, while the other goes on.
    held = [each for epochs in notes.epochs for each in epochs]
    first = held.index((2, 1))
    assert {index for index, _ in held[first + 1 :]} - {2, 3}
    assert dict(notes.ended) == dict(enumerate(beside))
    # Of the first two the one that ends first is told first.
    order = [index for index, _ in notes.ended if index < 2]
    assert order == sorted((0, 1), key=lambda index: alone[index].epochs)


def test_seconds_are_shares_of_the_time():
    plan, data = plan_of(), double(SMALL)
    results = fit_many(models_of(plan, data), data, plan.preset.training, seeds=SEEDS, at_once=4)
    assert all(result.seconds > 0 for result in results)


@pytest.mark.parametrize("changes", [{}, {"kernel": "signed", "num_layers": 2}])
def test_runs_resume_each_from_its_own_epoch(changes):
    plan, data = plan_of(**changes), double(SMALL)
    training = plan.preset.training
    whole = both_ways(plan, data)[1]
    kept, stop_at = {}, {0: 3, 1: 7, 2: 3, 3: 10}

    class Keep(Callback):
        def after_epoch(self, epochs):
            for epoch in epochs:
                if len(epoch.history) == stop_at[epoch.index]:
                    kept[epoch.index] = epoch.snapshot()

    fit_many(models_of(plan, data), data, training, seeds=SEEDS, callbacks=[Keep()], at_once=10)
    assert len({len(snapshot.history) for snapshot in kept.values()}) > 1
    resume = [kept.get(number) for number in range(4)]
    before = copy.deepcopy(resume)
    models = models_of(plan, data, [99] * 4)
    for model, fresh in zip(models, models_of(plan, data), strict=True):
        # A restart begins from the initial weights, which a snapshot does not hold.
        model.load_state_dict(fresh.state_dict())
    resumed = fit_many(models, data, training, seeds=SEEDS, resume=resume, at_once=10)
    for alone, beside in zip(whole, resumed, strict=True):
        assert_alike(alone, beside)
    # A run that trained beside others may go on alone.
    for number in (1, 3):
        model = models_of(plan, data)[number]
        alone = fit(model, data, training, seed=SEEDS[number], resume=resume[number])
        assert_alike(whole[number], alone)
    for one, other in zip(before, resume, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert one.history == other.history
            assert all(torch.equal(t, other.weights[name]) for name, t in one.weights.items())
            assert all(torch.equal(t, other.best_weights[k]) for k, t in one.best_weights.items())


@pytest.mark.parametrize("model", ["akgnn", "graphsage"])
def test_a_stop_ends_the_training_of_all(model):
    plan = plan_of(model)
    models = [plan.with_seed(seed).build(SMALL) for seed in SEEDS]
    notes = Notes()
    with pytest.raises(InterruptedRunError, match="Stopped after epoch 2"):
        fit_many(
            models,
            SMALL,
            plan.preset.training,
            seeds=SEEDS,
            callbacks=[notes, stop_after(2)],
            at_once=10,
        )
    indices = [0, 1, 2, 3] if model == "akgnn" else [0]
    assert notes.epochs == [[(index, epoch) for index in indices] for epoch in (1, 2)]
    assert notes.ended == []


def test_a_run_that_diverges_leaves_the_others_alone():
    plan, data = plan_of(), double(SMALL)
    whole = both_ways(plan, data)[1]
    models = models_of(plan, data)
    with torch.no_grad():
        models[1].layers[2].phi.fill_(math.nan)
    notes = Notes()
    results = fit_many(
        models, data, plan.preset.training, seeds=SEEDS, at_once=10, callbacks=[notes]
    )
    assert isinstance(results[1], DivergedError)
    assert "at epoch 1" in str(results[1])
    assert notes.ended[0] == (1, results[1])
    assert all(index != 1 for epochs in notes.epochs for index, _ in epochs)
    for number in (0, 2, 3):
        assert_alike(whole[number], results[number])


@pytest.mark.parametrize("changes", [{"model": "graphsage"}, {"strategy": "drop-edge"}])
def test_what_cannot_be_stacked_is_trained_one_after_the_other(changes):
    plan = plan_of(epochs=4, **changes)
    data = SMALL
    strategy = plan.strategy()
    assert not can_batch(type(plan.build(data)), strategy)
    assert runs_at_once(plan.build(data), data, strategy) == 1
    models = [plan.with_seed(seed).build(data) for seed in (0, 1)]
    notes = Notes()
    results = fit_many(
        models, data, plan.preset.training, seeds=[0, 1], strategy=strategy, callbacks=[notes]
    )
    assert notes.epochs == [[(index, epoch)] for index in (0, 1) for epoch in (1, 2, 3, 4)]
    assert notes.ended == [(0, results[0]), (1, results[1])]
    one = fit(
        plan.with_seed(1).build(data), data, plan.preset.training, seed=1, strategy=plan.strategy()
    )
    assert results[1].history == one.history


def test_one_after_the_other_a_diverged_run_is_an_outcome_too():
    plan = plan_of("graphsage", epochs=4, learning_rate=1e30)
    models = [plan.with_seed(seed).build(SMALL) for seed in (0, 1)]
    results = fit_many(models, SMALL, plan.preset.training, seeds=[0, 1], strategy=plan.strategy())
    assert all(isinstance(result, DivergedError) for result in results)


def test_every_model_needs_its_seed():
    plan = plan_of()
    with pytest.raises(SettingsError, match="got 2 models, 1 seeds and 2 states"):
        fit_many(models_of(plan, double(SMALL), [0, 1]), double(SMALL), seeds=[0])
    assert fit_many([], SMALL, seeds=[]) == []
    with pytest.raises(SettingsError, match="at_once must be at least 1, got 0"):
        fit_many([], SMALL, seeds=[], at_once=0)


def test_as_many_go_side_by_side_as_there_is_room_for(monkeypatch):
    plan, data = plan_of(order="propagate-first", batch_norm=True), double(SMALL)
    model = plan.build(data).double()
    before = copy.deepcopy(model.state_dict())
    monkeypatch.setattr(many, "_NUMBERS_ON_CPU", 10**6)
    number = runs_at_once(model, data, plan.strategy())
    monkeypatch.setattr(many, "_NUMBERS_ON_CPU", 2 * 10**6)
    assert runs_at_once(model, data, plan.strategy()) in (2 * number, 2 * number + 1)
    # At least its signals, 120 nodes wide eight channels, at every layer.
    assert 1 < number < 10**6 / (120 * 8 * 5)
    monkeypatch.setattr(many, "_NUMBERS_ON_CPU", 1)
    assert runs_at_once(model, data, plan.strategy()) == 1
    # Asking leaves no trace in the model.
    assert all(torch.equal(t, before[name]) for name, t in model.state_dict().items())


CAPTURED = {
    "akgnn": {},
    "akgnn, restarts": {"kernel": "signed"},
    "akgnn, groups": {"groups": 2},
    "akgnn, own weights": {"share_weights": False},
    "akgnn, weighted classes": {"class_weight": "balanced"},
    # What was recorded in the first epoch has to see the weight rise.
    "akgnn, rising weight": RISING,
    "akgnn, φ in a pass of its own": {"phi_sees_masks": False, **OWN_PASS},
    "gcn": {"model": "gcn"},
    "appnp": {"model": "appnp"},
    "sgc": {"model": "sgc"},
}


@pytest.mark.gpu
@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("name", CAPTURED)
def test_recorded_epochs_are_those_of_each_alone(name, as_sparse):
    data = double(SMALL, as_sparse=as_sparse).to("cuda")
    assert_same_runs(*both_ways(plan_of(**CAPTURED[name], epochs=60), data))


@pytest.mark.gpu
@pytest.mark.parametrize("seeds", [[5], list(range(7))])
def test_recorded_epochs_in_float32_follow_float64(seeds):
    plan = plan_of(epochs=10, patience=10)
    training = plan.preset.training
    data = SMALL.to("cuda")
    found = fit_many([plan.with_seed(s).build(data) for s in seeds], data, training, seeds=seeds)
    exact = double(SMALL)
    for seed, result in zip(seeds, found, strict=True):
        (model,) = models_of(plan, exact, [seed])
        expected = fit(model, exact, training, seed=seed)
        assert result.history.val_loss == pytest.approx(expected.history.val_loss, rel=1e-3)
        assert result.lambda_max == pytest.approx(expected.lambda_max, rel=1e-3)


@pytest.mark.gpu
def test_a_run_that_diverges_leaves_the_recorded_others_alone():
    data = double(SMALL).to("cuda")
    plan = plan_of(epochs=8)
    models = models_of(plan, data)
    with torch.no_grad():
        models[1].transforms[0].weight.fill_(math.inf)
    found = fit_many(models, data, plan.preset.training, seeds=SEEDS)
    assert [isinstance(outcome, DivergedError) for outcome in found] == [False, True, False, False]
