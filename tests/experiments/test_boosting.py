import math

import pytest

from akgnn.cli.main import main
from akgnn.data.catalogue import load_dataset
from akgnn.errors import SettingsError
from akgnn.experiments import runner
from akgnn.experiments.boosting import boosted_run
from akgnn.experiments.record import Record
from akgnn.experiments.results import collect
from akgnn.experiments.runner import batches_of, do_run, missing, run_tasks, tasks_of
from akgnn.experiments.spec_files import read_spec
from akgnn.experiments.store import RecordStore
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.training.metrics import METRICS, accuracy
from worker_tasks import in_this_process

DATASET = "csbm:num_nodes=120,num_classes=2"
SPEC = f"""title = "Beside trees"
datasets = ["{DATASET}"]
seeds = 2

[[rows]]
label = "SGC"
model = "sgc"
set = {{ epochs = 3 }}

[[rows]]
label = "Trees"
model = "gradient-boosting"
set = {{ rounds = 4 }}
"""


def plan_of(**changes):
    run = RunSettings(dataset=DATASET, model="gradient-boosting")
    return RunPlan.make(run, {"rounds": 4, **changes})


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "trees.toml"
    path.write_text(SPEC)
    return read_spec(path)


def test_a_study_has_trees_as_a_row(spec, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "share_out", in_this_process)
    store, tasks = RecordStore(tmp_path / "results"), tasks_of([spec])
    # Trees grow one run at a time.
    assert sorted(len(batch) for batch in batches_of(tasks, 1)) == [1, 1, 2]
    with store.locked():
        run_tasks(tasks, store, num_workers=1)
    records = store.read().records
    assert missing(tasks, records) == []
    sgc, trees = collect(spec, records)
    assert len(trees.finished) == len(sgc.finished) == 2
    assert all(record.metrics.keys() == sgc.finished[0].metrics.keys() for record in trees.finished)
    assert trees.summary is not None


def test_the_record_has_every_metric_and_reads_back():
    record = do_run(plan_of(stop_on="roc_auc"), "cpu")
    assert record.is_finished
    scores = [f"{part}_{name}" for part in ("test", "val") for name in METRICS]
    assert all(math.isfinite(record.metrics[name]) for name in scores)
    assert record.metrics["epochs"] <= 4
    assert record.seconds > 0
    assert "leaves" in record.environment["chosen"]
    again = Record.from_line(record.to_line())
    assert again.plan == record.plan
    assert again.score("test", "roc_auc") == pytest.approx(record.score("test", "roc_auc"), 1e-5)


def test_a_search_reads_no_test_node():
    record = do_run(plan_of(), "cpu", is_search=True)
    assert record.is_finished
    assert record.is_search
    assert math.isnan(record.test_accuracy)


def test_it_is_scored_like_a_network():
    data = load_dataset(DATASET)
    run, _ = boosted_run(plan_of(rounds=50), data)
    majority = 100 * float((data.y == data.y.mode().values).float().mean())
    assert run.result.test_accuracy > majority
    assert accuracy(data.y, data.y) == 100 == run.result.train_accuracy
    assert run.result.temperature > 0


def test_what_trees_do_not_have_is_a_record_that_says_so():
    record = do_run(plan_of(strategy="consistency"), "cpu")
    assert "needs strategy='supervised'" in record.error
    with pytest.raises(SettingsError, match="needs two classes"):
        boosted_run(plan_of(stop_on="roc_auc"), load_dataset("csbm:num_nodes=120,num_classes=3"))


def test_its_command_is_that_of_the_study(spec):
    (cell,) = (cell for cell in spec.cells if cell.row.model == "gradient-boosting")
    assert cell.command(2) == "akgnn reproduce, with the rest of the study"


def test_akgnn_train_refuses_it_in_a_line(tmp_path, capsys):
    out = tmp_path / "run"
    options = ["--dataset", DATASET, "--model", "gradient-boosting", "--out", str(out)]
    assert main(["train", *options]) == 2
    error = capsys.readouterr().err
    assert "no network" in error
    assert error.count("\n") == 1
    assert not out.exists()
