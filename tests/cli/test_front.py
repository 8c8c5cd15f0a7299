import io

import pytest

from akgnn.cli.front import progress_of
from akgnn.errors import DivergedError
from akgnn.runs.outcomes import carry_out
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.request import Request

DATA = "csbm:num_nodes=60"


def test_the_seed_that_diverged_is_named():
    wild = Request(DATA, seeds=2, settings={"epochs": 3, "learning_rate": 1e30})
    with pytest.raises(DivergedError, match=r"^Seed 0: "):
        carry_out(wild)


def test_where_nothing_can_be_drawn_watching_says_so(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    shown = progress_of(RunPlan.make(RunSettings(dataset=DATA)), 1, watch=True)
    assert not shown.is_drawn
