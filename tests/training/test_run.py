import json
import math
from dataclasses import replace

import pytest
import torch

from akgnn.data.splits import Split
from akgnn.errors import (
    CheckpointError,
    DivergedError,
    InterruptedRunError,
    RunFolderError,
    SettingsError,
)
from akgnn.models.registry import MODELS
from akgnn.training.checkpoint import RunFolder
from akgnn.training.plan import RunPlan, RunSettings
from akgnn.training.run import load_model, metrics_of, read_result
from akgnn.training.train_runs import train_run
from run_files import rewrite

DATASET = "csbm:num_nodes=200,homophily=0.8"


def make_plan(seed=0, **changes):
    settings = {"epochs": 12, "hidden_channels": 8, **changes}
    return RunPlan.make(RunSettings(dataset=DATASET, seed=seed), settings)


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path / "run")


def stop_after(epochs):
    """A question that is answered with yes from the n-th time on."""
    asked = iter(range(1, 1000))
    return lambda: next(asked) >= epochs


def same(one, other):
    """Whether two runs came to the same but for the time; as text, where NaN equals NaN."""
    return repr(replace(one.fit, seconds=0.0)) == repr(replace(other.fit, seconds=0.0))


def identical(one, other):
    return (one.plan, one.data, repr(one.fit)) == (other.plan, other.data, repr(other.fit))


def test_a_finished_run_can_be_read_again(folder):
    plan = make_plan()
    result = train_run(plan, plan.load(), folder)
    assert identical(read_result(folder), result)
    assert sorted(item.name for item in folder.path.iterdir()) == [
        "epochs.jsonl",
        "run.json",
        "weights.safetensors",
    ]


def test_the_record_says_everything(folder):
    plan = make_plan(seed=4)
    train_run(plan, plan.load(), folder)
    record = json.loads((folder.path / "run.json").read_text())
    assert record["status"] == "finished"
    assert record["settings"]["run"]["seed"] == 4
    assert record["settings"]["model"]["hidden_channels"] == 8
    assert record["settings"]["training"]["epochs"] == 12
    assert record["data"]["split"] == plan.load().split.label
    assert record["data"]["class_names"] == ["0", "1", "2", "3"]
    assert {"python", "akgnn", "torch", "numpy"} <= set(record["versions"])
    assert len(record["history"]["val_loss"]) == record["result"]["epochs"] == 12
    assert len(record["result"]["lambda_max"]) == 5


def test_the_kept_model_predicts_as_the_trained_one(folder):
    plan = make_plan()
    data = plan.load()
    result = train_run(plan, data, folder)
    again, model = load_model(folder)
    assert identical(again, result)
    nodes = data.split.test
    with torch.no_grad():
        predicted = model(data.x, data.graph)[nodes].argmax(1)
    assert 100 * float((predicted == data.y[nodes]).double().mean()) == pytest.approx(
        result.fit.test_accuracy
    )


@pytest.mark.parametrize("epochs", [1, 5])
def test_an_interrupted_run_goes_on_to_the_same_end(folder, epochs):
    plan = make_plan()
    whole = train_run(plan, plan.load())
    with pytest.raises(InterruptedRunError, match=f"Stopped after epoch {epochs}"):
        train_run(plan, plan.load(), folder, should_stop=stop_after(epochs))
    with pytest.raises(RunFolderError, match="has not finished"):
        read_result(folder)
    assert same(train_run(plan, plan.load(), folder, resume=True), whole)
    assert same(read_result(folder), whole)


@pytest.mark.parametrize("epochs", [3, 12, 13, 30, 35])
def test_a_run_of_several_starts_goes_on_to_the_same_end(folder, epochs):
    plan = make_plan(kernel="signed")
    whole = train_run(plan, plan.load())
    assert sum(start.epochs for start in whole.fit.starts) == 36
    with pytest.raises(InterruptedRunError):
        train_run(plan, plan.load(), folder, should_stop=stop_after(epochs))
    assert same(train_run(plan, plan.load(), folder, resume=True), whole)
    assert same(read_result(folder), whole)


def test_states_are_kept_on_the_way(folder):
    plan = make_plan()
    seen = []

    def look(history):
        kept = folder.read_snapshot(folder.read())
        seen.append(0 if kept is None else len(kept.history))

    train_run(plan, plan.load(), folder, checkpoint_seconds=0.0, after_epoch=look)
    assert seen == list(range(12))


