import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from akgnn.cli.main import main
from akgnn.errors import MissingExtraError, RunFolderError
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.trackers.mlflow import MLflow
from akgnn.training.history import History
from akgnn.training.result import FitResult

TOY = ["--dataset", "csbm:num_nodes=150", "--set", "epochs=4", "--set", "hidden_channels=8"]
PLAN = RunPlan.make(RunSettings(dataset="csbm:num_nodes=150"))


@pytest.fixture
def result():
    scores = ("test_accuracy", "val_accuracy", "val_loss", "train_accuracy")
    numbers = {"best_epoch": 1, "epochs": 1, "seconds": 1.0, "lambda_max": []}
    return FitResult.from_dict(dict.fromkeys(scores, 50.0) | numbers, History())


@pytest.fixture
def tracker(tmp_path):
    tracker = MLflow(tmp_path)
    tracker.open()
    return tracker


def runs(folder):
    # Only now: whoever imports it first decides whether it reports its use.
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")
    found = client.search_runs([client.get_experiment_by_name("akgnn").experiment_id])
    for run in found:
        points = client.get_metric_history(run.info.run_id, "loss/validation")
        yield run, [(point.step, point.value) for point in points]


def test_curves_settings_and_results_can_be_read_back(tmp_path, monkeypatch):
    # A server that the environment names is none of our business.
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    assert main(["train", *TOY, "--seeds", "2", "--track", f"mlflow:{tmp_path}"]) == 0
    found = list(runs(tmp_path))
    assert sorted(run.data.params["run.seed"] for run, _ in found) == ["0", "1"]
    for run, points in found:
        assert run.info.status == "FINISHED"
        assert [step for step, _ in points] == [1, 2, 3, 4]
        assert {"lambda_max/layer 5", "test_accuracy"} <= set(run.data.metrics)
        assert run.data.params["model.hidden_channels"] == "8"
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"


def test_a_run_that_goes_on_is_the_same_run_and_has_no_epoch_twice(tmp_path, tracker, result):
    tracker.begin("run", is_resumed=False)
    for number in (1, 2, 3):
        tracker.epoch("run", number, {"loss/validation": number})
    tracker.close()
    ((run, points),) = runs(tmp_path)
    assert run.info.status == "KILLED"
    assert len(points) == 3
    again = MLflow(tmp_path)
    again.open()
    again.begin("run", is_resumed=True)
    for number in (1, 2, 3, 4):
        again.epoch("run", number, {"loss/validation": number})
    again.end("run", PLAN, replace(result, epochs=4))
    again.close()
    ((run, points),) = runs(tmp_path)
    assert points == [(1, 1), (2, 2), (3, 3), (4, 4)]
    assert run.info.status == "FINISHED"


def test_a_new_run_of_the_same_name_is_another(tmp_path, tracker, result):
    for _ in range(2):
        tracker.begin("run", is_resumed=False)
        tracker.epoch("run", 1, {"loss/validation": 1})
        tracker.end("run", PLAN, result)
    assert [points for _, points in runs(tmp_path)] == [[(1, 1)], [(1, 1)]]


def test_a_run_that_goes_on_and_was_not_tracked_before_is_new(tmp_path, tracker):
    tracker.begin("run", is_resumed=True)
    tracker.epoch("run", 1, {"loss/validation": 1})
    tracker.close()
    assert [points for _, points in runs(tmp_path)] == [[(1, 1)]]


def test_many_numbers_are_written_in_parts(tmp_path, tracker):
    tracker.begin("run", is_resumed=False)
    for number in range(1, 1203):
        tracker.epoch("run", number, {"loss/validation": number})
    tracker.close()
    ((_, points),) = runs(tmp_path)
    assert len(points) == 1202


def test_a_database_that_is_none_is_named_in_one_line(tmp_path):
    (tmp_path / "mlflow.db").write_text("not a database")
    with pytest.raises(RunFolderError, match=r"MLflow cannot use .*mlflow\.db: ") as error:
        MLflow(tmp_path).open()
    assert "\n" not in str(error.value)


def test_a_kill_while_the_database_is_made_does_no_harm(tmp_path, monkeypatch):
    tracker = MLflow(tmp_path)
    client = tracker._make_client

    def killed(address):
        client(address)
        raise KeyboardInterrupt

    monkeypatch.setattr(tracker, "_make_client", killed)
    with pytest.raises(KeyboardInterrupt):
        tracker.open()
    assert not (tmp_path / "mlflow.db").exists()
    MLflow(tmp_path).open()
    assert list(runs(tmp_path)) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match=r"Cannot write to the folder .*file"):
        MLflow(tmp_path / "file" / "runs").open()


@pytest.mark.parametrize("package", ["mlflow.tracking", "sqlalchemy.exc"])
def test_the_extra_is_named_where_a_package_is_missing(package, monkeypatch):
    # Imported as a whole first: half of it would be left to the tests after this one.
    MLflow(Path("runs"))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"MLflow needs .*akgnn\[trackers\]"):
        MLflow(Path("runs"))


def test_a_pipe_in_place_of_the_database_is_not_tried_for_minutes(tmp_path):
    os.mkfifo(tmp_path / "mlflow.db")
    with pytest.raises(RunFolderError, match=r"MLflow cannot use .*mlflow\.db: it is no file"):
        MLflow(tmp_path).open()
