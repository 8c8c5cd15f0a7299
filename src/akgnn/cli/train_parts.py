"""`akgnn train --parts`: one run on a folder of parts, in one process or several."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import typer

from akgnn.cli import options
from akgnn.cli.flags import in_flags
from akgnn.cli.progress import StopRequests, TrainingProgress, interrupted
from akgnn.cli.show import print_json, print_run
from akgnn.cli.terminal import complain, say
from akgnn.errors import AkgnnError, FailedRunsError, InterruptedRunError, SettingsError
from akgnn.training.callbacks import Callback

# Of silence. Processes that lost another take a second to agree on which one it was.
_LEAST_SECONDS, _MOST_SECONDS = 1, 1_000_000
_GO_ON = "Go on with the same line and --resume."


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
    from akgnn.distributed.launch import check_environment, num_workers
    from akgnn.distributed.meeting import Meeting
    from akgnn.distributed.mesh import shape_for
    from akgnn.runs.folder import RunFolder

    options.check_range("--processes", processes, 1, 10_000)
    if not _LEAST_SECONDS <= timeout <= _MOST_SECONDS:
        raise SettingsError(
            f"--timeout must be from {_LEAST_SECONDS} to {_MOST_SECONDS:,} seconds, got "
            f"{timeout:g}."
        )
    check_environment()
    workers = num_workers()
    if workers is not None and processes not in (None, workers):
        raise SettingsError(
            f"--processes {processes} starts processes, but WORLD_SIZE={workers} says that this is "
            "one already. Leave --processes out, or unset RANK and WORLD_SIZE."
        )
    shape = shape_for(workers or processes or 1, mesh)

    def prepared() -> tuple[Any, Any]:
        return _prepared(run, changes, config, folder, shape, at_once)

    if workers is None:
        # Before processes are started, which takes a while.
        plan, parts = prepared()
        if out is not None and not resume:
            RunFolder(out).check_free()
        if processes is not None and processes > 1:
            if mesh is None:
                chosen = _chosen(plan, parts, processes, device, out if resume else None)
                words = [*words, "--mesh", chosen]
            raise typer.Exit(_started(processes, words, out, resume))
    try:
        _train(prepared, shape, at_once, timeout, device, out, resume, checkpoint_seconds, as_json)
    except AkgnnError as error:
        meeting = Meeting.of_this_process()
        if meeting is None:
            raise
        _end_process(meeting, error)


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


def _started(processes: int, words: Sequence[str], out: Path | None, resume: bool) -> int:
    """Run this command in several processes of this machine; their exit status."""
    from akgnn.distributed.start import run_processes
    from akgnn.files import remove_left_over

    again = [] if resume or out is None else ["--resume"]
    try:
        return run_processes(processes, words, again=again, say=complain)
    except InterruptedRunError as error:
        if out is not None:
            # The processes were killed, perhaps while they wrote.
            remove_left_over(out)
        raise interrupted(error, out, _GO_ON) from error


def _end_process(meeting: Any, error: AkgnnError) -> None:
    """Say the error, unless another process has, and how to go on by an exit status."""
    from akgnn.cli.main import flags_of_commands, status_of
    from akgnn.distributed.start import LOST

    if meeting.is_first_to_speak():
        complain(in_flags(str(error), flags_of_commands(), "train"), "red")
    raise typer.Exit(LOST if isinstance(error, FailedRunsError) else status_of(error))


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
    from akgnn.distributed.launch import is_first_here, is_restart, joined, own_device
    from akgnn.distributed.meeting import Meeting
    from akgnn.machine.device import choose_device
    from akgnn.runs.folder import RunFolder
    from akgnn.runs.parted import keep_or_give_back, train_parts

    place = own_device(choose_device(device))
    kept = RunFolder(out) if out is not None and is_first_here() else None
    resume = resume or is_restart()
    meeting = Meeting.of_this_process()
    with joined(place, timeout) as group, ExitStack() as stack:
        is_asked = None if meeting is None else meeting.asks_to_stop
        stops = stack.enter_context(StopRequests(is_asked))
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
            # The words of processes that torchrun started are not the whole line.
            raise interrupted(error, out, _GO_ON) from error
        is_first = group.rank == 0
    if not is_first:
        return
    if as_json:
        print_json(trained.to_dict())
        return
    print_run(trained, str(place), None)
    if out is not None:
        say(f"Kept in {out}; see: akgnn inspect {out}")
