"""`akgnn train --parts`: one run on a folder of parts, in one process or several."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import typer

from akgnn.cli import options
from akgnn.cli.flags import in_flags
from akgnn.cli.progress import StopRequests, TrainingProgress, interrupted
from akgnn.cli.show import print_json, print_run
from akgnn.cli.terminal import complain, say
from akgnn.errors import AkgnnError, FailedRunsError, InterruptedRunError, SettingsError
from akgnn.training.callbacks import Callback

# Where processes that `--processes` started say how they ended: torchrun would start them again.
_STATUS_FILE = "AKGNN_STATUS_FILE"
# Once this file is there, they stop after the epoch; also once the process of this number, which
# started them, is no more.
_STOP_FILE, _STARTER = "AKGNN_STOP_FILE", "AKGNN_STARTER"
_FAILED = 1
_WRONG = 2
# How often processes are started again after one of them died.
_RESTARTS = 3


def train_on_parts(
    words: Sequence[str],
    run: dict[str, Any],
    changes: dict[str, str],
    config: Path | None,
    folder: Path,
    *,
    processes: int | None,
    mesh: str | None,
    at_once: int | None,
    timeout: float,
    device: str,
    out: Path | None,
    resume: bool,
    checkpoint_seconds: float,
    as_json: bool,
) -> None:
    """Start the processes, with the words of this command, or be one of them."""
    from akgnn.distributed.launch import is_worker, num_workers
    from akgnn.distributed.mesh import shape_for
    from akgnn.runs.folder import RunFolder

    options.check_range("--processes", processes, 1, 10_000)
    if not timeout > 0:
        raise SettingsError(f"--timeout must be above 0, got {timeout:g}.")
    shape = shape_for(num_workers() or processes or 1, mesh)

    def prepared() -> tuple[Any, Any]:
        return _prepared(run, changes, config, folder, shape, at_once)

    if not is_worker():
        # Before processes are started, which takes a while.
        plan, parts = prepared()
        if out is not None and not resume:
            RunFolder(out).check_free()
        if processes is not None and processes > 1:
            if mesh is None:
                chosen = _chosen(plan, parts, processes, device, out if resume else None)
                words = [*words, "--mesh", chosen]
            raise typer.Exit(_started(processes, words))
    try:
        _train(prepared, shape, at_once, timeout, device, out, resume, checkpoint_seconds, as_json)
    except AkgnnError as error:
        status = os.environ.get(_STATUS_FILE)
        if status is None or isinstance(error, FailedRunsError):
            raise
        _say_status(Path(status), error)


def _prepared(
    run: dict[str, Any],
    changes: dict[str, str],
    config: Path | None,
    folder: Path,
    shape: Any,
    at_once: int | None,
) -> tuple[Any, Any]:
    """The plan, and the parts, which processes then check, each its own."""
    from akgnn.distributed.folder import open_parts
    from akgnn.runs.parted import check_plan
    from akgnn.runs.plan import PARTS

    parts = open_parts(folder, check=False)
    options.check_range("--parts-at-once", at_once, 1, parts.num_parts)
    plan = options.decide_plan(
        {**run, "dataset": f"{PARTS}{folder.resolve()}"}, {}, config, changes
    )
    if plan.run.ensemble > 1:
        raise SettingsError("--parts trains one model; leave --ensemble out.")
    check_plan(plan, parts, shape)
    return plan, parts


def _chosen(plan: Any, parts: Any, processes: int, device: str, resumed: Path | None) -> str:
    """The mesh where none is named: that of the run that goes on, else the plan's choice."""
    from akgnn.cli.main import flags_of_commands
    from akgnn.machine.device import choose_device
    from akgnn.runs.folder import RunFolder
    from akgnn.runs.mesh_choice import choose_mesh_for, kept_mesh

    kept = None if resumed is None else kept_mesh(RunFolder(resumed), processes)
    if kept is not None:
        return str(kept)
    shape, why = choose_mesh_for(plan, parts, processes, choose_device(device))
    if why:
        complain(in_flags(why, flags_of_commands(), "train"))
    return str(shape)