def test_a_run_with_no_epoch_kept_starts_anew(folder):
    plan = make_plan()
    folder.prepare()
    data = plan.load()
    whole = train_run(plan, data)
    with pytest.raises(ZeroDivisionError):
        train_run(plan, data, folder, after_epoch=lambda history: 1 / 0)
    assert folder.read_snapshot(folder.read()) is None
    assert same(train_run(plan, data, folder, resume=True), whole)


def test_resuming_a_finished_run_shows_its_result(folder):
    plan = make_plan()
    result = train_run(plan, plan.load(), folder)
    again = train_run(plan, plan.load(), folder, resume=True, after_epoch=lambda history: 1 / 0)
    assert identical(again, result)


def test_resuming_where_nothing_is_starts_a_run(folder):
    plan = make_plan()
    assert same(train_run(plan, plan.load(), folder, resume=True), train_run(plan, plan.load()))


def test_another_run_is_not_overwritten(folder):
    plan = make_plan()
    train_run(plan, plan.load(), folder)
    with pytest.raises(RunFolderError, match="holds a run already"):
        train_run(plan, plan.load(), folder)
    other = make_plan(seed=1)
    with pytest.raises(RunFolderError, match="holds another run: its seed is 0, not 1"):
        train_run(other, other.load(), folder, resume=True)
    deeper = make_plan(num_layers=2)
    with pytest.raises(RunFolderError, match="its num_layers is 5, not 2"):
        train_run(deeper, deeper.load(), folder, resume=True)


def test_weights_of_another_model_are_refused(folder, tmp_path):
    plan, wider = make_plan(), make_plan(hidden_channels=9)
    train_run(plan, plan.load(), folder)
    other = RunFolder(tmp_path / "other")
    train_run(wider, wider.load(), other)
    content = folder.read()
    del content["format"]
    folder.write(content, other.read_weights(other.read()), "weights.safetensors")
    with pytest.raises(CheckpointError, match="do not fit the model"):
        load_model(folder)


def test_an_incomplete_record_is_refused(folder):
    folder.prepare()
    folder.write({"status": "finished", "result": {}}, None)
    with pytest.raises(CheckpointError, match="'test_accuracy' is missing"):
        read_result(folder)


def test_a_failed_run_is_remembered_as_failed(folder):
    plan = make_plan(learning_rate=1e30)
    with pytest.raises(DivergedError):
        train_run(plan, plan.load(), folder)
    with pytest.raises(RunFolderError, match=r"failed\. The \w+ loss became nan at epoch \d+"):
        train_run(plan, plan.load(), folder, resume=True)


def test_a_run_without_test_nodes_is_kept_as_valid_json(folder):
    plan = make_plan()
    data = plan.load()
    data = data.with_split(Split("no-test", data.split.train, data.split.val, data.y[:0]))
    train_run(plan, data, folder)
    text = (folder.path / "run.json").read_text()
    assert "NaN" not in text
    assert read_result(folder).fit.test_accuracy != read_result(folder).fit.test_accuracy


@pytest.mark.parametrize("model", MODELS)
def test_every_model_trains_repeats_and_resumes(folder, model):
    settings = RunSettings(dataset="csbm:num_nodes=100", model=model, seed=1)
    plan = RunPlan.make(settings, {"epochs": 4, "patience": 4})
    data = plan.load()
    whole = train_run(plan, data)
    with pytest.raises(InterruptedRunError):
        train_run(plan, data, folder, should_stop=stop_after(2))
    assert same(train_run(plan, data, folder, resume=True), whole)


@pytest.mark.parametrize("epochs", [1, 3])
def test_batch_statistics_resume_to_the_same_end(folder, epochs):
    changes = {"batch_norm": True, "phi_decays_to": "start", "epochs": 6, "patience": 6}
    which = RunSettings(dataset="csbm:num_nodes=100", preset="akgnn-consistency", seed=1)
    plan = RunPlan.make(which, {**changes, "num_layers": 2, "passes": 3})
    data = plan.load()
    whole = train_run(plan, data)
    with pytest.raises(InterruptedRunError):
        train_run(plan, data, folder, should_stop=stop_after(epochs))
    kept = folder.read_snapshot(folder.read())
    # Every pass of every epoch was counted.
    assert int(kept.weights["norms.0.num_batches_tracked"]) == 3 * epochs
    assert same(train_run(plan, data, folder, resume=True), whole)
    result, model = load_model(folder)
    nodes = data.split.test
    with torch.no_grad():
        hits = model(data.x, data.graph)[nodes].argmax(1) == data.y[nodes]
    assert 100 * float(hits.double().mean()) == pytest.approx(result.fit.test_accuracy)


