import math
from types import SimpleNamespace

import pytest

from akgnn.errors import FailedRunsError, InterruptedRunError, SettingsError
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.train import train_run
from akgnn.training.callbacks import Callback, StopWhen
from akgnn.tuning import auto as module
from akgnn.tuning.auto import CANDIDATES, Choice, Tried, candidate_plans, choose_model
from akgnn.tuning.score import Score

SMALL = {"epochs": 3, "hidden_channels": 4}


def plans_of(dataset="csbm:num_nodes=100", **changes):
    def plan_of(model):
        run = RunSettings(dataset=dataset, preset="any-graph", model=model)
        return RunPlan.make(run, {**SMALL, **changes})

    return candidate_plans(plan_of)


def test_every_model_is_trained_without_test_nodes(monkeypatch):
    seen = []

    def spy(plan, data, **options):
        seen.append((plan.run.model, data.split.test.numel()))
        return train_run(plan, data, **options)

    monkeypatch.setattr(module, "train_run", spy)
    plans = plans_of()
    choice = choose_model(plans, plans[0].load())
    assert seen == [(model, 0) for model in CANDIDATES]
    assert choice.chosen.plan in plans
    assert choice.best.score == max(tried.score for tried in choice.tried)


def test_edges_that_say_all_choose_a_model_that_sees_them():
    plans = plans_of("csbm:num_nodes=300,homophily=0.95,signal=0.5", epochs=60, hidden_channels=16)
    choice = choose_model(plans, plans[0].load())
    mlp, *others = (tried.score for tried in choice.tried)
    assert mlp < max(others) - choice.margin
    assert choice.chosen.model != "mlp"


def scored(monkeypatch, scores, stop_on="accuracy"):
    """The choice where the models score so; an error where one is given instead."""

    class Fit:
        epochs, seconds = 3, 1.0

        def __init__(self, score):
            self.val_accuracy = self.val_loss = score

    def give(plan, data, **options):
        score = scores[CANDIDATES.index(plan.run.model)]
        if isinstance(score, Exception):
            raise score
        return SimpleNamespace(result=Fit(score))

    monkeypatch.setattr(module, "train_run", give)
    plans = plans_of("csbm:num_nodes=1000", stop_on=stop_on)
    return choose_model(plans, plans[0].load())


@pytest.mark.parametrize(
    ("scores", "chosen", "why"),
    [
        # With 100 validation nodes one standard error of 80 % is 4.0.
        ((50, 60, 70, 80), "akgnn", "80.0 %, and no simpler model is within one standard error"),
        ((50, 60, 78, 80), "appnp", "80.0 %; appnp is within one standard error (4.0) of it and"),
        ((77, 79, 78, 80), "mlp", "akgnn has the highest validation accuracy, 80.0 %; mlp is"),
        ((80, 60, 80, 70), "mlp", "mlp has the highest validation accuracy, 80.0 %, and is the"),
        ((75, 80, 80, 80), "gcn", "gcn has the highest validation accuracy, 80.0 %, and no"),
    ],
)
def test_ties_go_to_the_simpler_model(monkeypatch, scores, chosen, why):
    choice = scored(monkeypatch, scores)
    assert choice.chosen.model == chosen
    assert why in choice.why


def test_the_lowest_loss_wins_without_ties(monkeypatch):
    choice = scored(monkeypatch, (0.7, 0.501, 0.6, 0.5), stop_on="loss")
    assert choice.chosen.model == "akgnn"
    assert choice.why == "akgnn has the lowest validation loss, 0.5000."


def test_a_model_that_fails_is_passed_over(monkeypatch):
    error = module.DivergedError("It diverged.")
    choice = scored(monkeypatch, (error, 60, 50, error))
    assert choice.chosen.model == "gcn"
    assert math.isnan(choice.tried[0].score)
    assert choice.tried[3].error == "It diverged."
    with pytest.raises(
        FailedRunsError, match=r"No model could be trained, the first: It diverged\."
    ):
        scored(monkeypatch, (error, error, error, error))


def test_stopping_ends_the_choice():
    plans = plans_of()
    with pytest.raises(InterruptedRunError):
        choose_model(plans, plans[0].load(), callbacks=[StopWhen(lambda: True)])


def test_callbacks_are_told_which_model_trains():
    seen = []

    class Watching(Callback):
        def after_epoch(self, epochs):
            seen.extend(epoch.index for epoch in epochs)

    plans = plans_of()
    choose_model(plans, plans[0].load(), callbacks=[Watching()])
    assert list(dict.fromkeys(seen)) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("preset", "changes", "message"),
    [
        ("any-graph", {"kernel": "signed"}, "For mlp: Unknown setting 'kernel'"),
        ("searched", {}, "For mlp: Unknown preset 'searched'"),
    ],
)
def test_settings_have_to_fit_every_model(preset, changes, message):
    with pytest.raises(SettingsError, match=f"each of mlp, gcn, appnp, akgnn.* {message}"):
        candidate_plans(lambda name: RunPlan.make(RunSettings(model=name, preset=preset), changes))


def test_a_sentence_for_the_simplest():
    plans = plans_of()
    tried = tuple(Tried(plan, 50.0, 1, 1.0) for plan in plans)
    choice = Choice(Score.of("accuracy"), tried, tried[0], tried[0], 5.0)
    assert choice.why == "mlp has the highest validation accuracy, 50.0 %, and is the simplest."
