import json
from dataclasses import replace

import pytest
import torch

from akgnn.errors import (
    CheckpointError,
    DivergedError,
    InterruptedRunError,
    RunFolderError,
    SettingsError,
)
from akgnn.runs import jobs as module
from akgnn.runs.ensemble import member_folders
from akgnn.runs.folder import RunFolder
from akgnn.runs.jobs import Job, jobs_of, run_job, run_jobs
from akgnn.runs.load import load_run
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.session import Session
from akgnn.training.callbacks import Callback
from akgnn.training.fit import predict_logits
from run_files import names_in, rewrite, stop_after

RUN = RunSettings(dataset="csbm:num_nodes=120", seed=5, ensemble=3)
SETTINGS = {"epochs": 12, "patience": 4, "hidden_channels": 4}
# Trained side by side, one after the other, and with labels as inputs.
KINDS = [
    {"model": "akgnn"},
    {"model": "gat"},
    {"model": "akgnn", "preset": "mixed-columns"},
]
FILES = ["epochs.jsonl", "run.json", "weights.safetensors"]


def make_plan(**run):
    heads = {"heads": 2} if run.get("model") == "gat" else {}
    return RunPlan.make(replace(RUN, **run), {**SETTINGS, **heads})


def probability(run):
    return run.predict().probability


class Count(Callback):
    """Counts epochs, by the index of the member."""

    def __init__(self):
        self.epochs = {}

    def after_epoch(self, epochs):
        for epoch in epochs:
            self.epochs[epoch.index] = self.epochs.get(epoch.index, 0) + 1


@pytest.mark.parametrize("kind", KINDS)
def test_its_probabilities_are_the_mean_of_runs_of_these_seeds(kind):
    plan = make_plan(**kind)
    data, count = plan.load(), Count()
    ensemble = run_job(Job(plan), data, Session(callbacks=[count]))
    alone = [plan.members()[index] for index in range(3)]
    assert [each.run.seed for each in alone] == [5, 6, 7]
    runs = run_jobs(jobs_of(alone), data)
    assert [member.to_dict() | {"seconds": 0} for member in ensemble.members] == [
        run.result.to_dict() | {"seconds": 0} for run in runs
    ]
    mean = torch.stack([probability(run) for run in runs]).mean(0)
    calibrated = ensemble.result.calibration.scaled(mean.log()).softmax(1)
    assert torch.allclose(probability(ensemble), calibrated, atol=1e-6)
    assert set(count.epochs) == {0, 1, 2}
    assert ensemble.member_accuracy == pytest.approx(
        sum(run.result.test_accuracy for run in runs) / 3
    )


@pytest.mark.parametrize("kind", KINDS)
def test_its_folder_is_that_of_one_run(kind, tmp_path):
    plan = make_plan(**kind)
    run = run_job(Job(plan, RunFolder(tmp_path / "run")), plan.load())
    assert names_in(tmp_path / "run") == FILES
    again = load_run(tmp_path / "run")
    assert again.plan == plan
    assert again.to_dict() == run.to_dict()
    assert torch.equal(probability(again), probability(run))
    assert torch.equal(probability(again), probability(run_job(Job(plan), plan.load())))
    lines = (tmp_path / "run" / "epochs.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert {row["member"] for row in rows} == {0, 1, 2}
    assert len(rows) == sum(member.epochs for member in run.members)


# Members of GAT follow each other: after 14 epochs the first has ended.
@pytest.mark.parametrize(
    ("kind", "epochs"),
    [(KINDS[0], 1), (KINDS[0], 5), (KINDS[1], 5), (KINDS[1], 14), (KINDS[2], 5)],
)
def test_one_that_was_stopped_ends_as_if_it_had_not(kind, epochs, tmp_path):
    plan = make_plan(**kind)
    data, folder = plan.load(), RunFolder(tmp_path / "run")
    with pytest.raises(InterruptedRunError):
        run_job(Job(plan, folder), data, Session(callbacks=[stop_after(epochs)]))
    members = [f"member-{index}" for index in range(3)]
    assert names_in(folder.path) == ["epochs.jsonl", *members, "run.json"]
    with pytest.raises(RunFolderError, match="has not finished"):
        load_run(folder.path)
    resumed, whole = (
        run_job(Job(plan, folder), data, Session(resume=True)),
        run_job(Job(plan), data),
    )
    assert resumed.result.scores == whole.result.scores
    assert torch.equal(probability(resumed), probability(whole))
    assert names_in(folder.path) == FILES


def test_a_kill_between_the_last_member_and_the_end_loses_nothing(tmp_path, monkeypatch):
    plan = make_plan()
    data, folder = plan.load(), RunFolder(tmp_path / "run")

    def killed(kept, members):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "join_members", killed)
        with pytest.raises(KeyboardInterrupt):
            run_job(Job(plan, folder), data)
    count = Count()
    resumed = run_job(Job(plan, folder), data, Session(resume=True, callbacks=[count]))
    assert not count.epochs
    assert torch.equal(probability(resumed), probability(run_job(Job(plan), data)))


