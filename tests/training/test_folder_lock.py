import os
import subprocess
import sys

import pytest

from akgnn.errors import RunFolderError
from akgnn.training.folder_lock import folder_lock

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no such lock")

# Takes the lock, says so, and waits until its input ends.
HOLD = """
import sys
from pathlib import Path
from akgnn.training.folder_lock import folder_lock
with folder_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


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
    assert [file.name for file in tmp_path.iterdir()] == ["other"]
