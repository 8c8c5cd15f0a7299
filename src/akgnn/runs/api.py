"""`akgnn.train`: from data to a run in one call."""

import subprocess
from collections.abc import Callable
from dataclasses import fields
from typing import ParamSpec

from akgnn.errors import FailedRunsError, SettingsError, UnknownNameError
from akgnn.runs.load import load_run
from akgnn.runs.outcomes import Front, Runs, carry_out
from akgnn.runs.request import Request
from akgnn.runs.run import Run

Options = ParamSpec("Options")


def _with_options_of(
    request: Callable[Options, Request],
) -> Callable[[Callable[[Request], Run | Runs]], Callable[Options, Run | Runs]]:
    """Decorate a function of a request: it is called with the options of the request."""

    def decorated(function: Callable[[Request], Run | Runs]) -> Callable[Options, Run | Runs]:
        def called(*options: Options.args, **named: Options.kwargs) -> Run | Runs:
            names = [each.name for each in fields(Request)]
            for name in named:
                if name not in names:
                    raise UnknownNameError("option", name, names)
            return function(request(*options, **named))

        called.__name__, called.__doc__ = function.__name__, function.__doc__
        called.__qualname__, called.__module__ = function.__qualname__, function.__module__
        called.__wrapped__ = request  # type: ignore[attr-defined]
        return called

    return decorated


@_with_options_of(Request)
def train(request: Request) -> Run | Runs:
    """Train a model on a data set or on your own tables.

    Call it as `train(dataset, option=value, …)` or, with your own tables, as
    `train(nodes=…, edges=…, label=…, option=value, …)`. `Request` lists the options, which are
    those of `akgnn train`.

    Examples:
        >>> run = akgnn.train("cora", settings={"epochs": 50})  # doctest: +SKIP
        >>> run.result.test_accuracy, run.predict().labels[:3]  # doctest: +SKIP

    Returns:
        The run, with its result and its model; with `seeds` or `folds`, all runs.

    Raises:
        SettingsError: An option is wrong, or options cannot be combined.
        DataError: The data cannot be read, or do not fit together.
        DivergedError: A loss stopped being a number.
        RunFolderError: `out` cannot take the run.
        OutOfMemoryError: Training would not fit into memory.
    """
    request.check()
    if request.parts is not None:
        return _train_on_parts(request)
    runs = carry_out(request)
    return runs if request.seeds is not None or request.folds is not None else runs[0]


def _train_on_parts(request: Request) -> Run:
    """Train on parts, in this process or in others that keep the run in `out`."""
    # torch.distributed takes a while to import.
    from akgnn.runs.parts_request import processes_of, start_processes, train_here

    if processes_of(request) is None:
        run, _ = train_here(request, Front())
        assert run is not None, "one process is the first"
        return run
    if request.out is None:
        raise SettingsError("`processes` needs `out`, where the processes keep the run.")
    status = start_processes(request, Front(), [], stdout=subprocess.DEVNULL)
    if status:
        raise FailedRunsError(f"The processes ended with status {status}; they have said why.")
    return load_run(request.out)
