import math
from dataclasses import replace

import pytest
import torch

import akgnn
from akgnn.errors import CheckpointError, RunFolderError, SettingsError
from akgnn.runs.choice import choose
from akgnn.runs.folder import RunFolder
from akgnn.runs.jobs import Job, run_job
from akgnn.runs.load import load_run
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.session import Session
from akgnn.runs.vote import Vote, shares_by_name, vote_weights, votes_in
from akgnn.training.callbacks import Callback
from akgnn.training.ensemble import Ensemble

GRAPH = "csbm:num_nodes=120,num_classes=2"


class Count(Callback):
    def __init__(self):
        self.indices = []

    def after_epoch(self, epochs):
        self.indices += [epoch.index for epoch in epochs]


def make_plan(model="akgnn", preset="paper", **changes):
    run = RunSettings(dataset=GRAPH, model=model, preset=preset)
    return RunPlan.make(run, {"epochs": 5, **changes})


def three_votes():
    plans = [make_plan(hidden_channels=8), make_plan("gcn"), make_plan("mlp")]
    return [Vote(plan, weight) for plan, weight in zip(plans, (0.5, 0.3, 0.2), strict=True)]


def voices(*right):
    """Log-probabilities of models that give the first class these probabilities, node by node."""
    return [torch.stack([torch.tensor(p), 1 - torch.tensor(p)], dim=1).log() for p in right]


def test_models_that_say_the_same_have_the_same_share():
    same = torch.rand(50, 3).log_softmax(1)
    assert vote_weights([same] * 4, torch.zeros(50, dtype=torch.int64)) == pytest.approx([0.25] * 4)


def test_shares_maximise_the_likelihood_with_its_prior():
    torch.manual_seed(0)
    said = [torch.randn(40, 3).log_softmax(1) for _ in range(3)]
    y = torch.randint(3, (40,))
    found = torch.tensor(vote_weights(said, y), dtype=torch.float64)

    def value(weights):
        total = sum(w * v.double().exp() for w, v in zip(weights, said, strict=True))
        return total[torch.arange(40), y].log().sum() + weights.log().sum()

    assert bool((found > 0).all())
    for _ in range(200):
        other = (found + 0.05 * torch.randn(3)).clamp_min(0.01)
        assert value(other / other.sum()) <= value(found) + 1e-9


def test_few_nodes_do_not_make_one_model_speak_alone_and_many_do():
    y = torch.zeros(2000, dtype=torch.int64)
    good, bad = voices([0.9] * 2000, [0.5] * 2000)
    few = vote_weights([good[:5], bad[:5]], y[:5])
    assert 0.5 < few[0] < 0.9
    assert vote_weights([good, bad], y) == [1.0, 0.0]


def test_a_class_that_all_models_rule_out_changes_nothing():
    said = [torch.tensor([[0.0, -math.inf], [-math.inf, 0.0]])] * 2
    assert vote_weights(said, torch.tensor([0, 1])) == pytest.approx([0.5, 0.5])


def test_votes_are_kept_and_checked():
    votes = three_votes()
    content = {"votes": [vote.to_dict() for vote in votes]}
    assert votes_in(content) == tuple(votes)
    assert votes_in({}) == ()
    with pytest.raises(ValueError, match="do not add up to 1"):
        votes_in({"votes": content["votes"][:2]})
    for weight in (0, -1, 2, math.nan):
        with pytest.raises(ValueError, match="above 0 and at most 1"):
            Vote(votes[0].plan, weight)


def test_seeds_of_a_model_count_as_one_name():
    plan = make_plan()
    votes = [Vote(plan.with_seed(seed), 0.3) for seed in (0, 1)] + [Vote(make_plan("gcn"), 0.4)]
    assert shares_by_name(votes) == {"akgnn (paper)": 0.6, "gcn (paper)": 0.4}


