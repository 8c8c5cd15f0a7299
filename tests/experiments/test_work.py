import json

import pytest
import torch

from akgnn.errors import DataError
from akgnn.experiments import work
from akgnn.experiments.work import do_run, do_runs
from akgnn.machine import memory
from akgnn.runs.plan import RunPlan, RunSettings

PLAN = RunPlan.make(RunSettings(dataset="csbm:num_nodes=100"), {"epochs": 3, "hidden_channels": 4})


def test_a_record_says_everything():
    record = do_run(PLAN, "cpu")
    assert record.is_finished
    assert record.plan == PLAN
    assert record.data.split.startswith("random-10-10-80-seed-0:")
    assert {"python", "akgnn", "torch", "numpy", "platform"} <= set(record.versions)
    assert record.environment["device"] == "cpu"
    assert record.environment["threads"] >= 1
    assert len(record.lambda_max) == 5
    assert 0 <= record.test_accuracy <= 100
    assert record.seconds > 0
    assert 50 < record.peak_memory < 20_000
    assert len(record.history) == 3


def test_a_run_is_what_its_plan_says_whatever_ran_before():
    first = do_run(PLAN.with_seed(4), "cpu")
    do_run(PLAN.with_seed(5), "cpu", is_search=True)
    again = do_run(PLAN.with_seed(4), "cpu")
    assert first.seed == 4
    assert (first.metrics, first.lambda_max) == (again.metrics, again.lambda_max)


def test_a_search_has_no_test_nodes():
    record = do_run(PLAN, "cpu", is_search=True)
    assert record.is_search
    assert "-without-test:" in record.data.split
    assert record.test_accuracy != record.test_accuracy
    assert record.metrics["val_accuracy"] == do_run(PLAN, "cpu").metrics["val_accuracy"]


def test_a_run_that_diverges_is_a_record_with_its_reason():
    plan = RunPlan.make(PLAN.run, {"epochs": 3, "learning_rate": 1e30})
    record = do_run(plan, "cpu")
    assert not record.is_finished
    assert "learning rate" in record.error
    assert (record.plan, record.metrics, record.history) == (plan, {}, None)
    assert record.environment["device"] == "cpu"
    assert "torch" in record.versions


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (torch.OutOfMemoryError("CUDA out of memory.\nTried to"), "CUDA out of memory."),
        (MemoryError(), "MemoryError"),
        (OSError(28, "No space left on device"), "[Errno 28] No space left on device"),
    ],
)
def test_the_reason_is_the_first_line_or_else_the_kind_of_error(error, says, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr(work, "train_run", fail)
    record = do_run(PLAN, "cpu")
    assert record.error == says
    assert json.loads(record.to_line())["error"] == says


def test_a_mistake_in_the_code_is_not_a_failed_run(monkeypatch):
    def fail(*_):
        raise TypeError("a mistake")

    monkeypatch.setattr(work, "train_run", fail)
    with pytest.raises(TypeError, match="a mistake"):
        do_run(PLAN, "cpu")


def test_the_peak_is_that_of_this_run_not_of_those_before(tmp_path, monkeypatch):
    status, reset = tmp_path / "status", tmp_path / "clear_refs"
    status.write_text("Name:\tpython\nVmPeak:\t  999999 kB\nVmHWM:\t  307200 kB\n")
    monkeypatch.setattr(memory, "_STATUS", status)
    monkeypatch.setattr(memory, "_RESET", reset)
    # 307200 KiB are 300 MiB; 5 is what resets the peak under Linux.
    assert do_run(PLAN, "cpu").peak_memory == 300
    assert reset.read_text() == "5"


SEEDS = [PLAN.with_seed(seed) for seed in (3, 5)]


@pytest.mark.parametrize("is_search", [False, True])
def test_seeds_side_by_side_have_the_records_of_each_alone(is_search):
    records = do_runs(SEEDS, "cpu", is_search=is_search)
    for plan, record in zip(SEEDS, records, strict=True):
        alone = do_run(plan, "cpu", is_search=is_search)
        assert record.plan == plan
        assert record.environment["side_by_side"] == 2
        assert "side_by_side" not in alone.environment
        assert record.data == alone.data
        assert record.is_search == is_search
        assert record.metrics == pytest.approx(alone.metrics, rel=1e-4, nan_ok=True)
        assert record.lambda_max == pytest.approx(alone.lambda_max)
        assert len(record.history) == 3


def test_seeds_that_diverge_have_records_of_their_own():
    plan = RunPlan.make(PLAN.run, {"epochs": 3, "learning_rate": 1e30})
    records = do_runs([plan.with_seed(seed) for seed in (0, 1)], "cpu")
    assert ["learning rate" in record.error for record in records] == [True, True]


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("no room"), DataError("no such file")])
def test_what_goes_wrong_with_all_leaves_them_to_be_trained_alone(error, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr(work, "train_runs", fail)
    assert do_runs(SEEDS, "cpu") == []


def test_where_no_two_fit_side_by_side_the_first_is_trained(monkeypatch):
    monkeypatch.setattr(work, "runs_at_once", lambda *_: 1)
    (record,) = do_runs(SEEDS, "cpu")
    assert record.plan == SEEDS[0]
    assert "side_by_side" not in record.environment
