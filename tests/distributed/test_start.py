"""What starts processes, tried on programs that are quicker than a training."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from akgnn.distributed import start
from akgnn.distributed.meeting import Meeting
from akgnn.distributed.start import LOST, environment_for, run_processes
from akgnn.errors import FailedRunsError, InterruptedRunError

# Stands for `akgnn`: says who it is, and ends as its words say for its rank.
PROGRAM = """
import os, signal, sys, time
from pathlib import Path
rank, (place, *words) = int(os.environ["RANK"]), sys.argv[1:]
meeting = Path(os.environ["AKGNN_MEETING"])
Path(place, f"{meeting.name}-{rank}").write_text(f"{os.getpid()} {' '.join(words)}")
what = words[rank]
# Each begins before one of them ends.
while len(list(Path(place).glob(f"{meeting.name}-[0-9]"))) < 2:
    time.sleep(0.01)
if "again" in words:
    sys.exit(0)
if what == "stops":
    os.kill(os.getpid(), signal.SIGSTOP)
if what == "asked":
    Path(place, "ready").touch()
    while not meeting.with_name("stop").exists():
        time.sleep(0.01)
    sys.exit(1)
if what == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Path(place, "ready").touch()
    time.sleep(60)
if what == "speaks":
    meeting.joinpath("said").touch()
    Path(place, "ready").touch()
    time.sleep(60)
if what == "waits":
    time.sleep(60)
if what == "dies":
    os.kill(os.getpid(), signal.SIGKILL)
sys.exit(int(what))
"""


def send(place: Path, number: int) -> threading.Thread:
    """Send this process so many signals, once processes are ready."""

    def signals():
        while not place.joinpath("ready").exists():
            time.sleep(0.01)
        for _ in range(number):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.2)

    thread = threading.Thread(target=signals)
    thread.start()
    return thread


@pytest.fixture
def begin(tmp_path, monkeypatch):
    """Runs such processes; their status, and what was said of restarts."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    popen = subprocess.Popen

    def started(command, **settings):
        return popen([sys.executable, str(program), str(tmp_path), *command[3:]], **settings)

    monkeypatch.setattr(start.subprocess, "Popen", started)

    def begin(*words, **settings):
        said = []
        status = run_processes(2, words, say=said.append, **settings)
        return status, said

    return begin


def processes(place: Path) -> dict[str, int]:
    files = place.glob("[0-9]-[0-9]")
    return {file.name: int(file.read_text().split()[0]) for file in files}


def is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize(("words", "status"), [("00", 0), ("10", 1), ("02", 2), ("22", 2)])
def test_the_status_is_that_of_the_processes(begin, tmp_path, words, status):
    assert begin(*words) == (status, [])
    assert set(processes(tmp_path)) == {"0-0", "0-1"}


def test_who_fails_is_not_started_again_and_the_others_are_ended(begin, tmp_path):
    assert begin("waits", "2") == (2, [])
    assert all(is_gone(process) for process in processes(tmp_path).values())


def test_after_a_death_all_are_started_again_with_further_words(begin, tmp_path):
    assert begin("waits", "dies", again=["again"]) == (
        0,
        ["Process 1 was ended by SIGKILL. Starting all processes again (1 of 3)."],
    )
    assert tmp_path.joinpath("1-1").read_text().endswith(" waits dies again")


def test_who_lost_another_is_started_again_and_a_stopped_process_is_ended(begin, tmp_path):
    status, said = begin("stops", str(LOST), again=["again"])
    assert status == 0
    assert said == ["Processes lost their connection. Starting all processes again (1 of 3)."]
    assert is_gone(processes(tmp_path)["0-0"])


def test_who_dies_too_often_is_named(begin, tmp_path):
    with pytest.raises(FailedRunsError, match=r"^Process 0 was ended by SIGKILL\. What was kept"):
        begin("dies", "waits", restarts=2)
    assert set(processes(tmp_path)) == {f"{a}-{rank}" for a in range(3) for rank in range(2)}


def test_the_first_signal_asks(begin, tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    thread = send(tmp_path, 1)
    assert begin("asked", "asked") == (1, [])
    thread.join()
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_second_signal_ends_all_at_once(begin, tmp_path, monkeypatch):
    monkeypatch.setattr(start, "_GRACE_SECONDS", 1000.0)
    thread = send(tmp_path, 2)
    with pytest.raises(InterruptedRunError, match="Stopped at once"):
        begin("deaf", "deaf")
    thread.join()
    assert all(is_gone(process) for process in processes(tmp_path).values())


def test_who_has_said_that_it_stops_is_believed(begin, tmp_path):
    thread = send(tmp_path, 2)
    assert begin("speaks", "waits") == (1, [])
    thread.join()


def test_their_folder_is_private_and_gone_afterwards(begin, tmp_path, monkeypatch):
    seen = []

    def see(meeting):
        folder = meeting.folder.parent
        seen.append((folder, stat.S_IMODE(folder.stat().st_mode)))
        return {"AKGNN_MEETING": str(meeting.folder)}

    monkeypatch.setattr(Meeting, "environment", property(see))
    assert begin("0", "0") == (0, [])
    ((folder, mode),) = seen
    assert mode == 0o700
    assert not folder.exists()


def test_a_program_that_cannot_be_started_is_a_line(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(FailedRunsError, match=r"^Process 0 cannot be started: No such file"):
        run_processes(2, ["train"])


def test_a_process_that_finds_no_memory_ends_those_before_it(begin, tmp_path, monkeypatch):
    program = start.subprocess.Popen

    def full(command, env, **settings):
        if env["RANK"] == "1":
            raise OSError(12, "Cannot allocate memory")
        return program(command, env=env, **settings)

    monkeypatch.setattr(start.subprocess, "Popen", full)
    with pytest.raises(FailedRunsError, match=r"^Process 1 cannot be started: Cannot allocate"):
        begin("waits", "waits")
    assert all(is_gone(process) for process in processes(tmp_path).values())


def test_without_a_temporary_folder_there_is_a_line(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    with pytest.raises(FailedRunsError, match=r"^Processes need a temporary folder: No such file"):
        run_processes(2, ["train"])


def test_processes_share_the_cores_and_nothing_of_another_start(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    for name in ("MASTER_ADDR", "TORCHELASTIC_RESTART_COUNT", "NCCL_COMM_ID"):
        monkeypatch.setenv(name, "nonsense")
    environment = environment_for(3)
    assert environment["OMP_NUM_THREADS"] == "2"
    assert not {"MASTER_ADDR", "TORCHELASTIC_RESTART_COUNT", "NCCL_COMM_ID"} & set(environment)


def test_what_the_user_set_stays(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert environment_for(3)["OMP_NUM_THREADS"] == "5"
