import json

import pytest

from akgnn.errors import InterruptedRunError
from akgnn.training import epoch_lines
from akgnn.training.checkpoint import RunFolder
from akgnn.training.epoch_lines import EpochLines
from akgnn.training.history import History
from akgnn.training.plan import RunPlan, RunSettings
from akgnn.training.train_runs import train_run

SETTINGS = {"epochs": 10, "patience": 10, "hidden_channels": 8, "num_layers": 2}


def make_plan(**changes):
    which = RunSettings(dataset="csbm:num_nodes=150,homophily=0.8")
    return RunPlan.make(which, {**SETTINGS, **changes})


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path / "run")


def read(folder):
    text = (folder.path / "epochs.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def stop_after(number):
    asked = iter(range(1, 100))
    return lambda: next(asked) >= number


def test_every_epoch_of_a_run_is_a_line(folder):
    plan = make_plan()
    history = train_run(plan, plan.load(), folder).fit.history
    rows = read(folder)
    assert [row["epoch"] for row in rows] == list(range(1, 11))
    assert [row["val_loss"] for row in rows] == history.val_loss
    assert [row["lambda_max"] for row in rows] == history.lambda_max
    assert "val_roc_auc" not in rows[0]


def test_a_run_of_several_starts_keeps_the_epochs_of_all(folder):
    plan = make_plan(kernel="signed")
    train_run(plan, plan.load(), folder)
    rows = read(folder)
    assert [row["epoch"] for row in rows] == list(range(1, 31))
    assert [row["start"] for row in rows] == [0] * 10 + [1] * 10 + [2] * 10


def test_a_stopped_run_has_its_lines_and_a_resumed_one_no_epoch_twice(folder):
    plan = make_plan()
    data = plan.load()
    with pytest.raises(InterruptedRunError):
        train_run(plan, data, folder, should_stop=stop_after(4))
    assert [row["epoch"] for row in read(folder)] == [1, 2, 3, 4]
    # A kill: epochs beyond the kept state, the last of them cut off.
    with (folder.path / "epochs.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"epoch": 5, "val_loss": 1.0}\n{"epoch": 6, "val')
    history = train_run(plan, data, folder, resume=True).fit.history
    rows = read(folder)
    assert [row["epoch"] for row in rows] == list(range(1, 11))
    assert [row["val_loss"] for row in rows] == history.val_loss


def test_a_run_from_before_there_were_lines_gets_them_when_it_goes_on(folder):
    plan = make_plan()
    data = plan.load()
    with pytest.raises(InterruptedRunError):
        train_run(plan, data, folder, should_stop=stop_after(4))
    (folder.path / "epochs.jsonl").unlink()
    train_run(plan, data, folder, resume=True)
    assert [row["epoch"] for row in read(folder)] == list(range(1, 11))


def test_lines_wait_for_a_second_unless_flushed(tmp_path, monkeypatch):
    now = 100.0
    monkeypatch.setattr(epoch_lines.time, "monotonic", lambda: now)
    folder = RunFolder(tmp_path)
    history = History()
    lines = EpochLines(folder, history)
    row = {"train_loss": 1.0, "train_accuracy": 50.0, "val_loss": float("inf"), "lambda_max": []}
    for seconds, written in ((0.5, 0), (0.4, 0), (0.2, 3), (0.3, 3)):
        now += seconds
        history.append(**row, val_accuracy=50.0)
        lines.take_in(history)
        assert len(read(folder)) == written
    lines.flush()
    assert len(read(folder)) == 4
    # JSON has no infinity.
    assert read(folder)[0]["val_loss"] is None
