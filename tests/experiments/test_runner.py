import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from akgnn.errors import DataError
from akgnn.experiments import runner
from akgnn.experiments.record import failed_record
from akgnn.experiments.results import against_row, collect
from akgnn.experiments.runner import (
    batches_of,
    do_run,
    do_runs,
    missing,
    run_tasks,
    tasks_of,
    workers_for,
)
from akgnn.experiments.spec_files import read_spec
from akgnn.experiments.store import RecordStore
from akgnn.experiments.workers import Death, share_out
from akgnn.machine import memory
from akgnn.runs.plan import RunPlan, RunSettings
from worker_tasks import in_this_process

SPEC = """title = "Small"
datasets = ["csbm:num_nodes=120"]
seeds = 3
{history}
[[rows]]
label = "SGC"
model = "sgc"
set = {{ epochs = 4 }}

[[rows]]
label = "GCN"
model = "gcn"
set = {{ epochs = 4, {more} }}
"""


@pytest.fixture(autouse=True)
def _no_workers(monkeypatch):
    monkeypatch.setattr(runner, "share_out", in_this_process)


@pytest.fixture
def spec(tmp_path):
    def spec(history="", more="hidden_channels = 4"):
        file = tmp_path / "small.toml"
        file.write_text(SPEC.format(history=history, more=more))
        return read_spec(file)

    return spec


def run(spec, store, **options):
    tasks = missing(tasks_of([spec]), store.read().records)
    with store.locked():
        return run_tasks(tasks, store, num_workers=1, **options)


def test_what_is_there_is_not_trained_again(spec, tmp_path):
    store = RecordStore(tmp_path / "results")
    shown = []
    assert len(run(spec(), store, after_run=shown.append)) == 6
    assert [progress.done for progress in shown] == [1, 2, 3, 4, 5, 6]
    assert shown[-1].seconds_left == 0
    assert run(spec(), store) == []
    # Other settings of one row: only that row is missing.
    assert len(run(spec(more="hidden_channels = 5"), store)) == 3
    # The history is asked for and was not kept.
    kept = run(spec(history="keep_history = true"), store)
    assert len(kept) == 6
    assert all(record.history is not None for record in kept)
    assert run(spec(history="keep_history = true"), store) == []


def test_experiments_share_their_runs(spec):
    once, twice = tasks_of([spec()]), tasks_of([spec(), spec(history="keep_history = true")])
    assert len(once) == len(twice) == 6
    assert all(task.keeps_history for task in twice)


def test_a_record_without_the_score_of_choices_is_missing_where_a_row_chooses(spec, tmp_path):
    tried = spec(more="hidden_channels = 4 }\ntries = [{}, { hidden_channels = 5 }]\n# {")
    store = RecordStore(tmp_path / "results")
    records = run(tried, store)
    old = [
        replace(record, metrics={n: v for n, v in record.metrics.items() if n != "val_log_loss"})
        for record in records
    ]
    assert missing(tasks_of([tried]), records) == []
    again = missing(tasks_of([tried]), old)
    assert 0 < len(again) < len(records)
    assert all(task.is_compared for task in again)


def test_a_run_that_fails_is_recorded_and_does_not_stop_the_rest(spec, tmp_path):
    store = RecordStore(tmp_path / "results")
    records = run(spec(more="learning_rate = 1e30"), store)
    failed = [record for record in records if not record.is_finished]
    assert len(records) == 6
    assert len(failed) == 3
    assert "learning rate" in failed[0].error
    assert run(spec(more="learning_rate = 1e30"), store) == []
    again = missing(tasks_of([spec(more="learning_rate = 1e30")]), records, retry_failed=True)
    assert {task.plan for task in again} == {record.plan for record in failed}


