"""A request for a training on the parts of a graph, in one process or several."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from akgnn.distributed.folder import FolderParts, open_parts
from akgnn.distributed.launch import (
    check_environment,
    is_first_here,
    is_restart,
    joined,
    num_workers,
    own_device,
)
from akgnn.distributed.mesh import MeshShape, shape_for
from akgnn.distributed.start import run_processes
from akgnn.errors import InterruptedRunError, SettingsError
from akgnn.files import remove_left_over
from akgnn.machine.device import choose_device
from akgnn.runs.config import Config, read_config
from akgnn.runs.folder import RunFolder
from akgnn.runs.jobs import Job
from akgnn.runs.mesh_choice import choose_mesh_for, kept_mesh
from akgnn.runs.outcomes import Front
from akgnn.runs.parted import check_plan, keep_or_give_back, train_parts
from akgnn.runs.plan import PARTS, RunPlan, RunSettings
from akgnn.runs.request import Request, check_range
from akgnn.runs.run import Run


def processes_of(request: Request) -> int | None:
    """Number of processes that this one has to start; None if it trains itself.

    Raises:
        SettingsError: The environment says that this is one of several, but not as the request.
    """
    check_environment()
    workers = num_workers()
    if workers is not None and request.processes not in (None, workers):
        raise SettingsError(
            f"`processes={request.processes}` starts processes, but WORLD_SIZE={workers} says that "
            "this is one already. Leave `processes` out, or unset RANK and WORLD_SIZE."
        )
    return None if workers is not None or (request.processes or 1) == 1 else request.processes


def start_processes(request: Request, front: Front, words: list[str], **streams: Any) -> int:
    """Train in several processes of this machine; their exit status.

    Args:
        request: The request, which says how many.
        front: What to show.
        words: Further arguments of `akgnn train`.
        streams: Where the processes write, as `run_processes` takes it.
    """
    number = request.processes or 1
    # Before processes are started, which takes a while.
    plan, parts = _plan_and_parts(request, shape_for(number, request.mesh))
    _check_free(request)
    if request.mesh is None:
        request = replace(request, mesh=_mesh_for(request, plan, parts, front))
    again = [] if request.resume or request.out is None else Request(resume=True).words()
    arguments = ["train", *request.words(), *words]
    try:
        return run_processes(number, arguments, again=again, say=front.remark, **streams)
    except InterruptedRunError:
        if request.out is not None:
            # The processes were killed, perhaps while they wrote.
            remove_left_over(Path(request.out))
        raise


def train_here(
    request: Request,
    front: Front,
    *,
    asks_to_stop: Callable[[], bool] = lambda: False,
) -> tuple[Run | None, str]:
    """Train in this process, which may be one of several; the run in the first, and the device."""
    shape = shape_for(num_workers() or 1, request.mesh)
    if num_workers() is None:
        _plan_and_parts(request, shape)
        _check_free(request)
    place = own_device(choose_device(request.device))
    has_folder = request.out is not None and is_first_here()
    kept = RunFolder(request.out) if has_folder and request.out is not None else None
    with joined(place, request.timeout) as group, ExitStack() as stack:
        # Hosts may have other folders: what is wrong with one all of them say.
        plan, parts = group.together(lambda: _plan_and_parts(request, shape))
        if request.parts_at_once is None:
            # Else memory is small, and what is kept for later counts as taken.
            keep_or_give_back(plan, parts, shape)
        shown = stack.enter_context(front.training([Job(plan, kept)])) if group.rank == 0 else ()
        run = train_parts(
            plan,
            parts,
            kept,
            group,
            place,
            resume=request.resume or is_restart(),
            mesh=shape,
            checkpoint_seconds=request.checkpoint_seconds,
            timeout=request.timeout,
            parts_at_once=request.parts_at_once,
            callbacks=[*request.callbacks, *shown],
            should_stop=asks_to_stop,
        )
        return (run if group.rank == 0 else None), str(place)


def _check_free(request: Request) -> None:
    if request.out is not None and not request.resume:
        RunFolder(request.out).check_free()


def _plan_and_parts(request: Request, shape: MeshShape) -> tuple[RunPlan, FolderParts]:
    """The plan, and the parts, which processes then check, each its own."""
    folder = Path(request.parts or "")
    parts = open_parts(folder, check=False)
    check_range("parts_at_once", request.parts_at_once, 1, parts.num_parts)
    file = Config() if request.config is None else read_config(Path(request.config))
    if file.tables:
        raise SettingsError(
            "The settings file names tables, but `parts` is a folder that fixes the data already."
        )
    run = {**file.run, **request.values(RunSettings.names())}
    run["dataset"] = f"{PARTS}{folder.resolve()}"
    plan = RunPlan.decide(run, request.changes(), by_kind=file.preset)
    if plan.run.ensemble > 1:
        raise SettingsError("`parts` trains one model; leave `ensemble` out.")
    check_plan(plan, parts, shape)
    return plan, parts


def _mesh_for(request: Request, plan: RunPlan, parts: FolderParts, front: Front) -> str:
    """The mesh if none is named: that of the run that goes on, else the plan's choice."""
    number = request.processes or 1
    resumed = RunFolder(request.out) if request.resume and request.out is not None else None
    kept = None if resumed is None else kept_mesh(resumed, number)
    if kept is not None:
        return str(kept)
    shape, why = choose_mesh_for(plan, parts, number, choose_device(request.device))
    if why:
        front.remark(why)
    return str(shape)
