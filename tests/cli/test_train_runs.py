import io

import pytest

from akgnn.cli import train_runs
from akgnn.errors import DivergedError
from akgnn.runs.plan import RunPlan, RunSettings

PLAN = RunPlan.make(RunSettings(dataset="csbm:num_nodes=60"), {"epochs": 3, "hidden_channels": 4})


def trained(plans, folds=None):
    data = PLAN.load()
    progress = train_runs.progress_of(plans[0], len(plans), watch=False)
    folders = [None] * len(plans)
    return train_runs.train_plans(plans, (), data, folders, folds, False, 5.0, (), None, progress)


def test_every_plan_becomes_a_run():
    runs = trained([PLAN, PLAN.with_seed(1)])
    assert [run.plan.run.seed for run in runs] == [0, 1]


def test_the_seed_that_diverged_is_named():
    wild = RunPlan.make(PLAN.run, {"epochs": 3, "learning_rate": 1e30})
    with pytest.raises(DivergedError, match=r"^Seed 0: "):
        trained([wild, wild.with_seed(1)])


def test_where_nothing_can_be_drawn_watching_says_so(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    shown = train_runs.progress_of(PLAN, 1, watch=True)
    assert not shown.is_drawn
