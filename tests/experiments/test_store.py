import json
import math
from dataclasses import replace

import pytest

from akgnn.errors import RunFolderError
from akgnn.experiments.record import Record, failed_record
from akgnn.experiments.runner import do_run
from akgnn.experiments.store import RecordStore
from akgnn.runs.plan import RunPlan, RunSettings

PLAN = RunPlan.make(RunSettings(dataset="csbm:num_nodes=100"), {"epochs": 3, "hidden_channels": 4})


@pytest.fixture(scope="module")
def record():
    return do_run(PLAN, "cpu")


@pytest.fixture
def store(tmp_path, record):
    store = RecordStore(tmp_path / "results")
    with store.locked():
        store.append(record)
        store.append(failed_record(PLAN.with_seed(1), "no\nluck", versions={}, environment={}))
    return store


def test_what_is_written_is_what_is_read(store, record):
    contents = store.read()
    assert contents.skipped == ()
    first, second = contents.records
    assert first.plan == record.plan
    assert first.test_accuracy == pytest.approx(record.test_accuracy, rel=1e-5)
    assert first.lambda_max == pytest.approx(record.lambda_max, rel=1e-5)
    assert first.history.val_loss == pytest.approx(record.history.val_loss, rel=1e-4)
    assert (second.error, second.is_finished) == ("no luck", False)
    assert Record.from_line(first.to_line()) == first


def test_roc_auc_of_two_classes_is_kept():
    run = RunSettings(dataset="csbm:num_nodes=100,num_classes=2")
    record = do_run(RunPlan.make(run, {"epochs": 3, "hidden_channels": 4}), "cpu")
    read = Record.from_line(record.to_line())
    assert read.score("test", "roc_auc") == pytest.approx(record.score("test", "roc_auc"), rel=1e-5)
    assert read.history.val_roc_auc == pytest.approx(record.history.val_roc_auc, rel=1e-4)
    assert len(read.history.val_roc_auc) == 3


def test_a_record_from_before_there_were_more_scores_is_read(record):
    content = json.loads(record.to_line())
    later = ("roc_auc", "balanced_accuracy", "log_loss", "calibration_error")
    for name in later:
        assert content["metrics"].pop(f"test_{name}") >= 0
    assert content["metrics"].pop("val_roc_auc") > 0
    assert "val_roc_auc" not in content["history"]
    read = Record.from_line(json.dumps(content))
    assert all(math.isnan(read.score("test", name)) for name in later)
    assert read.history.val_loss == pytest.approx(record.history.val_loss, rel=1e-4)


def test_a_torn_last_line_is_named_and_does_not_spoil_the_next(store, record):
    whole = store.file.read_bytes()
    store.file.write_bytes(whole + whole[:200])
    contents = store.read()
    assert len(contents.records) == 2
    assert contents.skipped == (f"{store.file}, line 3 was skipped: it breaks off in the middle.",)
    store.append(replace(record, plan=PLAN.with_seed(2)))
    assert [r.seed for r in store.read().records] == [0, 1, 2]


def test_a_torn_last_line_is_cut_off_by_who_goes_on(store):
    whole = store.file.read_bytes()
    store.file.write_bytes(whole + whole[:200])
    with store.locked():
        assert store.file.read_bytes() == whole


def test_a_last_line_without_its_end_that_is_whole_stays(store, record):
    whole = store.file.read_bytes() + b'{"format": "akgnn-record-9"}'
    store.file.write_bytes(whole)
    with store.locked():
        store.append(replace(record, plan=PLAN.with_seed(2)))
    assert store.file.read_bytes().startswith(whole + b"\n{")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"format": "akgnn-record-9"}', "not written by this version"),
        (b"[1, 2]", "not written by this version"),
        (b"{", "Expecting property name"),
        (b"\xff\xfe", "codec can't decode"),
    ],
)
def test_foreign_lines_are_skipped_and_named(store, line, says):
    store.file.write_bytes(line + b"\n" + store.file.read_bytes())
    contents = store.read()
    assert len(contents.records) == 2
    assert "line 1 was skipped" in contents.skipped[0]
    assert says in contents.skipped[0]


def test_a_setting_of_a_later_version_is_skipped_and_one_that_came_later_has_its_default(store):
    text = store.file.read_text()
    store.file.write_text(text.replace('"readout": "sum", ', ""))
    assert store.read().records[0].plan == PLAN
    store.file.write_text(text.replace('"readout"', '"raedout"'))
    assert "raedout" in store.read().skipped[0]


def test_two_processes_do_not_add_at_once(store):
    with (
        store.locked(),
        pytest.raises(RunFolderError, match="Another process"),
        RecordStore(store.path).locked(),
    ):
        pass


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(RunFolderError, match="Cannot write to the folder"),
        RecordStore(tmp_path / "file" / "x").locked(),
    ):
        pass
