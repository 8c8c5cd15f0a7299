"""Progress bars of training and of experiments; silent where nobody looks at a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

if TYPE_CHECKING:
    from akgnn.experiments.runner import Progress
    from akgnn.training.history import History


@contextmanager
def training_progress(num_runs: int) -> Iterator[Callable[[int, int, "History"], None]]:
    """Inside, the function given shows how far a run is: its patience, number and history.

    The bar of a run fills up with the patience that is used, as nobody knows how many epochs
    there will be.
    """
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bars(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("Training", total=1)

        def show(patience: int, run: int, history: "History") -> None:
            if bar.disable:
                return
            best = min(range(len(history)), key=history.val_loss.__getitem__)
            which = f"run {run + 1} of {num_runs} · " if num_runs > 1 else ""
            text = (
                f"{which}epoch {len(history):4d} · validation {history.val_accuracy[-1]:5.1f} % "
                f"· best loss at {best + 1:4d}"
            )
            waited = len(history) - 1 - best
            bar.update(task, description=text, completed=waited, total=patience)

        yield show


@contextmanager
def runs_progress(num_runs: int) -> Iterator[Callable[["Progress"], None]]:
    """Inside, the function given shows how many runs of an experiment are done."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    is_silent = not (console.is_terminal and num_runs)
    with Bars(*columns, console=console, disable=is_silent, transient=True) as bar:
        task = bar.add_task(f"0 of {num_runs} runs", total=num_runs)

        def show(progress: "Progress") -> None:
            which = progress.record.plan.which
            text = (
                f"{progress.done} of {progress.total} runs · last {which.model} on {which.dataset} "
                f"· {_duration(progress.seconds_left)} left"
            )
            bar.update(task, description=text, completed=progress.done)

        yield show


@contextmanager
def cases_progress(num_cases: int) -> Iterator[Callable[[int, str], None]]:
    """Inside, the function given shows which case of a benchmark is being measured."""
    console = Console(stderr=True)
    with Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
        # A bar that moves by itself would take time from what is measured.
        auto_refresh=False,
        # Tables are printed meanwhile: above the bar, but not where they go to a file or a pipe.
        redirect_stdout=sys.stdout.isatty(),
    ) as bar:
        task = bar.add_task("", total=num_cases)

        def show(number: int, title: str) -> None:
            text = f"{number + 1} of {num_cases} · {title}"
            bar.update(task, description=text, completed=number, refresh=True)

        yield show


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
