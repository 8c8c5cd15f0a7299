"""`akgnn train --parts`: one run on a folder of parts, in one process or several."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from akgnn.cli.flags import in_flags
from akgnn.cli.front import Terminal
from akgnn.cli.progress import StopRequests, TrainingProgress, interrupted
from akgnn.cli.show import print_json, print_run
from akgnn.cli.terminal import complain, say
from akgnn.errors import AkgnnError, FailedRunsError, InterruptedRunError
from akgnn.training.callbacks import Callback

if TYPE_CHECKING:
    from akgnn.runs.jobs import Job
    from akgnn.runs.request import Request

_GO_ON = "Go on with the same line and --resume."


class _Bar(Terminal):
    """Shows one training on standard error; signals are for all processes to agree on."""

    @contextmanager
    def training(self, jobs: Sequence["Job"]) -> Iterator[Sequence[Callback]]:
        with TrainingProgress(1, jobs[0].plan.preset.training) as progress:
            yield [progress]


def train_on_parts(request: "Request", *, as_json: bool) -> None:
    """Start the processes, or be one of them."""
    from akgnn.distributed.meeting import Meeting
    from akgnn.runs.parts_request import processes_of, start_processes, train_here

    front, out = _Bar(request), None if request.out is None else Path(request.out)
    number = processes_of(request)
    meeting = None if number is not None else Meeting.of_this_process()
    try:
        if number is not None:
            raise typer.Exit(start_processes(request, front, ["--json"] if as_json else []))
        with StopRequests(None if meeting is None else meeting.asks_to_stop) as stops:
            run, device = train_here(request, front, asks_to_stop=stops.should_stop)
    except InterruptedRunError as error:
        # The words of processes that torchrun started are not the whole line.
        _end(meeting, interrupted(error, out, _GO_ON))
    except AkgnnError as error:
        _end(meeting, error)
    if run is None:
        return
    if as_json:
        print_json(run.to_dict())
        return
    print_run(run, device, None)
    if out is not None:
        say(f"Kept in {out}; see: akgnn inspect {out}")


def _end(meeting: Any, error: AkgnnError) -> None:
    """Raise the error; in one of several processes say it unless another has, and exit."""
    from akgnn.cli.main import flags_of_commands, status_of
    from akgnn.distributed.start import LOST

    if meeting is None:
        raise error
    if meeting.is_first_to_speak():
        complain(in_flags(str(error), flags_of_commands(), "train"), "red")
    raise typer.Exit(LOST if isinstance(error, FailedRunsError) else status_of(error))
