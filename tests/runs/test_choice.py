import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from akgnn.data.splits import Split
from akgnn.errors import FailedRunsError, InterruptedRunError, SettingsError
from akgnn.runs import choice as module
from akgnn.runs.choice import (
    CANDIDATES,
    Tried,
    candidate_plans,
    choose,
    expected_seconds,
    seeds_to_vote,
)
from akgnn.runs.folder import RunFolder
from akgnn.runs.jobs import Job, run_job, run_jobs
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.session import Session
from akgnn.training.callbacks import Callback, StopWhen
from akgnn.training.fit import predict_logits, scores_of

SMALL = {"epochs": 3, "hidden_channels": 4}


class Watching(Callback):
    def __init__(self):
        self.seen = []

    def after_epoch(self, epochs):
        self.seen.extend(epoch.index for epoch in epochs)


def plans_of(dataset="csbm:num_nodes=100", **changes):
    def plan_of(model):
        run = RunSettings(dataset=dataset, preset="any-graph", model=model)
        return RunPlan.make(run, {**SMALL, **changes})

    return candidate_plans(plan_of)


def test_every_model_is_trained_without_test_nodes(monkeypatch):
    seen = []

    def spy(jobs, data, *options, **more):
        seen.extend((job.plan.run.model, data.split.test.numel()) for job in jobs)
        return run_jobs(jobs, data, *options, **more)

    monkeypatch.setattr(module, "run_jobs", spy)
    plans = plans_of()
    choice = choose(plans, plans[0].load())
    assert seen == [(model, 0) for model in CANDIDATES]
    assert choice.chosen.plan in plans
    assert choice.chosen.score == min(tried.score for tried in choice.tried)


def test_edges_that_say_all_choose_a_model_that_sees_them():
    plans = plans_of("csbm:num_nodes=300,homophily=0.95,signal=0.5", epochs=60, hidden_channels=16)
    choice = choose(plans, plans[0].load())
    mlp, *others = (tried.score for tried in choice.tried)
    assert mlp > min(others)
    assert choice.chosen.plan.run.model != "mlp"


def test_of_an_ensemble_the_first_member_is_tried():
    both, plans = (Watching(), Watching()), plans_of()
    ensembles = [replace(plan, run=replace(plan.run, ensemble=5)) for plan in plans]
    choice = choose(ensembles, plans[0].load(), callbacks=[both[0]])
    alone = choose(plans, plans[0].load(), callbacks=[both[1]])
    assert choice.chosen.plan in ensembles
    assert both[0].seen == both[1].seen
    assert [tried.score for tried in choice.tried] == [tried.score for tried in alone.tried]


@pytest.mark.parametrize("kernel", ["paper", "signed"])
def test_the_chosen_one_need_not_be_trained_again(tmp_path, kernel):
    """Its state goes on where it ended: the same run, and no more epochs."""
    run = RunSettings(dataset="csbm:num_nodes=100", preset="any-graph")
    plans = [RunPlan.make(run, {**SMALL, "kernel": kernel, "num_layers": k}) for k in (1, 2)]
    data = plans[0].load()
    choice = choose(plans, data)
    chosen = choice.chosen
    assert all(each.snapshot is not None for each in choice.tried)
    epochs = Watching()
    anew = run_job(Job(chosen.plan, RunFolder(tmp_path / "anew")), data)
    again = run_job(
        Job(chosen.plan, RunFolder(tmp_path / "again"), starts=(chosen.snapshot,)),
        data,
        Session(callbacks=[epochs]),
    )
    assert not epochs.seen
    assert again.result.scores == anew.result.scores
    assert again.result.history == anew.result.history
    assert all(
        torch.equal(one, other)
        for one, other in zip(
            again.model.state_dict().values(), anew.model.state_dict().values(), strict=True
        )
    )
    lines = [(tmp_path / name / "epochs.jsonl").read_text() for name in ("anew", "again")]
    assert lines[0] == lines[1]


