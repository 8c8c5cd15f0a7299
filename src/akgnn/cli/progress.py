"""The progress bar of training; silent where standard error is not a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from akgnn.training.history import History


@contextmanager
def training_progress(num_runs: int) -> Iterator[Callable[[int, int, "History"], None]]:
    """Inside, the function given shows how far a run is: its number, patience and history.

    The bar of a run fills up with the patience that is used, as nobody knows how many epochs
    there will be.
    """
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(
        *columns, console=console, disable=not console.is_terminal, transient=True
    ) as bar:
        task = bar.add_task("Training", total=1)

        def show(run: int, patience: int, history: "History") -> None:
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
