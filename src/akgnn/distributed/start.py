"""Start `akgnn` in several processes of this machine, without torchrun.

Torchrun opens ports on every network interface, without authentication.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

from akgnn.distributed.meeting import Meeting
from akgnn.errors import FailedRunsError, InterruptedRunError

LOST = os.EX_TEMPFAIL
"""Exit status of a process that lost another one, so that starting all again may help."""
# What other starts have set, and would lead processes elsewhere.
_FOREIGN = ("TORCHELASTIC_", "MASTER_", "NCCL_COMM_ID")
_POLL_SECONDS = 0.05
# How long processes may take to say what they lost, before they are killed.
_GRACE_SECONDS = 5.0

_Processes = list[subprocess.Popen[bytes]]


def run_processes(
    number: int,
    words: Sequence[str],
    *,
    again: Sequence[str] = (),
    restarts: int = 3,
    say: Callable[[str], None] = print,
    stdout: int | None = None,
) -> int:
    """Run `akgnn` in several processes of this machine; start all again if one of them dies.

    The first SIGINT, SIGTERM or SIGHUP asks all processes to stop after the epoch. The second one
    kills them.

    Args:
        number: Number of processes.
        words: Arguments of `akgnn`.
        again: Further arguments after a restart.
        restarts: How often to start all processes again.
        say: Called with a line about each restart.
        stdout: Where the processes write, as `subprocess.Popen` takes it.

    Returns:
        The exit status of the processes.

    Raises:
        FailedRunsError: Processes cannot be started, or one died too often.
        InterruptedRunError: A second signal came.
    """
    signals: list[int] = []
    with _private_folder() as folder, _noted(signals):
        for attempt in range(restarts + 1):
            meeting = Meeting(folder / str(attempt), os.getpid())
            given = [*words, *(again if attempt else ())]
            failed = _run_once(number, given, meeting, signals, stdout)
            killed = {rank: status for rank, status in failed.items() if status < 0}
            if not killed and LOST not in failed.values():
                return next(iter(failed.values()), 0)
            what = _what_happened(killed)
            if signals:
                break
            if attempt < restarts:
                say(f"{what}. Starting all processes again ({attempt + 1} of {restarts}).")
    raise FailedRunsError(f"{what}. What was kept stays; `resume=True` goes on.")


def environment_for(number: int) -> dict[str, str]:
    """The environment that processes of this machine share, and with it the cores."""
    threads = str(max(1, (os.cpu_count() or 1) // number))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    size = {"WORLD_SIZE": str(number), "LOCAL_WORLD_SIZE": str(number)}
    return {"OMP_NUM_THREADS": threads, **kept, **size}


def _run_once(
    number: int,
    words: Sequence[str],
    meeting: Meeting,
    signals: Sequence[int],
    stdout: int | None,
) -> dict[int, int]:
    """Run the processes until one fails; return the statuses of the failed ones, by rank."""
    running: _Processes = []
    try:
        _start(running, number, words, meeting, stdout)
        while not (failed := _failed(running)) and any(each.poll() is None for each in running):
            if signals:
                meeting.stop.touch()
            if len(signals) > 1:
                if meeting.is_first_to_speak():
                    raise InterruptedRunError("Stopped at once, before the epoch was over.")
                # One of them was about to end, and has said why.
                return {0: 1}
            time.sleep(_POLL_SECONDS)
        return failed or _failed(running)
    finally:
        _end(running, signals)


def _start(
    running: _Processes, number: int, words: Sequence[str], meeting: Meeting, stdout: int | None
) -> None:
    shared = {**environment_for(number), **meeting.environment}
    try:
        meeting.folder.mkdir()
        for rank in range(number):
            own = {**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}
            command = [sys.executable, "-m", "akgnn", *words]
            # In a session of its own, out of reach of a terminal's Ctrl-C.
            running.append(
                subprocess.Popen(command, env=own, stdout=stdout, start_new_session=True)
            )
    except OSError as error:
        cause = error.strerror or str(error)
        raise FailedRunsError(f"Process {len(running)} cannot be started: {cause}.") from error


def _failed(running: _Processes) -> dict[int, int]:
    statuses = {rank: each.poll() for rank, each in enumerate(running)}
    return {rank: status for rank, status in statuses.items() if status}


def _end(running: _Processes, signals: Sequence[int]) -> None:
    """End all processes; unless the user is in a hurry, let them say what they lost."""
    for each in running:
        each.terminate()
    end = time.monotonic() + _GRACE_SECONDS
    while len(signals) < 2 and time.monotonic() < end:
        # SIGKILL alone reaches a stopped process.
        if all(each.poll() is not None or _is_stopped(each) for each in running):
            break
        time.sleep(_POLL_SECONDS)
    for each in running:
        each.kill()
        each.wait()


def _is_stopped(process: subprocess.Popen[bytes]) -> bool:
    asked = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
    return os.waitid(os.P_PID, process.pid, asked) is not None


def _what_happened(killed: Mapping[int, int]) -> str:
    if not killed:
        return "Processes lost their connection"
    rank, status = min(killed.items())
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"Process {rank} was ended by {name}"


@contextmanager
def _private_folder() -> Iterator[Path]:
    """A folder that no other user can open."""
    try:
        folder = TemporaryDirectory(prefix="akgnn-", ignore_cleanup_errors=True)
    except OSError as error:
        raise FailedRunsError(
            f"Processes need a temporary folder: {error.strerror or error}. "
            "Let TMPDIR name a folder that can be written to."
        ) from error
    with folder as name:
        yield Path(name)


@contextmanager
def _noted(signals: list[int]) -> Iterator[None]:
    """Inside, signals that end a program are only noted."""

    def note(number: int, frame: FrameType | None) -> None:
        signals.append(number)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    # Started by nohup, it goes on when the terminal is closed.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        before[signal.SIGHUP] = signal.getsignal(signal.SIGHUP)
    try:
        for number in before:
            signal.signal(number, note)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