def test_a_folder_that_has_a_state_goes_before_the_choices(tmp_path):
    plan = plans_of()[-1]
    data = plan.load()
    snapshot = choose([plan], data).chosen.snapshot
    kept = run_job(Job(plan, RunFolder(tmp_path / "run")), data)
    again = run_job(
        Job(plan, RunFolder(tmp_path / "run"), starts=(snapshot,)), data, Session(resume=True)
    )
    assert again.result.to_dict() == kept.result.to_dict()


def test_seeds_of_a_plan_speak_as_one_and_share_its_part():
    plans = [plan for plan in plans_of(epochs=8) if plan.run.model in ("mlp", "akgnn")]
    data, watching = plans[0].load(), Watching()
    choice = choose(plans, data, seeds=3, callbacks=[watching])
    assert set(watching.seen) == set(range(6))
    for plan, each in zip(plans, choice.tried, strict=True):
        runs = [run_job(Job(plan.with_seed(seed)), data) for seed in range(3)]
        mean = torch.stack([
            run.result.calibration.scaled(predict_logits(run.model, data)).softmax(1)
            for run in runs
        ]).mean(0)  # fmt: skip
        torch.testing.assert_close(each.voice.exp(), mean[data.split.val], rtol=1e-3, atol=1e-4)
        losses = [run.result.val_log_loss for run in runs]
        assert each.score == pytest.approx(sum(losses) / 3, abs=1e-4)
        assert each.epochs == sum(run.result.epochs for run in runs)
    shares = {plan.run.model: 0.0 for plan in plans}
    for vote in choice.votes:
        shares[vote.plan.run.model] += vote.weight
        assert vote.weight == pytest.approx(
            choice.weights[[plan.run.model for plan in plans].index(vote.plan.run.model)] / 3
        )
    assert sum(shares.values()) == pytest.approx(1)
    assert [vote.plan.run.seed for vote in choice.votes] == [0, 1, 2] * (len(choice.votes) // 3)


def test_seeds_that_were_tried_need_not_be_trained_again():
    plans = [plan for plan in plans_of() if plan.run.model in ("gcn", "akgnn")]
    data = plans[0].load()
    choice, epochs = choose(plans, data, seeds=2), Watching()
    assert len(choice.snapshots) == len(choice.votes)
    run = run_job(
        Job(choice.votes[0].plan, votes=tuple(choice.votes), starts=tuple(choice.snapshots)),
        data,
        Session(callbacks=[epochs]),
    )
    assert not epochs.seen
    anew = run_job(Job(choice.votes[0].plan, votes=tuple(choice.votes)), data)
    torch.testing.assert_close(
        run.model(data.x, data.graph), anew.model(data.x, data.graph), rtol=1e-3, atol=1e-4
    )


def test_several_seeds_vote_where_few_nodes_tell_who_is_right():
    data = plans_of()[0].load()
    known = torch.arange(150)

    def seeds(number):
        val, train = known[:number], known[number:]
        return seeds_to_vote(SimpleNamespace(split=Split("s", train, val, train[:0]), graph=graph))

    graph = data.graph
    assert (seeds(99), seeds(100)) == (3, 1)
    graph = SimpleNamespace(num_edges=2_000_000)
    assert seeds(99) == 1
    split = replace(data.split, val=data.split.train, chooses_on_train=True)
    assert seeds_to_vote(data.with_split(split)) == 1


def scored(monkeypatch, scores, stop_on="accuracy"):
    """The choice where the models have these scores; an error where one is given instead."""

    def give(plan, data, score, *rest):
        value = scores[CANDIDATES.index(plan.run.model)]
        return Tried(plan, error=value) if isinstance(value, str) else Tried(plan, value)

    monkeypatch.setattr(module, "_try", give)
    plans = plans_of("csbm:num_nodes=100,num_classes=2", stop_on=stop_on)
    return choose(plans, plans[0].load())


@pytest.mark.parametrize(
    ("stop_on", "scores", "chosen", "why"),
    [
        (
            "accuracy",
            (0.7, 0.501, 0.6, 0.5),
            "akgnn",
            "akgnn (any-graph) has the lowest validation loss, 0.5000; next is gcn (any-graph) "
            "with 0.5010.",
        ),
        ("loss", (0.5, 0.5, 0.6, 0.5), "mlp", "mlp (any-graph) has the lowest validation loss"),
        (
            "roc_auc",
            (70.0, 90.0, 80.0, 60.0),
            "gcn",
            "gcn (any-graph) has the highest validation ROC-AUC, 90.0 %; next is appnp",
        ),
        ("loss", (0.7, "no", "no", "no"), "mlp", "0.7000; the others failed."),
    ],
)
def test_the_best_score_decides(monkeypatch, stop_on, scores, chosen, why):
    choice = scored(monkeypatch, scores, stop_on)
    assert choice.chosen.plan.run.model == chosen
    assert why in choice.why


@pytest.mark.parametrize(
    ("losses", "words"),
    [
        ((0.5, 0.7, 0.6, 0.8), "an MLP is as good, 71.2 % of the validation nodes against 71.0 %."),
        ((0.6, 0.7, 0.6, 0.5), ""),
        (("no", 0.7, 0.6, 0.5), ""),
        ((0.5, "no", "no", "no"), ""),
    ],
)
def test_where_links_do_not_help_it_says_so(monkeypatch, losses, words):
    def give(plan, data, score, *rest):
        number = CANDIDATES.index(plan.run.model)
        loss = losses[number]
        if isinstance(loss, str):
            return Tried(plan, error=loss)
        return Tried(plan, loss, (71.2, 60.0, 71.0, 80.0)[number])

    monkeypatch.setattr(module, "_try", give)
    plans = plans_of()
    said = choose(plans, plans[0].load()).about_links
    assert said.endswith(words)
    assert bool(said) == bool(words)


def test_a_model_that_fails_is_passed_over(monkeypatch):
    plans = plans_of()

    def give(jobs, data, *options, **more):
        if jobs[0].plan.run.model in ("mlp", "akgnn"):
            return [module.DivergedError("It diverged.")]
        return run_jobs(jobs, data, *options, **more)

    monkeypatch.setattr(module, "run_jobs", give)
    choice = choose(plans, plans[0].load())
    assert choice.chosen.plan.run.model in ("gcn", "appnp")
    assert math.isnan(choice.tried[0].score)
    assert choice.tried[3].error == "It diverged."
    assert expected_seconds(plans, plans[0].load()) > 0
    failed = "It diverged."
    with pytest.raises(
        FailedRunsError, match=r"No model could be trained, the first: It diverged\."
    ):
        scored(monkeypatch, (failed, failed, failed, failed))


def test_too_sure_a_model_is_judged_by_what_it_could_be():
    """The loss is that at the best temperature, so it does not change with the size of scores."""
    dataset = "csbm:num_nodes=300,homophily=0.8,signal=0.5"
    plan = plans_of(dataset, epochs=40, hidden_channels=16)[1]
    data = plan.load()
    tried = choose([plan], data).chosen
    assert tried.score == pytest.approx(run_job(Job(plan), data).result.val_log_loss)
    logits = predict_logits(run_job(Job(plan), data).model.eval(), data)
    split = data.split
    for size in (1, 4):
        scaled = {"test": size * logits[split.test], "val": size * logits[split.val]}
        scores, _ = scores_of(scaled, data)
        assert scores["val_log_loss"] == pytest.approx(tried.score, rel=0.05)


def test_stopping_ends_the_choice():
    plans = plans_of()
    with pytest.raises(InterruptedRunError):
        choose(plans, plans[0].load(), callbacks=[StopWhen(lambda: True)])


def test_callbacks_are_told_which_model_trains():
    watching = Watching()
    plans = plans_of()
    choose(plans, plans[0].load(), callbacks=[watching])
    assert list(dict.fromkeys(watching.seen)) == [0, 1, 2, 3]


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