def test_a_run_on_other_data_is_not_resumed(folder):
    plan = make_plan()
    data = plan.load()
    train_run(plan, data, folder)
    with pytest.raises(RunFolderError, match="holds a run on other data"):
        train_run(plan, replace(data, class_names=("a", "b", "c", "d")), folder, resume=True)


def test_a_model_that_cannot_be_built_leaves_no_folder(folder, monkeypatch):
    plan = make_plan()
    data = plan.load()
    monkeypatch.setattr(RunPlan, "build", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train_run(plan, data, folder)
    assert not folder.path.exists()


def make_two_class_plan(**changes):
    which = RunSettings(dataset="csbm:num_nodes=200,num_classes=2,signal=1")
    return RunPlan.make(which, {"epochs": 12, "hidden_channels": 8, **changes})


def without_roc_auc(content):
    """The record as it was written before there was ROC-AUC."""
    history = {k: v for k, v in content["history"].items() if k != "val_roc_auc"}
    kept = {k: v for k, v in content.get("result", {}).items() if "roc_auc" not in k}
    return {**content, "history": history, **({"result": kept} if kept else {})}


def test_a_run_keeps_its_roc_auc(folder):
    plan = make_two_class_plan(stop_on="roc_auc")
    whole = train_run(plan, plan.load())
    with pytest.raises(InterruptedRunError):
        train_run(plan, plan.load(), folder, should_stop=stop_after(5))
    assert same(train_run(plan, plan.load(), folder, resume=True), whole)
    kept = read_result(folder).fit
    assert kept.test_roc_auc == whole.fit.test_roc_auc > 50
    assert kept.val_roc_auc == max(kept.history.val_roc_auc)
    assert metrics_of(kept)["test_roc_auc"] == kept.test_roc_auc


def test_a_run_from_before_there_was_roc_auc_is_read(folder):
    plan = make_two_class_plan()
    result = train_run(plan, plan.load(), folder)
    content = json.loads((folder.path / "run.json").read_text())
    rewrite(folder.path / "run.json", without_roc_auc(content))
    fit = read_result(folder).fit
    assert fit.test_accuracy == result.fit.test_accuracy
    assert math.isnan(fit.test_roc_auc)
    assert math.isnan(fit.val_roc_auc)
    assert fit.history.val_roc_auc == []


LATER = ("test_balanced_accuracy", "test_log_loss", "test_calibration_error")


def test_a_run_from_before_there_were_more_scores_is_read(folder):
    plan = make_plan()
    result = train_run(plan, plan.load(), folder)
    assert read_result(folder).fit == result.fit
    content = json.loads((folder.path / "run.json").read_text())
    for name in LATER:
        assert content["result"].pop(name) == metrics_of(result.fit)[name]
    rewrite(folder.path / "run.json", content)
    fit = read_result(folder).fit
    assert all(math.isnan(getattr(fit, name)) for name in LATER)


def test_a_run_from_before_there_was_roc_auc_goes_on(folder):
    plan = make_two_class_plan()
    whole = train_run(plan, plan.load())
    with pytest.raises(InterruptedRunError):
        train_run(plan, plan.load(), folder, should_stop=stop_after(5))
    content = json.loads((folder.path / "run.json").read_text())
    rewrite(folder.path / "run.json", without_roc_auc(content))
    resumed = train_run(plan, plan.load(), folder, resume=True).fit
    assert resumed.test_roc_auc == whole.fit.test_roc_auc
    assert resumed.val_roc_auc == whole.fit.val_roc_auc
    assert resumed.history == replace(whole.fit.history, val_roc_auc=[])


def test_a_state_without_the_score_to_stop_on_is_refused(folder):
    plan = make_two_class_plan(stop_on="roc_auc")
    with pytest.raises(InterruptedRunError):
        train_run(plan, plan.load(), folder, should_stop=stop_after(5))
    content = json.loads((folder.path / "run.json").read_text())
    rewrite(folder.path / "run.json", without_roc_auc(content))
    with pytest.raises(CheckpointError, match="has no val_roc_auc to stop on"):
        train_run(plan, plan.load(), folder, resume=True)


def test_a_score_that_the_data_do_not_have_leaves_no_folder(folder):
    plan = make_plan(stop_on="roc_auc")
    with pytest.raises(SettingsError, match="needs two classes"):
        train_run(plan, plan.load(), folder)
    assert not folder.path.exists()
