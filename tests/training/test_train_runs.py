import json
from dataclasses import replace

import pytest

from akgnn.errors import DivergedError, InterruptedRunError, RunFolderError
from akgnn.training import many
from akgnn.training import train_runs as module
from akgnn.training.checkpoint import RunFolder
from akgnn.training.plan import RunPlan, RunSettings
from akgnn.training.run import load_model, read_result
from akgnn.training.train_runs import train_run, train_runs

SETTINGS = {"epochs": 10, "patience": 3, "hidden_channels": 8, "num_layers": 2}


def make_plans(number=3, **changes):
    which = RunSettings(dataset="csbm:num_nodes=150,homophily=0.8")
    plan = RunPlan.make(which, {**SETTINGS, **changes})
    return [plan.with_seed(seed) for seed in range(number)]


@pytest.fixture
def folders(tmp_path):
    return [RunFolder(tmp_path / f"seed-{seed}") for seed in range(3)]


@pytest.fixture(autouse=True)
def side_by_side(monkeypatch):
    """Whether the runs went side by side must not depend on a measure of memory."""
    monkeypatch.setattr(many, "most_at_once", lambda *_: 10)


def assert_alike(one, other):
    """The same run up to the rounding of float32."""
    assert one.plan == other.plan
    assert one.fit.history.val_loss == pytest.approx(other.fit.history.val_loss, rel=1e-4)
    assert (one.fit.best_epoch, one.fit.epochs) == (other.fit.best_epoch, other.fit.epochs)
    assert one.fit.test_accuracy == pytest.approx(other.fit.test_accuracy, abs=1)


@pytest.mark.parametrize("changes", [{}, {"kernel": "signed"}])
def test_every_folder_holds_the_run_of_its_seed(folders, changes):
    plans = make_plans(**changes)
    data = plans[0].load()
    results = train_runs(plans, data, folders)
    for plan, folder, result in zip(plans, folders, results, strict=True):
        assert result.plan == plan
        assert repr(read_result(folder).fit) == repr(result.fit)
        assert_alike(result, train_run(plan, data))
        _, model = load_model(folder)
        found = model.neighbour_share(data.graph).view(-1).tolist()
        assert found == pytest.approx(list(result.fit.neighbour_share), abs=1e-6)


@pytest.mark.parametrize("changes", [{}, {"kernel": "signed"}])
def test_a_stop_keeps_every_run_and_resuming_ends_them_all(folders, changes):
    plans = make_plans(**changes)
    data = plans[0].load()
    whole = train_runs(plans, data)
    asked = iter(range(1, 100))
    with pytest.raises(InterruptedRunError, match="Stopped after epoch 4"):
        train_runs(plans, data, folders, should_stop=lambda: next(asked) >= 4)
    for folder in folders:
        record = json.loads((folder.path / "run.json").read_text())
        assert record["status"] == "running"
        assert len(record["history"]["val_loss"]) == 4
    # One goes on alone for some epochs, so that the three are at different ones.
    asked = iter(range(1, 100))
    with pytest.raises(InterruptedRunError):
        train_run(plans[1], data, folders[1], resume=True, should_stop=lambda: next(asked) >= 3)
    resumed = train_runs(plans, data, folders, resume=True)
    for one, other in zip(resumed, whole, strict=True):
        assert_alike(one, other)


def test_finished_runs_are_not_trained_again(folders):
    plans = make_plans()
    data = plans[0].load()
    one = train_run(plans[1], data, folders[1])
    places = set()
    results = train_runs(
        plans, data, folders, resume=True, after_epoch=lambda place, history: places.add(place)
    )
    assert places == {0, 2}
    assert repr(results[1].fit) == repr(one.fit)


def test_a_run_that_diverges_is_remembered_and_the_others_end(folders, monkeypatch):
    plans = make_plans()
    data = plans[0].load()
    build = RunPlan.build

    def damaged(plan, data):
        model = build(plan, data)
        if plan.which.seed == 1:
            model.layers[0].phi.data.fill_(float("nan"))
        return model

    monkeypatch.setattr(RunPlan, "build", damaged)
    first, second, third = train_runs(plans, data, folders)
    assert isinstance(second, DivergedError)
    assert first.fit.epochs > 1 < third.fit.epochs
    again = train_runs(plans, data, folders, resume=True)
    assert isinstance(again[1], RunFolderError)
    assert "failed. The" in str(again[1])
    assert repr(again[0].fit) == repr(first.fit)


def test_a_run_is_kept_as_soon_as_it_ends(folders):
    plans = make_plans(patience=1, epochs=50, learning_rate=0.1)
    data = plans[0].load()
    states = []

    def look(place, history):
        records = [json.loads((folder.path / "run.json").read_text()) for folder in folders]
        states.append([record["status"] for record in records])

    results = train_runs(plans, data, folders, after_epoch=look)
    assert len({result.fit.epochs for result in results}) > 1
    assert "finished" in states[-1]
    assert "running" in states[-1]


def test_more_runs_than_folders_may_be_open(folders, monkeypatch):
    monkeypatch.setattr(module, "_MOST_OPEN", 2)
    plans = make_plans()
    data = plans[0].load()
    shown = []
    results = train_runs(plans, data, folders, after_epoch=lambda place, _: shown.append(place))
    assert [result.plan.which.seed for result in results] == [0, 1, 2]
    assert sorted(set(shown)) == [0, 1, 2]


def test_what_cannot_be_built_leaves_no_folder_behind(folders):
    plans = make_plans(stop_on="roc_auc")
    with pytest.raises(ValueError, match="needs two classes"):
        train_runs(plans, plans[0].load(), folders)
    assert not any(folder.path.exists() for folder in folders)


def test_a_folder_of_another_run_stops_all(folders):
    plans = make_plans()
    data = plans[0].load()
    other = replace(plans[1], which=replace(plans[1].which, seed=7))
    train_run(other, data, folders[1])
    with pytest.raises(RunFolderError, match="its seed is 7, not 1"):
        train_runs(plans, data, folders, resume=True)
