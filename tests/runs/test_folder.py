import json

import pytest
import torch

from akgnn.errors import CheckpointError, RunFolderError
from akgnn.files import read_json
from akgnn.runs.folder import RunFolder, read_tensors
from akgnn.training.history import History
from akgnn.training.state import Snapshot
from run_files import names_in


def snapshot(epochs=2, fill=1.0):
    history = History()
    for _ in range(epochs):
        history.append(
            train_loss=fill, train_accuracy=1.0, val_loss=0.1, val_accuracy=3.0, lambda_max=[2.0]
        )
    weights = {"w": torch.full((2, 3), fill)}
    return Snapshot(weights, {"w": weights["w"] + 1}, {"0.step": torch.tensor(2.0)}, history, 1.5)


@pytest.fixture
def folder(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.prepare()
    return folder


def test_a_snapshot_comes_back_as_it_was(folder):
    written = snapshot()
    folder.write_snapshot({"settings": {}}, written)
    read = folder.read_snapshot(folder.read())
    assert torch.equal(read.weights["w"], written.weights["w"])
    assert torch.equal(read.best_weights["w"], written.best_weights["w"])
    assert torch.equal(read.optimizer["0.step"], written.optimizer["0.step"])
    assert (read.history, read.seconds) == (written.history, written.seconds)


def test_floats_survive_exactly(folder):
    value = 0.1 + 0.2
    folder.write_snapshot({}, snapshot(fill=value))
    assert folder.read_snapshot(folder.read()).history.train_loss == [value, value]


def test_only_the_newest_state_stays(folder):
    for epochs in (1, 2, 3):
        folder.write_snapshot({}, snapshot(epochs))
    assert names_in(folder.path) == ["run.json", "state-000003.safetensors"]


class KilledError(BaseException):
    pass


@pytest.mark.parametrize("step", range(12))
def test_a_kill_at_any_step_of_writing_leaves_the_old_or_the_new(folder, monkeypatch, step):
    """Stop at the n-th call that touches the disk, then read."""
    folder.write_snapshot({}, snapshot(1, fill=1.0))
    calls = 0

    def counted(function):
        def call(*arguments, **options):
            nonlocal calls
            calls += 1
            if calls > step:
                raise KilledError
            return function(*arguments, **options)

        return call

    import os
    from pathlib import Path

    with monkeypatch.context() as patch:
        for owner, name in [(os, "fsync"), (Path, "open"), (Path, "replace"), (Path, "unlink")]:
            patch.setattr(owner, name, counted(getattr(owner, name)))
        try:
            folder.write_snapshot({}, snapshot(2, fill=2.0))
        except KilledError:
            pass
        else:
            assert step >= 7

    read = folder.read_snapshot(folder.read())
    fill = float(len(read.history))
    assert read.history.train_loss == [fill] * int(fill)
    assert torch.equal(read.weights["w"], torch.full((2, 3), fill))
    # Going on cleans up what the kill left.
    folder.write_snapshot({}, snapshot(3, fill=3.0))
    assert len(list(folder.path.iterdir())) == 2


def test_a_state_without_weights_has_no_snapshot(folder):
    folder.write({"status": "running"}, None)
    assert folder.read_snapshot(folder.read()) is None
    with pytest.raises(CheckpointError, match="has no weights yet"):
        folder.read_weights(folder.read())


def test_a_folder_in_use_is_refused(folder):
    folder.write({}, None)
    with pytest.raises(RunFolderError, match="holds a run already; `resume=True` continues it"):
        folder.prepare()


def test_a_folder_of_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(RunFolderError, match="holds other files"):
        RunFolder(tmp_path).prepare()


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "run").touch()
    with pytest.raises(RunFolderError, match="is a file, not a folder"):
        RunFolder(tmp_path / "run").prepare()
    with pytest.raises(RunFolderError, match="Cannot write to the folder"):
        RunFolder(tmp_path / "run" / "inside").prepare()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is damaged"),
        ("[]", "was not written by akgnn"),
        ('{"format": "other"}', "was not written by akgnn"),
    ],
)
def test_a_foreign_run_file_is_refused(folder, content, message):
    (folder.path / "run.json").write_text(content)
    with pytest.raises(CheckpointError, match=message):
        folder.read()


def test_deep_nesting_is_no_crash(folder):
    (folder.path / "run.json").write_text("[" * 200_000)
    with pytest.raises(CheckpointError, match="is damaged"):
        folder.read()


