"""The `akgnn` command: it hands over to one file a command, and turns errors into exit statuses.

Nothing here or at the top of a command's file may import torch: `akgnn --help` answers at once.
"""

import os
import sys
from collections.abc import Sequence

import typer

from akgnn.cli.bench import bench
from akgnn.cli.datasets import datasets
from akgnn.cli.explain import explain
from akgnn.cli.inspect import inspect
from akgnn.cli.models import models
from akgnn.cli.predict import predict
from akgnn.cli.report import report
from akgnn.cli.reproduce import reproduce
from akgnn.cli.train import train
from akgnn.errors import (
    AkgnnError,
    DivergedError,
    FailedRunsError,
    InterruptedRunError,
    OutOfMemoryError,
)
from akgnn.version import __version__

# Not the fault of what was asked for.
_FAILURES = (DivergedError, FailedRunsError, InterruptedRunError, OutOfMemoryError)

app = typer.Typer(
    name="akgnn",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (train, predict, inspect, explain, reproduce, report, bench, datasets, models):
    app.command()(command)


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
    """Run the command line; gives the exit status: 0, 1 (failed) or 2 (wrong use)."""
    try:
        status = app(args=arguments, prog_name="akgnn", standalone_mode=False)
        sys.stdout.flush()
        return int(status or 0)
    except typer.TyperException as error:
        # No command at all shows the help, which is an error of its own to typer.
        message = error.format_message()
        print(message if "\n" in message else f"akgnn: {message}", file=sys.stderr)
        return 2
    except AkgnnError as error:
        print(f"akgnn: {error}", file=sys.stderr)
        return 1 if isinstance(error, _FAILURES) else 2
    except (KeyboardInterrupt, typer.Abort):
        print("akgnn: stopped.", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader of a pipe, such as `head`, has had enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