def test_a_finished_one_is_read_and_what_a_kill_left_is_removed(tmp_path):
    plan = make_plan()
    data, folder, count = plan.load(), RunFolder(tmp_path / "run"), Count()
    run = run_job(Job(plan, folder), data)
    left = member_folders(2, folder)[1]
    run_job(Job(plan.members()[1], left), data)
    again = run_job(Job(plan, folder), data, Session(resume=True, callbacks=[count]))
    assert not count.epochs
    assert again.to_dict() == run.to_dict()
    assert names_in(folder.path) == FILES
    with pytest.raises(RunFolderError, match="its ensemble is 3, not 2"):
        run_job(
            Job(replace(plan, run=replace(plan.run, ensemble=2)), folder),
            data,
            Session(resume=True),
        )


def test_a_member_that_diverges_is_named_and_remembered(tmp_path):
    plan = RunPlan.make(RUN, {**SETTINGS, "learning_rate": 1e30, "input_dropout": 0})
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(DivergedError, match=r"Seed 5: The .* became"):
        run_job(Job(plan, folder), plan.load())
    with pytest.raises(RunFolderError, match=r"failed\. Seed 5: The"):
        load_run(folder.path)
    assert names_in(folder.path) == ["epochs.jsonl", "run.json"]


def test_an_ensemble_of_one_is_a_plain_run_bit_for_bit(tmp_path):
    plain = RunPlan.make(RunSettings(dataset=RUN.dataset), SETTINGS)
    one = RunPlan.make(RunSettings(dataset=RUN.dataset, ensemble=1), SETTINGS)
    folders = tmp_path / "plain", tmp_path / "one"
    for plan, folder in zip((plain, one), folders, strict=True):
        run_job(Job(plan, RunFolder(folder)), plan.load())
    records = [json.loads((folder / "run.json").read_text()) for folder in folders]
    for record in records:
        del record["result"]["seconds"], record["sha256"]
    assert records[0] == records[1]
    assert "members" not in records[0]
    for name in ("weights.safetensors", "epochs.jsonl"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()


def test_what_cannot_be_trained_leaves_no_folder_behind(tmp_path):
    plan = RunPlan.make(replace(RUN, seed=2**63 - 2), SETTINGS)
    with pytest.raises(SettingsError, match="seed must be from 0 to"):
        run_job(Job(plan, RunFolder(tmp_path / "run")), plan.load())
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("members", [None, [], "two", [{}], 3 * [{"test_accuracy": "high"}]])
def test_a_record_whose_members_do_not_fit_is_refused(members, tmp_path):
    plan = make_plan()
    run_job(Job(plan, RunFolder(tmp_path)), plan.load())
    content = json.loads((tmp_path / "run.json").read_text())
    rewrite(tmp_path / "run.json", {**content, "members": members})
    with pytest.raises(CheckpointError, match="damaged or foreign"):
        load_run(tmp_path)


def test_members_of_a_plain_record_are_refused(tmp_path):
    plan = make_plan(ensemble=1)
    run = run_job(Job(plan, RunFolder(tmp_path)), plan.load())
    content = json.loads((tmp_path / "run.json").read_text())
    rewrite(tmp_path / "run.json", {**content, "members": [run.result.to_dict()]})
    with pytest.raises(CheckpointError, match="members has 1 entries"):
        load_run(tmp_path)


def test_label_inputs_of_its_own_nodes_are_hidden_from_every_member():
    plan = make_plan(preset="mixed-columns")
    run = run_job(Job(plan), plan.load())
    data = plan.with_inputs(plan.load())
    assert data.has_label_inputs
    train = data.split.train
    hidden = predict_logits(run.model, data)[train]
    shown = run.model(data.x, data.graph)[train]
    assert not torch.allclose(hidden, shown)
    found = probability(run)[train]
    assert torch.allclose(found, run.result.calibration.scaled(hidden).softmax(1))
