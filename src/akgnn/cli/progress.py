"""Progress bars, silent where nobody looks at a terminal, and signals as a request to stop."""

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from akgnn.training.callbacks import Callback, Epoch

if TYPE_CHECKING:
    from akgnn.experiments.runner import Progress


class TrainingProgress(Callback):
    """A bar that shows how far runs are; a context, and a callback of their training.

    The bar of a run fills up with the patience that is used, as nobody knows how many epochs there
    will be.
    """

    def __init__(self, num_runs: int, patience: int) -> None:
        self.num_runs, self.patience = num_runs, patience
        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self.bar = Bars(*columns, console=console, disable=not console.is_terminal, transient=True)
        self.task = self.bar.add_task("Training", total=1)

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def after_epoch(self, epochs: Sequence[Epoch]) -> None:
        """Show the last of these epochs."""
        if self.bar.disable:
            return
        history = epochs[-1].history
        best = min(range(len(history)), key=history.val_loss.__getitem__)
        name = f"run {epochs[-1].index + 1} of {self.num_runs} · " if self.num_runs > 1 else ""
        text = (
            f"{name}epoch {len(history):4d} · validation {history.val_accuracy[-1]:5.1f} % "
            f"· best loss at {best + 1:4d}"
        )
        waited = len(history) - 1 - best
        self.bar.update(self.task, description=text, completed=waited, total=self.patience)


@contextmanager
def runs_progress(num_runs: int) -> Iterator[Callable[["Progress"], None]]:
    """Inside, the function given shows how many runs of an experiment are done."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    is_silent = not (console.is_terminal and num_runs)
    with Bars(*columns, console=console, disable=is_silent, transient=True) as bar:
        task = bar.add_task(f"0 of {num_runs} runs", total=num_runs)

        def show(progress: "Progress") -> None:
            last = progress.record.plan.run
            text = (
                f"{progress.done} of {progress.total} runs · last {last.model} on {last.dataset} "
                f"· {duration(progress.seconds_left)} left"
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


def duration(seconds: float) -> str:
    """A time for readers."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class StopRequests(Callback):
    """Inside, the first SIGINT or SIGTERM is only noted; a callback, which then stops training.

    A second one ends the program as usual.
    """

    def __init__(self) -> None:
        self._came = False
        self._before = {
            number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)
        }

    def should_stop(self) -> bool:
        """Whether a signal came."""
        return self._came

    def __enter__(self) -> Self:
        for number in self._before:
            signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came = True
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
