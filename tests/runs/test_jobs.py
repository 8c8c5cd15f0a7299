import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import akgnn
from akgnn.errors import (
    AkgnnError,
    DataError,
    DeviceError,
    DivergedError,
    InterruptedRunError,
    RunFolderError,
    SettingsError,
)
from akgnn.runs import jobs as module
from akgnn.runs.facts import DataFacts
from akgnn.runs.folder import RunFolder
from akgnn.runs.jobs import (
    Job,
    fold_plans,
    jobs_of,
    run_job,
    run_jobs,
    trains_batched,
    with_own_split,
)
from akgnn.runs.load import load_run
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.session import Session
from akgnn.training.batched import fit_many as many
from akgnn.training.callbacks import Callback
from run_files import names_in, stop_after

SETTINGS = {"epochs": 10, "patience": 3, "hidden_channels": 8, "num_layers": 2}


def make_plans(number=3, **changes):
    which = RunSettings(dataset="csbm:num_nodes=150,homophily=0.8")
    plan = RunPlan.make(which, {**SETTINGS, **changes})
    return [plan.with_seed(seed) for seed in range(number)]


class Notes(Callback):
    """Remembers the indices of the runs that trained and that ended."""

    def __init__(self):
        self.trained, self.ended = [], []

    def after_epoch(self, epochs):
        self.trained += [epoch.index for epoch in epochs]

    def after_run(self, index, outcome):
        self.ended.append(index)


@pytest.fixture
def folders(tmp_path):
    return [RunFolder(tmp_path / f"seed-{seed}") for seed in range(3)]


@pytest.fixture(autouse=True)
def side_by_side(monkeypatch):
    """Whether the runs went side by side must not depend on a measure of memory."""
    monkeypatch.setattr(many, "runs_at_once", lambda *_: 10)


def assert_alike(one, other):
    """The same run up to the rounding of float32."""
    assert one.plan == other.plan
    assert one.result.history.val_loss == pytest.approx(other.result.history.val_loss, rel=1e-4)
    assert one.result.best_epoch == other.result.best_epoch
    assert one.result.epochs == other.result.epochs
    assert one.result.test_accuracy == pytest.approx(other.result.test_accuracy, abs=1)


@pytest.mark.parametrize("changes", [{}, {"kernel": "signed"}])
def test_every_folder_holds_the_run_of_its_seed(folders, changes):
    plans = make_plans(**changes)
    data = plans[0].load()
    results = run_jobs(jobs_of(plans, folders), data)
    for plan, folder, result in zip(plans, folders, results, strict=True):
        assert result.plan == plan
        again = load_run(folder.path)
        assert repr(again.result) == repr(result.result)
        assert_alike(result, run_job(Job(plan), data))
        found = again.model.neighbour_share(data.graph).view(-1).tolist()
        assert found == pytest.approx(list(result.result.neighbour_share), abs=1e-6)


@pytest.mark.parametrize("changes", [{}, {"kernel": "signed"}])
def test_a_stop_keeps_every_run_and_resuming_ends_them_all(folders, changes):
    plans = make_plans(**changes)
    data = plans[0].load()
    whole = run_jobs(jobs_of(plans), data)
    with pytest.raises(InterruptedRunError, match="Stopped after epoch 4"):
        run_jobs(jobs_of(plans, folders), data, Session(callbacks=[stop_after(4)]))
    for folder in folders:
        record = json.loads((folder.path / "run.json").read_text())
        assert record["status"] == "running"
        assert len(record["history"]["val_loss"]) == 4
    # One goes on alone for some epochs, so that the three are at different ones.
    with pytest.raises(InterruptedRunError):
        run_job(Job(plans[1], folders[1]), data, Session(resume=True, callbacks=[stop_after(3)]))
    resumed = run_jobs(jobs_of(plans, folders), data, Session(resume=True))
    for one, other in zip(resumed, whole, strict=True):
        assert_alike(one, other)


def test_finished_runs_are_not_trained_again(folders):
    plans = make_plans()
    data = plans[0].load()
    one = run_job(Job(plans[1], folders[1]), data)
    notes = Notes()
    results = run_jobs(jobs_of(plans, folders), data, Session(resume=True, callbacks=[notes]))
    assert set(notes.trained) == set(notes.ended) == {0, 2}
    assert repr(results[1].result) == repr(one.result)


def test_a_run_that_diverges_is_remembered_and_the_others_end(folders, monkeypatch):
    plans = make_plans()
    data = plans[0].load()
    build = RunPlan.build

    def damaged(plan, data):
        model = build(plan, data)
        if plan.run.seed == 1:
            model.layers[0].phi.data.fill_(float("nan"))
        return model

    monkeypatch.setattr(RunPlan, "build", damaged)
    first, second, third = run_jobs(jobs_of(plans, folders), data)
    assert isinstance(second, DivergedError)
    assert first.result.epochs > 1 < third.result.epochs
    again = run_jobs(jobs_of(plans, folders), data, Session(resume=True))
    assert isinstance(again[1], RunFolderError)
    assert "failed. The" in str(again[1])
    assert repr(again[0].result) == repr(first.result)


def test_a_run_is_kept_as_soon_as_it_ends(folders):
    plans = make_plans(patience=1, epochs=50, learning_rate=0.1)
    data = plans[0].load()
    states = []

    class Look(Callback):
        def after_epoch(self, epochs):
            records = [json.loads((folder.path / "run.json").read_text()) for folder in folders]
            states.append([record["status"] for record in records])

    results = run_jobs(jobs_of(plans, folders), data, Session(callbacks=[Look()]))
    assert len({result.result.epochs for result in results}) > 1
    assert "finished" in states[-1]
    assert "running" in states[-1]


