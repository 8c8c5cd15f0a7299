"""The `akgnn` command: it hands over to one file a command, and turns errors into exit statuses.

Nothing here or at the top of a command's file may import torch: `akgnn --help` answers at once.
"""

import re
import sys
import warnings
from collections.abc import Sequence

import typer

from akgnn.cli.bench import bench
from akgnn.cli.datasets import datasets
from akgnn.cli.explain import explain
from akgnn.cli.export import export
from akgnn.cli.flags import in_flags
from akgnn.cli.help import Command, Group
from akgnn.cli.init import init
from akgnn.cli.inspect import inspect
from akgnn.cli.models import models
from akgnn.cli.partition import partition
from akgnn.cli.plan import plan
from akgnn.cli.predict import predict
from akgnn.cli.report import report
from akgnn.cli.reproduce import reproduce
from akgnn.cli.signals import ended_like_ctrl_c
from akgnn.cli.terminal import complain, give_up, prepare_streams
from akgnn.cli.train import train
from akgnn.cli.tune import tune
from akgnn.errors import (
    AkgnnError,
    DivergedError,
    FailedRunsError,
    InterruptedRunError,
    LookAlikeWarning,
    OutOfMemoryError,
)
from akgnn.machine.openmp import spin_briefly
from akgnn.machine.torch_log import errors_only
from akgnn.version import __version__

# Not the fault of what was asked for.
_FAILURES = (DivergedError, FailedRunsError, InterruptedRunError, OutOfMemoryError)
# What typer makes of Ctrl-C inside a command.
_INTERRUPTED = 130

app = typer.Typer(
    name="akgnn",
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = (
    train, tune, predict, init, inspect, explain, export, partition, plan, reproduce, report, bench,
    datasets, models,
)  # fmt: skip
for command in COMMANDS:
    app.command(cls=Command)(command)


def flags_of_commands() -> dict[str, set[str]]:
    """All flags of each command."""
    group = typer.main.get_group(app)
    return {
        name: {flag for parameter in command.params for flag in parameter.opts}
        for name, command in group.commands.items()
    }


def status_of(error: AkgnnError) -> int:
    """The exit status of an error: 1 for a failure, 2 for wrong use."""
    return 1 if isinstance(error, _FAILURES) else 2


def _about_minus(error: typer.TyperException) -> str:
    """What to do where an argument, such as the id of a node, was taken for an option."""
    name, context = getattr(error, "option_name", ""), getattr(error, "ctx", None)
    if context is None or not re.match(r"-[^-]", name):
        return ""
    arguments = [each for each in context.command.params if each.param_type_name == "argument"]
    if not arguments or arguments[-1].nargs != -1:
        return ""
    others = " ".join(each.name.upper() for each in arguments[:-1])
    word = next((word for word in context.obj or () if word.startswith(name)), name)
    return f". If it is an id, write it after --: {context.command_path} {others} -- {word}"


def _show_version(value: bool) -> None:
    if value:
        print(f"akgnn {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """Classify the nodes of a graph with kernels that learn how much to smooth.

    Start with: akgnn train
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; gives the exit status: 0, 1 (failed) or 2 (wrong use).

    Ctrl-C, SIGTERM and SIGHUP end a command with a line and status 1.
    """
    try:
        with ended_like_ctrl_c():
            return _run(sys.argv[1:] if arguments is None else arguments)
    except (KeyboardInterrupt, typer.Abort):
        complain("stopped.")
        return 1


def _run(given: Sequence[str]) -> int:
    spin_briefly()
    errors_only()
    if not prepare_streams():
        complain("Standard output is closed; send it to a file, or to /dev/null.", "red")
        return 2
    try:
        with warnings.catch_warnings():
            # Commands say it in a line of their own.
            warnings.simplefilter("ignore", LookAlikeWarning)
            # Commands that start themselves in other processes need all words.
            status = app(args=given, prog_name="akgnn", standalone_mode=False, obj=list(given))
        sys.stdout.flush()
        if status == _INTERRUPTED:
            raise KeyboardInterrupt
        return int(status or 0)
    except typer.TyperException as error:
        if given:
            complain(error.format_message() + _about_minus(error), "red")
        else:
            # No command at all shows the help, which is an error of its own to typer.
            print(error.format_message(), file=sys.stderr)
        return 2
    except AkgnnError as error:
        command = next((word for word in given if not word.startswith("-")), "")
        complain(in_flags(str(error), flags_of_commands(), command), "red")
        return status_of(error)
    except BrokenPipeError:
        # The reader of a pipe, such as `head`, has had enough.
        give_up(sys.stdout)
        return 1
    except OSError as error:
        if error.filename is not None:
            raise
        # Whoever writes to a file says which one.
        complain(f"Cannot write to standard output: {error.strerror or error}.", "red")
        give_up(sys.stdout)
        return 1
