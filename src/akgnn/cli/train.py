"""`akgnn train`."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from akgnn.cli import options
from akgnn.cli.flags import in_flags
from akgnn.cli.request_options import with_request
from akgnn.cli.show import (
    choice_object,
    folds_summary,
    print_choice,
    print_folds,
    print_json,
    print_run,
    print_seeds,
    seeds_summary,
)
from akgnn.cli.terminal import say
from akgnn.errors import SettingsError
from akgnn.runs.request import OUTPUT, Request

if TYPE_CHECKING:
    from akgnn.runs.outcomes import Runs


@with_request()
def train(
    context: typer.Context,
    request: Request,
    watch: Annotated[
        bool,
        options.option(
            OUTPUT, "Draw losses, accuracy and what is learned while it trains.", "--watch"
        ),
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Train a model and report its test accuracy.

    Example: akgnn train --dataset citeseer --seeds 10 --set num_layers=8
    """
    request.check()
    if watch and request.parts is not None:
        raise SettingsError("--watch cannot be combined with --parts.")
    if request.parts is not None:
        from akgnn.cli.train_parts import train_on_parts

        train_on_parts(request, as_json=as_json)
        return
    from akgnn.cli.front import Terminal
    from akgnn.machine.device import keep_freed_memory
    from akgnn.runs.outcomes import carry_out

    keep_freed_memory()
    runs = carry_out(request, Terminal(request, watch=watch))
    if as_json:
        print_json(_as_object(request, runs))
        return
    _show(request, runs)
    verdict = runs[0].verdict
    flags = {"train": {flag for option in context.command.params for flag in option.opts}}
    for note in verdict.notes if verdict is not None else ():
        say(in_flags(note, flags, "train"), "yellow")
    folder = runs[0].folder
    if folder is not None:
        say(f"Kept in {request.out}; see: akgnn inspect {folder.path}")


def _as_object(request: Request, runs: "Runs") -> dict[str, object]:
    several = folds_summary if request.folds else seeds_summary
    shown = several(runs) if request.folds or request.seeds else runs[0].to_dict()
    choice, verdict = runs[0].choice, runs[0].verdict
    shown |= {} if verdict is None else {"verdict": asdict(verdict)}
    return shown if choice is None else {**shown, "choice": choice_object(choice)}


def _show(request: Request, runs: "Runs") -> None:
    choice, verdict = runs[0].choice, runs[0].verdict
    if choice is not None:
        print_choice(choice, votes=bool(runs[0].votes))
    if request.folds:
        print_folds(runs, runs.device)
    elif len(runs) == 1:
        print_run(runs[0], runs.device, verdict)
    else:
        print_seeds(runs, verdict)