def test_more_runs_than_folders_may_be_open(folders, monkeypatch):
    monkeypatch.setattr(module, "_MOST_OPEN", 2)
    plans = make_plans()
    data = plans[0].load()
    notes = Notes()
    results = run_jobs(jobs_of(plans, folders), data, Session(callbacks=[notes]))
    assert [result.plan.run.seed for result in results] == [0, 1, 2]
    assert sorted(set(notes.trained)) == sorted(notes.ended) == [0, 1, 2]


def test_what_cannot_be_built_leaves_no_folder_behind(folders):
    plans = make_plans(stop_on="roc_auc")
    with pytest.raises(ValueError, match="needs two classes"):
        run_jobs(jobs_of(plans, folders), plans[0].load())
    assert not any(folder.path.exists() for folder in folders)


def test_a_folder_of_another_run_stops_all(folders):
    plans = make_plans()
    data = plans[0].load()
    other = replace(plans[1], run=replace(plans[1].run, seed=7))
    run_job(Job(other, folders[1]), data)
    with pytest.raises(RunFolderError, match="its seed is 7, not 1"):
        run_jobs(jobs_of(plans, folders), data, Session(resume=True))


@pytest.mark.parametrize(
    ("model", "changes", "expected"),
    [
        ("akgnn", {}, True),
        ("akgnn", {"strategy": "consistency"}, True),
        ("akgnn", {"strategy": "drop-edge"}, False),
        ("gat", {}, False),
    ],
)
def test_what_can_be_stacked_trains_batched(model, changes, expected):
    plan = RunPlan.make(RunSettings(dataset="cora", model=model), changes)
    assert trains_batched(plan) is expected


FOLDED = RunPlan.make(
    RunSettings(dataset="csbm:num_nodes=100", split="60/20/20", split_seed=4),
    {"epochs": 3, "hidden_channels": 4},
)


def test_each_fold_is_the_run_on_its_split(tmp_path):
    plans = fold_plans(FOLDED, 3)
    folders = [RunFolder(tmp_path / f"fold-{fold}") for fold in range(3)]
    notes = Notes()
    outcomes = run_jobs(
        [with_own_split(job, FOLDED.load()) for job in jobs_of(plans, folders)],
        FOLDED.load(),
        Session(callbacks=[notes]),
    )
    assert notes.trained == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert notes.ended == [0, 1, 2]
    for plan, outcome, folder in zip(plans, outcomes, folders, strict=True):
        data = plan.load()
        assert data.split.name == f"{plan.run.split}-seed-4"
        assert outcome.facts == DataFacts.of(data)
        alone = run_job(Job(plan), data)
        assert outcome.result.history == alone.result.history
        assert load_run(folder.path).result == outcome.result


def test_finished_folds_are_not_trained_again(tmp_path):
    folders = [RunFolder(tmp_path / f"fold-{fold}") for fold in range(3)]
    plans, data = fold_plans(FOLDED, 3), FOLDED.load()
    run_job(Job(plans[0], folders[0]), plans[0].load())
    notes = Notes()
    run_jobs(
        [with_own_split(job, data) for job in jobs_of(plans, folders)],
        data,
        Session(resume=True, callbacks=[notes]),
    )
    assert set(notes.trained) == {1, 2}


def test_nothing_is_left_where_a_class_is_too_small(tmp_path):
    folders = [RunFolder(tmp_path / f"fold-{fold}") for fold in range(26)]
    with pytest.raises(DataError, match="25 labelled nodes, but 26 folds need at least 26"):
        run_jobs(
            [
                with_own_split(job, FOLDED.load())
                for job in jobs_of(fold_plans(FOLDED, 26), folders)
            ],
            FOLDED.load(),
        )
    assert names_in(tmp_path) == []


def test_one_fold_is_none():
    with pytest.raises(SettingsError, match="at least 2 folds, got 1"):
        fold_plans(FOLDED, 1)


@pytest.mark.parametrize("wrong", [3, Path("cora"), b"cora", ["cora"]])
def test_what_is_no_name_of_a_data_set_is_told(wrong):
    with pytest.raises(SettingsError, match=r"must be the name of a data set.*`nodes` and `edges`"):
        akgnn.train(wrong)


def test_a_label_without_tables_is_refused():
    with pytest.raises(SettingsError, match="Your own tables need `nodes`"):
        akgnn.train("cora", label="y")


def test_defaults_of_torch_that_models_cannot_have_are_told(tmp_path):
    name, settings = "csbm:num_nodes=60,num_features=4", {"epochs": 2}
    run = akgnn.train(name, settings=settings, out=tmp_path / "run")
    torch.set_default_device("meta")
    try:
        for work in (
            lambda: akgnn.train(name, settings=settings),
            lambda: akgnn.load_run(tmp_path / "run").model,
            lambda: akgnn.Graph.from_edge_index(torch.zeros(2, 1, dtype=torch.int64)),
        ):
            with pytest.raises(AkgnnError, match="meta"):
                work()
    finally:
        torch.set_default_device(None)
    torch.set_default_dtype(torch.float64)
    try:
        with pytest.raises(DeviceError, match=r"default dtype is torch\.float64"):
            akgnn.train(name, settings=settings)
    finally:
        torch.set_default_dtype(torch.float32)
    assert run.result.epochs == 2