def test_probabilities_are_the_weighted_mean_of_the_members(tmp_path):
    votes, folder = three_votes(), RunFolder(tmp_path / "run")
    data = votes[0].plan.load()
    run = run_job(Job(votes[0].plan, folder, votes=tuple(votes)), data)
    alone = [run_job(Job(vote.plan), data) for vote in votes]
    logits = run.model(data.x, data.graph)
    expected = sum(
        vote.weight * each.result.calibration.scaled(each.model(data.x, data.graph)).softmax(1)
        for vote, each in zip(votes, alone, strict=True)
    )
    torch.testing.assert_close(logits.exp(), expected)
    torch.testing.assert_close(load_run(folder.path).model(data.x, data.graph), logits)
    assert run.plan == votes[0].plan
    assert [member.test_accuracy for member in run.members] == [
        each.result.test_accuracy for each in alone
    ]
    assert not list(folder.path.glob("member-*"))
    shares = [(each["model"], each["weight"]) for each in run.to_dict()["votes"]]
    assert shares == [("akgnn", 0.5), ("gcn", 0.3), ("mlp", 0.2)]
    assert "akgnn (paper) and 2 more" in repr(run)


def test_a_vote_goes_on_where_it_stopped(tmp_path):
    votes, folder = three_votes(), RunFolder(tmp_path / "run")
    data = votes[0].plan.load()

    class Kill(Count):
        def after_epoch(self, epochs):
            super().after_epoch(epochs)
            if self.indices.count(1) == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_job(
            Job(votes[0].plan, folder, votes=tuple(votes)),
            data,
            Session(checkpoint_seconds=0, callbacks=[Kill()]),
        )
    count = Count()
    resumed = run_job(
        Job(votes[0].plan, folder, votes=tuple(votes)),
        data,
        Session(resume=True, callbacks=[count]),
    )
    assert count.indices == [1] * count.indices.count(1) + [2] * 5
    assert 0 < count.indices.count(1) < 5
    whole = run_job(Job(votes[0].plan, votes=tuple(votes)), data)
    assert torch.equal(resumed.model(data.x, data.graph), whole.model(data.x, data.graph))
    again = run_job(
        Job(votes[0].plan, folder, votes=tuple(votes)),
        data,
        Session(resume=True, callbacks=[count := Count()]),
    )
    assert not count.indices
    assert again.to_dict() == resumed.to_dict()


def test_a_damaged_vote_is_refused(tmp_path):
    votes, folder = three_votes(), RunFolder(tmp_path / "run")
    run_job(Job(votes[0].plan, folder, votes=tuple(votes)), votes[0].plan.load())
    content = folder.read()
    for damage in ({"weight": 0.9}, {"weight": "much"}, {"settings": {}}):
        damaged = [{**content["votes"][0], **damage}, *content["votes"][1:]]
        with folder.locked():
            folder.write({**content, "votes": damaged}, None)
        with pytest.raises((CheckpointError, RunFolderError)):
            load_run(folder.path)


def test_an_ensemble_wants_a_share_above_0_for_each():
    model = make_plan("mlp").build(make_plan().load())
    calibration = akgnn.training.calibration.UNCALIBRATED
    for weights in ([0.5], [0.0, 1.0], [2.0, -1.0]):
        with pytest.raises(SettingsError, match="share above 0"):
            Ensemble([model, model], [calibration] * 2, weights)


def test_a_choice_says_who_votes_and_nobody_votes_who_failed():
    plans = [make_plan(), make_plan("mlp"), make_plan("gcn", learning_rate=1e30)]
    data = plans[0].load()
    choice = choose(plans, data)
    assert choice.tried[2].error
    assert choice.weights[2] == 0
    assert sum(choice.weights) == pytest.approx(1)
    assert [vote.weight for vote in choice.votes] == sorted(
        (w for w in choice.weights if w), reverse=True
    )


def test_models_that_take_labels_as_inputs_do_not_vote():
    run = RunSettings(dataset=GRAPH, preset="mixed-columns")
    plans = [RunPlan.make(run, {"epochs": 5}), make_plan()]
    choice = choose(plans, plans[0].load())
    assert [vote.plan for vote in choice.votes] == [choice.chosen.plan]


def test_validation_nodes_that_were_trained_on_leave_the_best_alone():
    plans = [make_plan(), make_plan("mlp")]
    data = plans[0].load()
    split = replace(data.split, val=data.split.train, chooses_on_train=True)
    choice = choose(plans, data.with_split(split))
    assert [vote.plan for vote in choice.votes] == [choice.chosen.plan]
