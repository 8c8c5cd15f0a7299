import errno
import hashlib
import json
import math
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from akgnn import files
from akgnn.errors import CheckpointError, DataError, RunFolderError, SettingsError
from akgnn.files import (
    as_path,
    check_new,
    exists,
    file_sha256,
    folder_lock,
    is_left_over,
    json_text,
    make_folder,
    new_folder,
    parse_json,
    read_file,
    read_json,
    replacing,
    scratch_folder,
    without_nan,
    write_file,
)

# Takes the lock, says so, and waits until its input ends.
HOLD = """
import sys
from pathlib import Path
from akgnn.files import folder_lock
with folder_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path):
    file = tmp_path / "run.json"
    write_file(file, b"old")
    write_file(file, b"new")
    assert file.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [file]


def test_what_cannot_be_written_is_named(tmp_path):
    with pytest.raises(RunFolderError, match=r"Cannot write .*missing/run\.json"):
        write_file(tmp_path / "missing" / "run.json", b"")
    (tmp_path / "taken").mkdir()
    with pytest.raises(RunFolderError, match=r"Cannot write .*taken"):
        write_file(tmp_path / "taken", b"")
    assert [item.name for item in tmp_path.iterdir()] == ["taken"]


def write_half(file):
    with replacing(file) as temporary:
        assert temporary.suffix == ".onnx"
        assert is_left_over(temporary)
        temporary.write_bytes(b"half")
        raise KeyError("mine")


def test_an_error_while_writing_leaves_the_old_file(tmp_path):
    file = tmp_path / "model.onnx"
    file.write_bytes(b"old")
    with pytest.raises(KeyError, match="mine"):
        write_half(file)
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


# Begins to write a file, says so, and waits to be killed.
WRITE = """
import sys
from pathlib import Path
from akgnn.files import replacing
with replacing(Path(sys.argv[1])) as temporary:
    temporary.write_bytes(b"half")
    print(temporary.name, flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(os.name != "posix", reason="no way to ask whether a process is there")
def test_what_a_killed_process_was_writing_goes_when_something_is_written_again(tmp_path):
    file = tmp_path / "predictions.csv"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    writer = subprocess.Popen([sys.executable, "-c", WRITE, str(file)], **pipes)
    half = tmp_path / writer.stdout.readline().strip()
    # Another machine may share the folder: its processes cannot be asked.
    elsewhere = tmp_path / f".tmp-00000000-{writer.pid}-0.csv"
    elsewhere.touch()
    write_file(file, b"first")
    assert half.exists()
    writer.kill()
    writer.communicate()
    write_file(file, b"second")
    assert file.read_bytes() == b"second"
    assert set(tmp_path.iterdir()) == {file, elsewhere}


def test_a_name_that_is_too_long_is_told_in_one_line(tmp_path):
    with pytest.raises(RunFolderError, match="File name too long"):
        write_file(tmp_path / ("x" * 300), b"")


def test_a_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RunFolderError, match="Cannot write to the folder"):
        make_folder(tmp_path / "file" / "inside")


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock of the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def enter(path):
    with folder_lock(path):
        pass


def test_another_process_is_kept_out_until_the_first_is_done(holder, tmp_path):
    with pytest.raises(RunFolderError, match=f"Another process is training in {tmp_path}"):
        enter(tmp_path)
    holder.communicate("")
    assert holder.returncode == 0
    enter(tmp_path)


def test_a_kill_gives_the_lock_back(holder, tmp_path):
    holder.kill()
    holder.wait()
    enter(tmp_path)


def test_an_error_inside_goes_on_and_gives_the_lock_back(tmp_path):
    with pytest.raises(KeyError, match="mine"), folder_lock(tmp_path):
        raise KeyError("mine")
    enter(tmp_path)


def test_a_refused_lock_leaves_no_file_open(holder, tmp_path):
    before = os.listdir("/dev/fd")
    with pytest.raises(RunFolderError):
        enter(tmp_path)
    assert os.listdir("/dev/fd") == before


def test_folders_are_locked_one_by_one(holder, tmp_path):
    (tmp_path / "other").mkdir()
    enter(tmp_path / "other")
    assert [file.name for file in tmp_path.iterdir() if not is_left_over(file)] == ["other"]


