"""Runs that are kept in folders: their epochs, states and results, and how they go on."""

import copy
import json
import math
from contextlib import ExitStack, suppress
from dataclasses import replace

import pytest
import torch

from akgnn.data.splits import Split
from akgnn.errors import (
    AkgnnError,
    CheckpointError,
    DivergedError,
    InterruptedRunError,
    RunFolderError,
    SettingsError,
)
from akgnn.models.registry import MODELS
from akgnn.runs import keeping
from akgnn.runs.folder import RunFolder
from akgnn.runs.jobs import Job, run_job
from akgnn.runs.keeping import Keeping, KeptRun
from akgnn.runs.load import load_run, plan_of
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.session import Session
from akgnn.training.callbacks import Callback, Epoch, StopWhen
from akgnn.training.history import History
from run_files import names_in, rewrite, stop_after

DATASET = "csbm:num_nodes=200,homophily=0.8"


def make_plan(seed=0, **changes):
    settings = {"epochs": 12, "hidden_channels": 8, **changes}
    return RunPlan.make(RunSettings(dataset=DATASET, seed=seed), settings)


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path / "run")


def read(folder):
    text = (folder.path / "epochs.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def same(one, other):
    """Whether two runs came to the same but for the time; as text, where NaN equals NaN."""
    texts = [
        repr((replace(each.result, seconds=0.0), each.result.history)) for each in (one, other)
    ]
    return texts[0] == texts[1]


def identical(one, other):
    return (one.plan, one.facts, repr(one.result)) == (other.plan, other.facts, repr(other.result))


def test_every_epoch_of_a_run_is_a_line(folder):
    plan = make_plan()
    history = run_job(Job(plan, folder), plan.load()).result.history
    rows = read(folder)
    assert [row["epoch"] for row in rows] == list(range(1, 13))
    assert [row["val_loss"] for row in rows] == history.val_loss
    assert [row["lambda_max"] for row in rows] == history.lambda_max
    assert "val_roc_auc" not in rows[0]


def test_a_run_of_several_restarts_keeps_the_epochs_of_all(folder):
    plan = make_plan(kernel="signed")
    run_job(Job(plan, folder), plan.load())
    rows = read(folder)
    assert [row["epoch"] for row in rows] == list(range(1, 37))
    assert [row["start"] for row in rows] == [0] * 12 + [1] * 12 + [2] * 12


def test_a_stopped_run_has_its_lines_and_a_resumed_one_no_epoch_twice(folder):
    plan = make_plan()
    data = plan.load()
    with pytest.raises(InterruptedRunError):
        run_job(Job(plan, folder), data, Session(callbacks=[stop_after(4)]))
    assert [row["epoch"] for row in read(folder)] == [1, 2, 3, 4]
    # A kill: epochs beyond the kept state, the last of them cut off.
    with (folder.path / "epochs.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"epoch": 5, "val_loss": 1.0}\n{"epoch": 6, "val')
    history = run_job(Job(plan, folder), data, Session(resume=True)).result.history
    rows = read(folder)
    assert [row["epoch"] for row in rows] == list(range(1, 13))
    assert [row["val_loss"] for row in rows] == history.val_loss


def test_a_run_from_before_there_were_lines_gets_them_when_it_goes_on(folder):
    plan = make_plan()
    data = plan.load()
    with pytest.raises(InterruptedRunError):
        run_job(Job(plan, folder), data, Session(callbacks=[stop_after(4)]))
    (folder.path / "epochs.jsonl").unlink()
    run_job(Job(plan, folder), data, Session(resume=True))
    assert [row["epoch"] for row in read(folder)] == list(range(1, 13))


def test_lines_wait_for_a_second_unless_the_run_ends(folder, monkeypatch):
    now = 100.0
    monkeypatch.setattr(keeping.time, "monotonic", lambda: now)
    run = KeptRun(SMALL, DATA, folder, seconds=1000.0)
    history = History()
    with ExitStack() as locks:
        run.open(resume=False, locks=locks)
        row = {"train_loss": 1.0, "train_accuracy": 50.0, "val_accuracy": 50.0, "lambda_max": []}
        for seconds, written in ((0.5, 0), (0.4, 0), (0.2, 3), (0.3, 3)):
            now += seconds
            history.append(**row, val_loss=float("inf"))
            Keeping([run]).after_epoch([Epoch(0, history, lambda: None)])
            assert len(read(folder)) == written
        Keeping([run]).after_run(0, DivergedError("too high"))
    assert len(read(folder)) == 4
    # JSON has no infinity.
    assert read(folder)[0]["val_loss"] is None


def test_a_finished_run_can_be_read_again(folder):
    plan = make_plan()
    result = run_job(Job(plan, folder), plan.load())
    assert identical(load_run(folder.path), result)
    assert names_in(folder.path) == ["epochs.jsonl", "run.json", "weights.safetensors"]


def test_the_record_says_everything(folder):
    plan = make_plan(seed=4)
    run_job(Job(plan, folder), plan.load())
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


@pytest.mark.parametrize("epochs", [1, 5])
def test_an_interrupted_run_goes_on_to_the_same_end(folder, epochs):
    plan = make_plan()
    whole = run_job(Job(plan), plan.load())
    with pytest.raises(InterruptedRunError, match=f"Stopped after epoch {epochs}"):
        run_job(Job(plan, folder), plan.load(), Session(callbacks=[stop_after(epochs)]))
    with pytest.raises(RunFolderError, match="has not finished"):
        load_run(folder.path)
    assert same(run_job(Job(plan, folder), plan.load(), Session(resume=True)), whole)
    assert same(load_run(folder.path), whole)


@pytest.mark.parametrize("epochs", [3, 12, 13, 30, 35])
def test_a_run_of_several_restarts_goes_on_to_the_same_end(folder, epochs):
    plan = make_plan(kernel="signed")
    whole = run_job(Job(plan), plan.load())
    assert sum(each.epochs for each in whole.result.restarts) == 36
    with pytest.raises(InterruptedRunError):
        run_job(Job(plan, folder), plan.load(), Session(callbacks=[stop_after(epochs)]))
    assert same(run_job(Job(plan, folder), plan.load(), Session(resume=True)), whole)
    assert same(load_run(folder.path), whole)


def test_states_are_kept_on_the_way(folder):
    plan = make_plan()
    seen = []

    class Look(Callback):
        def after_epoch(self, epochs):
            kept = folder.read_snapshot(folder.read())
            seen.append(0 if kept is None else len(kept.history))

    run_job(Job(plan, folder), plan.load(), Session(checkpoint_seconds=0.0, callbacks=[Look()]))
    assert seen == list(range(12))


def test_a_run_with_no_epoch_kept_starts_anew(folder):
    plan = make_plan()
    folder.prepare()
    data = plan.load()
    whole = run_job(Job(plan), data)
    with pytest.raises(ZeroDivisionError):
        run_job(Job(plan, folder), data, Session(callbacks=[StopWhen(lambda: 1 / 0)]))
    assert folder.read_snapshot(folder.read()) is None
    assert same(run_job(Job(plan, folder), data, Session(resume=True)), whole)


def test_resuming_a_finished_run_shows_its_result(folder):
    plan = make_plan()
    result = run_job(Job(plan, folder), plan.load())
    again = run_job(
        Job(plan, folder), plan.load(), Session(resume=True, callbacks=[StopWhen(lambda: 1 / 0)])
    )
    assert identical(again, result)


@pytest.mark.parametrize(("rate", "kept"), [(0.01, ["weights.safetensors"]), (1e30, [])])
def test_resuming_removes_what_a_kill_at_the_very_end_left(folder, rate, kept):
    plan = make_plan(learning_rate=rate)
    for resume in (False, True):
        with suppress(DivergedError, RunFolderError):
            run_job(Job(plan, folder), plan.load(), Session(resume=resume))
        assert names_in(folder.path) == ["epochs.jsonl", "run.json", *kept]
        (folder.path / "state-000012.safetensors").touch()


def test_resuming_where_nothing_is_starts_a_run(folder):
    plan = make_plan()
    assert same(
        run_job(Job(plan, folder), plan.load(), Session(resume=True)),
        run_job(Job(plan), plan.load()),
    )


def test_another_run_is_not_overwritten(folder):
    plan = make_plan()
    run_job(Job(plan, folder), plan.load())
    with pytest.raises(RunFolderError, match="holds a run already"):
        run_job(Job(plan, folder), plan.load())
    other = make_plan(seed=1)
    with pytest.raises(RunFolderError, match="holds another run: its seed is 0, not 1"):
        run_job(Job(other, folder), other.load(), Session(resume=True))
    deeper = make_plan(num_layers=2)
    with pytest.raises(RunFolderError, match="its num_layers is 5, not 2"):
        run_job(Job(deeper, folder), deeper.load(), Session(resume=True))


def test_a_failed_run_is_remembered_as_failed(folder):
    plan = make_plan(learning_rate=1e30)
    with pytest.raises(DivergedError):
        run_job(Job(plan, folder), plan.load())
    with pytest.raises(RunFolderError, match=r"failed\. The \w+ loss became nan at epoch \d+"):
        run_job(Job(plan, folder), plan.load(), Session(resume=True))


def test_a_run_without_test_nodes_is_kept_as_valid_json(folder):
    plan = make_plan()
    data = plan.load()
    data = data.with_split(Split("no-test", data.split.train, data.split.val, data.y[:0]))
    run_job(Job(plan, folder), data)
    text = (folder.path / "run.json").read_text()
    assert "NaN" not in text
    assert math.isnan(load_run(folder.path).result.test_accuracy)


@pytest.mark.parametrize("model", MODELS)
def test_every_model_trains_repeats_and_resumes(folder, model):
    settings = RunSettings(dataset="csbm:num_nodes=100", model=model, seed=1)
    plan = RunPlan.make(settings, {"epochs": 4, "patience": 4})
    data = plan.load()
    whole = run_job(Job(plan), data)
    with pytest.raises(InterruptedRunError):
        run_job(Job(plan, folder), data, Session(callbacks=[stop_after(2)]))
    assert same(run_job(Job(plan, folder), data, Session(resume=True)), whole)


@pytest.mark.parametrize("epochs", [1, 3])
def test_batch_statistics_resume_to_the_same_end(folder, epochs):
    changes = {"batch_norm": True, "phi_decays_to": "start", "epochs": 6, "patience": 6}
    which = RunSettings(dataset="csbm:num_nodes=100", preset="akgnn-consistency", seed=1)
    plan = RunPlan.make(which, {**changes, "num_layers": 2, "passes": 3})
    data = plan.load()
    whole = run_job(Job(plan), data)
    with pytest.raises(InterruptedRunError):
        run_job(Job(plan, folder), data, Session(callbacks=[stop_after(epochs)]))
    kept = folder.read_snapshot(folder.read())
    # Every pass of every epoch was counted.
    assert int(kept.weights["norms.0.num_batches_tracked"]) == 3 * epochs
    assert same(run_job(Job(plan, folder), data, Session(resume=True)), whole)
    again = load_run(folder.path)
    nodes = data.split.test
    with torch.no_grad():
        hits = again.model(data.x, data.graph)[nodes].argmax(1) == data.y[nodes]
    assert 100 * float(hits.double().mean()) == pytest.approx(again.result.test_accuracy)


def test_a_run_on_other_data_is_not_resumed(folder):
    plan = make_plan()
    data = plan.load()
    run_job(Job(plan, folder), data)
    with pytest.raises(RunFolderError, match="holds a run on other data"):
        run_job(
            Job(plan, folder), replace(data, class_names=("a", "b", "c", "d")), Session(resume=True)
        )


def test_a_model_that_cannot_be_built_leaves_no_folder(folder, monkeypatch):
    plan = make_plan()
    data = plan.load()
    monkeypatch.setattr(RunPlan, "build", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run_job(Job(plan, folder), data)
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
    whole = run_job(Job(plan), plan.load())
    with pytest.raises(InterruptedRunError):
        run_job(Job(plan, folder), plan.load(), Session(callbacks=[stop_after(5)]))
    assert same(run_job(Job(plan, folder), plan.load(), Session(resume=True)), whole)
    kept = load_run(folder.path).result
    assert kept.test_roc_auc == whole.result.test_roc_auc > 50
    assert kept.val_roc_auc == max(kept.history.val_roc_auc)
    assert kept.metrics["test_roc_auc"] == kept.test_roc_auc


def test_a_run_from_before_there_was_roc_auc_goes_on(folder):
    plan = make_two_class_plan()
    whole = run_job(Job(plan), plan.load())
    with pytest.raises(InterruptedRunError):
        run_job(Job(plan, folder), plan.load(), Session(callbacks=[stop_after(5)]))
    content = json.loads((folder.path / "run.json").read_text())
    rewrite(folder.path / "run.json", without_roc_auc(content))
    resumed = run_job(Job(plan, folder), plan.load(), Session(resume=True)).result
    assert resumed.test_roc_auc == whole.result.test_roc_auc
    assert resumed.val_roc_auc == whole.result.val_roc_auc
    assert resumed.history == replace(whole.result.history, scores={})


def test_a_state_without_the_score_to_stop_on_is_refused(folder):
    plan = make_two_class_plan(stop_on="roc_auc")
    with pytest.raises(InterruptedRunError):
        run_job(Job(plan, folder), plan.load(), Session(callbacks=[stop_after(5)]))
    content = json.loads((folder.path / "run.json").read_text())
    rewrite(folder.path / "run.json", without_roc_auc(content))
    with pytest.raises(CheckpointError, match="has no val_roc_auc to stop on"):
        run_job(Job(plan, folder), plan.load(), Session(resume=True))


def test_a_score_that_the_data_do_not_have_leaves_no_folder(folder):
    plan = make_plan(stop_on="roc_auc")
    with pytest.raises(SettingsError, match="needs two classes"):
        run_job(Job(plan, folder), plan.load())
    assert not folder.path.exists()


SMALL = RunPlan.make(
    RunSettings(dataset="csbm:num_nodes=100"),
    {"epochs": 3, "hidden_channels": 4, "num_layers": 2, "patience": 3},
)
DATA = SMALL.load()
GONE = object()
WRONG = [GONE, None, [1], -1, 10**400, "\x1b[31m"]


@pytest.fixture
def finished(tmp_path):
    folder = RunFolder(tmp_path / "finished")
    run_job(Job(SMALL, folder), DATA)
    return folder


@pytest.fixture
def interrupted(tmp_path):
    folder = RunFolder(tmp_path / "interrupted")
    with pytest.raises(InterruptedRunError):
        run_job(Job(SMALL, folder), DATA, Session(callbacks=[stop_after(1)]))
    return folder


def paths(content, prefix=()):
    """Every place in a record, but not the single numbers of its history."""
    for key, value in content.items():
        yield (*prefix, key)
        if isinstance(value, dict):
            yield from paths(value, (*prefix, key))


def changed(content, path, value):
    """The record with another value at one place."""
    other = copy.deepcopy(content)
    at = other
    for key in path[:-1]:
        at = at[key]
    if value is GONE:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return other


def use(folder):
    """Everything that commands do with a folder."""
    run_job(Job(plan_of(folder, folder.read()), folder), DATA, Session(resume=True))
    run = load_run(folder.path)
    _ = run.model, run.versions
    f"{run.result.test_accuracy:.1f} {run.facts.split} {run.result.lambda_max}"


def tried(folder, path, value):
    """The message with which a folder is refused, or None; anything else is a crash."""
    try:
        use(folder)
    except AkgnnError as error:
        return str(error)
    except Exception as error:
        raise AssertionError(f"{path} = {value!r}: {error!r}") from error
    return None


@pytest.mark.parametrize("kind", ["finished", "interrupted"])
def test_any_change_to_a_record_is_harmless_or_refused_in_words(kind, request):
    folder = request.getfixturevalue(kind)
    files = {name: (folder.path / name).read_bytes() for name in names_in(folder.path)}
    content = json.loads(files["run.json"])
    refused = 0
    for path in paths(content):
        for value in WRONG:
            for item in folder.path.iterdir():
                item.unlink()
            for name, blob in files.items():
                (folder.path / name).write_bytes(blob)
            rewrite(folder.path / "run.json", changed(content, path, value))
            message = tried(folder, path, value)
            refused += message is not None
            assert message is None or message.isprintable(), (path, value)
    # Versions may say anything; nearly all else must not.
    assert refused > 300


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: tensors.update(foo=torch.ones(1)),
        lambda tensors: tensors.pop("model/transforms.0.weight"),
        lambda tensors: tensors.pop("best/transforms.0.weight"),
        lambda tensors: tensors.update({"model/transforms.0.weight": torch.ones(1)}),
        lambda tensors: tensors.update({"optimizer/x.exp_avg": torch.ones(1)}),
        lambda tensors: [tensors.pop(name) for name in list(tensors) if "optimizer" in name],
    ],
)
def test_a_state_with_other_tensors_is_refused(interrupted, change):
    content = interrupted.read()
    tensors = interrupted.read_weights(content)
    change(tensors)
    del content["format"]
    interrupted.write(content, tensors, content["weights"]["file"])
    with pytest.raises(CheckpointError):
        run_job(Job(SMALL, interrupted), DATA, Session(resume=True))


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("0.step", lambda t: t * 0 - 1),
        ("0.step", lambda t: t * 0 + 0.5),
        ("0.step", lambda t: t * math.nan),
        ("0.step", lambda t: t.long()),
        ("0.exp_avg", lambda t: t + math.inf),
        ("0.exp_avg_sq", lambda t: t - 5),
    ],
)
def test_numbers_that_adam_cannot_have_come_to_are_refused(folder, part, change):
    plan = make_plan()
    data = plan.load()
    with pytest.raises(InterruptedRunError):
        run_job(Job(plan, folder), data, Session(callbacks=[stop_after(3)]))
    content = folder.read()
    snapshot = folder.read_snapshot(content)
    snapshot.optimizer[part] = change(snapshot.optimizer[part])
    kept = {name: content[name] for name in ("settings", "data", "versions")}
    folder.write_snapshot(kept, snapshot)
    with pytest.raises(CheckpointError, match=f"(The state|finite, first in) '{part}'"):
        run_job(Job(plan, folder), data, Session(resume=True))