def test_a_search_never_sees_the_test_nodes(spec, tmp_path):
    store = RecordStore(tmp_path / "results")
    run(spec(), store)
    searched = run(spec(history="search = true"), store)
    assert len(searched) == 6
    assert all("-without-test:" in record.data.split for record in searched)
    assert all(
        "test_accuracy" not in r.metrics or r.test_accuracy != r.test_accuracy for r in searched
    )
    assert run(spec(history="search = true"), store) == []
    assert run(spec(), store) == []
    records = store.read().records
    (sgc, _), (searched_sgc, _) = (
        collect(spec(), records),
        collect(spec(history="search = true"), records),
    )
    assert sgc.val_score == pytest.approx(searched_sgc.val_score)
    assert sgc.summary.mean > 0


def test_a_failed_run_answers_a_search_and_the_history_too(spec):
    tasks = [
        task
        for text in ("", "keep_history = true", "search = true")
        for task in tasks_of([spec(text)])
    ]
    failed = [failed_record(t.plan, "no", versions={}, environment={}) for t in tasks_of([spec()])]
    assert len(tasks) == 18
    assert missing(tasks, failed[1:]) == [task for task in tasks if task.plan == failed[0].plan]
    assert missing(tasks, failed, retry_failed=True) == tasks


def test_draws_are_found_again_in_the_records(spec, tmp_path):
    file = tmp_path / "drawn.toml"
    text = SPEC.format(history="draws = 2", more="hidden_channels = 4")
    file.write_text(text.replace("num_nodes=120", "num_nodes=120,seed=#"))
    drawn, store = read_spec(file), RecordStore(tmp_path / "results")
    assert len(run(drawn, store)) == 6
    assert run(drawn, store) == []
    records = store.read().records
    sgc, gcn = collect(drawn, records)
    assert list(sgc.scores) == list(gcn.scores) == [0, 1, 2]
    assert [r.plan.run.dataset[-1] for r in sgc.finished] == ["0", "1", "0"]
    first, second, third = (record.data.split for record in sgc.finished)
    assert first == third != second
    compared = against_row([sgc, gcn], "SGC")
    assert compared["GCN", "csbm:num_nodes=120,seed=#"].design == "paired, 3"
    # A spec of draw 0 alone shares the runs of seeds 0 and 2.
    file.write_text(text.replace("draws = 2", "").replace("num_nodes=120", "num_nodes=120,seed=0"))
    assert [list(result.scores) for result in collect(read_spec(file), records)] == [[0, 2]] * 2


def test_a_data_set_of_pyg_is_unpacked_once_before_the_workers_start(monkeypatch, tmp_path):
    unpacked = []

    def load(name, data_root):
        unpacked.append(name)
        raise DataError("not here")

    monkeypatch.setattr(runner, "load_pyg", load)
    file = tmp_path / "small.toml"
    text = SPEC.format(history="", more="hidden_channels = 4")
    file.write_text(text.replace('["csbm:num_nodes=120"]', '["texas", "csbm:num_nodes=120"]'))
    records = run(read_spec(file), RecordStore(tmp_path / "results"), data_root=tmp_path / "none")
    assert unpacked == ["texas"]
    # What is wrong is in the records; other data sets are not held up.
    assert {r.plan.run.dataset for r in records if r.error} == {"texas"}


def test_seeds_of_one_plan_are_shared_out_evenly(spec):
    tasks = tasks_of([spec()], seeds=5)
    batches = batches_of(tasks, 2)
    assert [task for batch in batches for task in batch] == tasks
    assert [(b[0].plan.run.model, [t.plan.run.seed for t in b]) for b in batches] == [
        ("sgc", [0, 1, 2]),
        ("sgc", [3, 4]),
        ("gcn", [0, 1, 2]),
        ("gcn", [3, 4]),
    ]
    many = tasks_of([spec()], seeds=45)
    assert [len(batch) for batch in batches_of(many, 1)] == [20, 20, 5] * 2
    assert [len(batch) for batch in batches_of(many, 1, 200)] == [45] * 2