def _started(processes: int, words: Sequence[str]) -> int:
    """Run this command in so many processes of this machine; their status.

    The first SIGINT, SIGTERM or SIGHUP asks them by a file to stop after the epoch, since torchrun
    waits a few seconds alone; the second has torchrun end them. It is in a session of its own, out
    of reach of a terminal's Ctrl-C.
    """
    from torch.distributed.run import get_args_parser

    from akgnn.distributed.launch import environment_for

    torchrun: dict[str, int | str] = {
        "nproc-per-node": processes,
        "max-restarts": _RESTARTS,
        # A meeting point of this machine alone, at any port that is free.
        "rdzv-backend": "c10d",
        "rdzv-endpoint": "localhost:0",
    }
    # How long it waits for processes that it asked to end; torch 2.11 does not know it yet.
    wait = "shutdown-timeout"
    if wait in get_args_parser().format_help():
        torchrun[wait] = 5
    options_of = [f"--{name}={value}" for name, value in torchrun.items()]
    command = [sys.executable, "-m", "torch.distributed.run", *options_of, "-m", "akgnn", *words]
    with TemporaryDirectory() as folder:
        status, stop = Path(folder) / "status", Path(folder) / "stop"
        told = {_STATUS_FILE: str(status), _STOP_FILE: str(stop), _STARTER: str(os.getpid())}
        environment = {**environment_for(processes), **told}
        started: list[subprocess.Popen[bytes]] = []

        def ask(number: int, frame: FrameType | None) -> None:
            for torchrun in started if stop.exists() else []:
                torchrun.terminate()
            stop.touch()

        with _handled_by(ask):
            started.append(subprocess.Popen(command, env=environment, start_new_session=True))
            ended = started[0].wait()
        return int(status.read_text()) if status.exists() else ended


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Give signals that end a program to a function."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    # Started by nohup it goes on when the terminal is closed.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        before[signal.SIGHUP] = signal.getsignal(signal.SIGHUP)
    try:
        for number in before:
            signal.signal(number, handler)
        yield
    finally:
        for number, handled in before.items():
            signal.signal(number, handled)


def _say_status(file: Path, error: AkgnnError) -> None:
    """Tell who started this process that starting it again would not help."""
    from akgnn.cli.main import flags_of_commands

    if os.environ.get("RANK", "0") == "0":
        complain(in_flags(str(error), flags_of_commands(), "train"), "red")
        is_failure = isinstance(error, InterruptedRunError | ArithmeticError | MemoryError)
        file.write_text(str(_FAILED if is_failure else _WRONG))


def _train(
    prepared: Callable[[], tuple[Any, Any]],
    shape: Any,
    at_once: int | None,
    timeout: float,
    device: str,
    out: Path | None,
    resume: bool,
    checkpoint_seconds: float,
    as_json: bool,
) -> None:
    """What each process does."""
    from akgnn.distributed.launch import is_first_here, joined, own_device
    from akgnn.machine.device import choose_device
    from akgnn.runs.folder import RunFolder
    from akgnn.runs.parted import keep_or_give_back, train_parts

    place = own_device(choose_device(device))
    kept = RunFolder(out) if out is not None and is_first_here() else None
    # Torchrun starts processes again after one of them died: they go on.
    resume = resume or os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"
    with joined(place, timeout) as group, ExitStack() as stack:
        file, starter = os.environ.get(_STOP_FILE), os.environ.get(_STARTER)
        stops = stack.enter_context(StopRequests(file, None if starter is None else int(starter)))
        # Hosts may have other folders: what is wrong with one all of them say.
        plan, parts = group.together(prepared)
        if at_once is None:
            # Else memory is small, and what is kept for later counts as taken.
            keep_or_give_back(plan, parts, shape)
        shown: list[Callback] = []
        if group.rank == 0:
            shown.append(stack.enter_context(TrainingProgress(1, plan.preset.training)))
        try:
            trained = train_parts(
                plan,
                parts,
                kept,
                group,
                place,
                resume=resume,
                mesh=shape,
                checkpoint_seconds=checkpoint_seconds,
                timeout=timeout,
                parts_at_once=at_once,
                callbacks=shown,
                should_stop=stops.should_stop,
            )
        except InterruptedRunError as error:
            # Of processes that torchrun started only who started it knows the whole line.
            raise interrupted(error, out, "Go on with the same line and --resume.") from error
        is_first = group.rank == 0
    if not is_first:
        return
    if as_json:
        print_json(trained.to_dict())
        return
    print_run(trained, str(place), None)
    if out is not None:
        say(f"Kept in {out}; see: akgnn inspect {out}")