def test_what_json_lacks_becomes_null():
    content = {"a": [1.0, math.nan, (math.inf, 2)], "b": "NaN", "c": True}
    assert json.dumps(without_nan(content), allow_nan=False) == json_text(content)
    assert json_text(content) == '{"a": [1.0, null, [null, 2]], "b": "NaN", "c": true}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "Expecting property name"),
        ("NaN", "NaN is not a number"),
        ("[" * 100_000, "nested too deeply"),
        (b"\xff", "invalid start byte"),
    ],
)
def test_wrong_json_is_a_value_error(text, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        parse_json(text)
    file = tmp_path / "file.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CheckpointError, match=r"file\.json is damaged"):
        read_json(file)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CheckpointError, match="is missing, or is no file"):
        read_json(tmp_path / "pipe")


@pytest.mark.parametrize("name", ["missing", "folder", "pipe"])
def test_only_files_are_read(name, tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for ask in (read_file, file_sha256):
        with pytest.raises(CheckpointError, match="cannot be read: it is missing, or is no file"):
            ask(tmp_path / name)


def test_a_device_is_not_read():
    with pytest.raises(DataError, match="/dev/zero cannot be read"):
        read_file(Path("/dev/zero"), 10, DataError)


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    assert read_file(tmp_path / "file", 5) == b"12345"
    with pytest.raises(CheckpointError, match="too large: 5 bytes, at most 4"):
        read_file(tmp_path / "file", 4)


def test_the_digest_of_a_file_is_that_of_its_content(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    assert file_sha256(tmp_path / "file") == hashlib.sha256(b"12345").hexdigest()


def test_no_file_takes_the_place_of_a_device(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for file in (tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(RunFolderError, match="no file but a pipe or a device"):
            write_file(file, b"")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    file = tmp_path / ("x" * 251 + ".csv")
    write_file(file, b"1")
    assert file.read_bytes() == b"1"


@pytest.mark.parametrize("write", [lambda path: write_file(path, b""), make_folder])
def test_a_zero_byte_in_a_name_is_told(write, tmp_path):
    with pytest.raises(RunFolderError, match="a name holds no zero bytes"):
        write(tmp_path / "a\0b")


def test_what_cannot_be_looked_for_is_told(tmp_path):
    assert exists(tmp_path)
    assert not exists(tmp_path / "nothing")
    with pytest.raises(RunFolderError, match=r"Cannot look for .*: File name too long"):
        exists(tmp_path / ("x" * 300))


def test_a_read_only_folder_is_told_in_one_line(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(RunFolderError, match=r"Cannot write .*a\.csv: Read-only file system"):
        write_file(tmp_path / "a.csv", b"")


def test_paths_are_text_or_paths(tmp_path):
    assert as_path("The folder", str(tmp_path)) == as_path("The folder", tmp_path) == tmp_path
    for wrong in (None, 3):
        with pytest.raises(SettingsError, match="The folder is given as text or a Path, got"):
            as_path("The folder", wrong)


def test_a_new_folder_appears_whole_or_not_at_all(tmp_path):
    out = tmp_path / "deep" / "out"
    with new_folder(out) as inside:
        (inside / "a").write_text("x")
        assert not out.exists()
    assert [path.name for path in out.iterdir()] == ["a"]
    with pytest.raises(RunFolderError, match="Cannot write"), new_folder(tmp_path / "b") as inside:
        (inside / "nothing" / "a").write_text("x")
    assert [path.name for path in tmp_path.iterdir()] == ["deep"]


def test_what_is_there_is_no_new_folder(tmp_path):
    (tmp_path / "link").symlink_to("nowhere")
    for name in (".", "link"):
        with pytest.raises(RunFolderError, match="is there already; name a new folder"):
            check_new(tmp_path / name)
    with pytest.raises(RunFolderError, match="zero bytes"):
        check_new(tmp_path / "a\0b")
    with pytest.raises(RunFolderError, match="is there already"), new_folder(tmp_path / "late"):
        # Somebody was quicker.
        (tmp_path / "late").mkdir()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["late", "link"]


def test_a_scratch_folder_is_gone_afterwards_and_those_of_the_dead_too(tmp_path):
    left = tmp_path / f".tmp-{files._MACHINE}-{2**22 + 1}-0"
    (left / "inside").mkdir(parents=True)
    with scratch_folder(tmp_path) as folder:
        (folder / "a").write_text("x")
        assert not left.exists()
    assert list(tmp_path.iterdir()) == []