def test_what_cannot_be_stacked_or_differs_in_more_goes_alone(spec, tmp_path):
    one = spec(more='strategy = "drop-edge"')
    assert [len(batch) for batch in batches_of(tasks_of([one]), 1)] == [3, 1, 1, 1]
    both = tasks_of([spec(), spec(history="search = true")])
    assert all(len({task.is_search for task in batch}) == 1 for batch in batches_of(both, 1))
    file = tmp_path / "drawn.toml"
    text = SPEC.format(history="draws = 3", more="hidden_channels = 4")
    file.write_text(text.replace("num_nodes=120", "num_nodes=120,seed=#"))
    assert all(len(batch) == 1 for batch in batches_of(tasks_of([read_spec(file)]), 1))


def test_records_of_workers_say_how_many_trained_side_by_side(spec, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "share_out", share_out)
    records = run(spec(), RecordStore(tmp_path / "results"))
    assert [record.environment["side_by_side"] for record in records] == [3] * 6
    assert all(record.seconds > 0 for record in records)
    assert [record.seed for record in records] == [0, 1, 2] * 2


@pytest.mark.parametrize("trouble", ["death", "no records", "some records"])
def test_what_a_batch_leaves_is_trained_alone(spec, tmp_path, monkeypatch, trouble):
    sizes = []

    def share_out(function, batches, number, should_stop, before_task):
        for batch in batches:
            sizes.append(len(batch))
            if len(batch) == 1:
                yield batch, function(batch)
            elif trouble == "death":
                yield batch, Death("killed")
            else:
                yield batch, function(batch[:1]) if trouble == "some records" else []

    monkeypatch.setattr(runner, "share_out", share_out)
    shown = []
    records = run(spec(), RecordStore(tmp_path / "results"), after_run=shown.append)
    assert sizes == ([3, 3, 1, 1, 1, 1] if trouble == "some records" else [3, 3] + [1] * 6)
    assert all(record.is_finished for record in records)
    assert {(r.plan.run.model, r.seed) for r in records} == {
        (model, seed) for model in ("sgc", "gcn") for seed in range(3)
    }
    assert [progress.done for progress in shown] == [1, 2, 3, 4, 5, 6]


def test_a_run_that_its_worker_dies_of_alone_is_recorded(spec, tmp_path, monkeypatch):
    def share_out(function, batches, number, should_stop, before_task):
        return ((batch, Death("killed")) for batch in batches)

    monkeypatch.setattr(runner, "share_out", share_out)
    records = run(spec(), RecordStore(tmp_path / "results"))
    assert [record.error for record in records] == ["killed"] * 6


@pytest.mark.parametrize(("gibibytes", "number"), [(141, 6), (8, 2), (2, 1)])
def test_a_small_gpu_has_fewer_workers(monkeypatch, gibibytes, number):
    card = SimpleNamespace(total_memory=gibibytes * 2**30)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: card)
    monkeypatch.setattr(runner, "cores", lambda: 6)
    assert workers_for("cuda") == number
    assert workers_for("cpu") == 6


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

    monkeypatch.setattr(runner, "run_job", fail)
    record = do_run(PLAN, "cpu")
    assert record.error == says
    assert json.loads(record.to_line())["error"] == says


def test_a_mistake_in_the_code_is_not_a_failed_run(monkeypatch):
    def fail(*_):
        raise TypeError("a mistake")

    monkeypatch.setattr(runner, "run_job", fail)
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

    monkeypatch.setattr(runner, "run_jobs", fail)
    assert do_runs(SEEDS, "cpu") == []


def test_where_no_two_fit_side_by_side_the_first_is_trained(monkeypatch):
    monkeypatch.setattr(runner, "runs_at_once", lambda *_: 1)
    (record,) = do_runs(SEEDS, "cpu")
    assert record.plan == SEEDS[0]
    assert "side_by_side" not in record.environment