@pytest.mark.parametrize("kind", ["seed", "fold"])
def test_a_folder_of_several_runs_names_one_of_them(tmp_path, kind):
    for number in (0, 1):
        one = RunFolder(tmp_path / f"{kind}-{number}")
        one.prepare()
        one.write({}, None)
    for ask in (RunFolder(tmp_path).read, RunFolder(tmp_path).prepare):
        with pytest.raises(RunFolderError, match=rf"several {kind}s; name one .*{kind}-0, or say"):
            ask()


def test_what_an_interrupted_start_left_does_not_count(folder):
    with folder.locked():
        (folder.path / ".tmp-1-run.json").touch()
    folder.prepare()


def test_an_empty_folder_holds_no_run(folder):
    with pytest.raises(CheckpointError, match="holds no run"):
        folder.read()


def test_damaged_weights_are_refused(folder):
    folder.write_snapshot({}, snapshot())
    file = folder.path / "state-000002.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(bytes(content))
    with pytest.raises(CheckpointError, match="is damaged"):
        folder.read_snapshot(folder.read())
    file.unlink()
    with pytest.raises(CheckpointError, match="is missing"):
        folder.read_snapshot(folder.read())


def test_weights_that_are_no_safetensors_are_refused(folder):
    import hashlib

    folder.write({}, None)
    content = folder.read()
    (folder.path / "x.safetensors").write_bytes(b"pickle")
    sha256 = hashlib.sha256(b"pickle").hexdigest()
    content["weights"] = {"file": "x.safetensors", "bytes": 6, "sha256": sha256}
    with pytest.raises(CheckpointError, match="is not a safetensors file"):
        folder.read_weights(content)


def test_weights_are_looked_for_in_the_folder_only(folder):
    folder.write({}, None)
    content = folder.read()
    content["weights"] = {"file": "../../etc/passwd", "bytes": 1, "sha256": "0"}
    with pytest.raises(CheckpointError, match=r"run/passwd cannot be read: it is missing"):
        folder.read_weights(content)


def test_run_file_is_plain_json(folder):
    folder.write_snapshot({"settings": {"seed": 3}}, snapshot())
    content = json.loads((folder.path / "run.json").read_text())
    assert content["settings"] == {"seed": 3}
    assert content["status"] == "running"
    assert content["history"]["val_loss"] == [0.1, 0.1]


def test_two_processes_do_not_train_in_one_folder(folder):
    refused = pytest.raises(RunFolderError, match="Another process is training in")
    # Another handle of the same folder stands for another process.
    with folder.locked(), refused, RunFolder(folder.path).locked():
        pass
    with folder.locked():
        pass


def test_a_folder_below_a_file_is_refused_before_anything_is_made(tmp_path):
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file" / "run", tmp_path / "file" / "deep" / "run"):
        with pytest.raises(RunFolderError, match=r"Cannot write to the folder .*file is a file\."):
            RunFolder(path).check_free()
    RunFolder(tmp_path / "new" / "run").check_free()
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_cannot_be_written_is_refused_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(RunFolderError, match=r"Cannot write to the folder .*: it is read-only"):
        RunFolder(tmp_path / "run").check_free()


def grown(file, size):
    """The same file with zeros that take no room on the disk."""
    with file.open("r+b") as stream:
        stream.truncate(size)


def test_a_file_of_another_size_is_not_read_to_its_end(tmp_path, monkeypatch):
    folder = RunFolder(tmp_path)
    folder.write({"status": "finished"}, {"a": torch.zeros(3)}, "weights.safetensors")
    content = folder.read()
    assert folder.read_weights(content)["a"].tolist() == [0, 0, 0]
    grown(tmp_path / "weights.safetensors", 60 * 2**30)
    monkeypatch.setattr("hashlib.file_digest", lambda *_: pytest.fail("it is read"))
    with pytest.raises(CheckpointError, match=r"it has 64,424,509,440 bytes, but 7\d were written"):
        folder.read_weights(content)


def test_zeros_are_not_read_to_their_end(tmp_path, monkeypatch):
    (tmp_path / "zeros").touch()
    grown(tmp_path / "zeros", 60 * 2**30)
    monkeypatch.setattr("hashlib.file_digest", lambda *_: pytest.fail("it is read"))
    with pytest.raises(CheckpointError, match="it has 64,424,509,440 bytes, but 80 were written"):
        read_tensors(tmp_path / "zeros", "0" * 64, 80)
    with pytest.raises(CheckpointError, match="too large"):
        read_json(tmp_path / "zeros")
