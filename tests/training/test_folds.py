import pytest

from akgnn.errors import DataError, SettingsError
from akgnn.training.checkpoint import RunFolder
from akgnn.training.folds import fold_plans, train_folds
from akgnn.training.plan import RunPlan, RunSettings
from akgnn.training.run import describe, read_result
from akgnn.training.train_runs import train_run

PLAN = RunPlan.make(
    RunSettings(dataset="csbm:num_nodes=100", split_seed=4), {"epochs": 3, "hidden_channels": 4}
)


def test_each_fold_is_the_run_on_its_split(tmp_path):
    plans = fold_plans(PLAN, 3)
    folders = [RunFolder(tmp_path / f"fold-{fold}") for fold in range(3)]
    seen = []
    outcomes = train_folds(
        plans, PLAN.load(), folders, after_epoch=lambda place, history: seen.append(place)
    )
    assert seen == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    for plan, outcome, folder in zip(plans, outcomes, folders, strict=True):
        data = plan.load()
        assert data.split.name == f"{plan.which.split}-seed-4"
        assert outcome.data == describe(data)
        alone = train_run(plan, data)
        assert outcome.fit.history == alone.fit.history
        assert read_result(folder).fit == outcome.fit


def test_finished_folds_are_not_trained_again(tmp_path):
    folders = [RunFolder(tmp_path / f"fold-{fold}") for fold in range(3)]
    plans, data = fold_plans(PLAN, 3), PLAN.load()
    train_run(plans[0], plans[0].load(), folders[0])
    seen = []
    train_folds(
        plans, data, folders, resume=True, after_epoch=lambda place, history: seen.append(place)
    )
    assert set(seen) == {1, 2}


def test_nothing_is_left_where_a_class_is_too_small(tmp_path):
    folders = [RunFolder(tmp_path / f"fold-{fold}") for fold in range(26)]
    with pytest.raises(DataError, match="25 labelled nodes, but 26 folds need at least 26"):
        train_folds(fold_plans(PLAN, 26), PLAN.load(), folders)
    assert list(tmp_path.iterdir()) == []


def test_one_fold_is_none():
    with pytest.raises(SettingsError, match="at least 2 folds, got 1"):
        fold_plans(PLAN, 1)
