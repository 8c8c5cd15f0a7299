"""Progress: bars in a terminal, elsewhere a line now and then; and signals as a request to stop."""

import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Self

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from akgnn.cli.signals import ENDING
from akgnn.cli.terminal import complain
from akgnn.errors import InterruptedRunError
from akgnn.training.callbacks import Callback, Epoch

if TYPE_CHECKING:
    from akgnn.experiments.runner import Progress
    from akgnn.runs.plan import RunPlan
    from akgnn.training.history import History
    from akgnn.training.settings import TrainSettings

# Where there is no terminal, at most one line in so many seconds.
_EVERY = 30.0
# Columns of a bar, and what the time and the space between take; a narrow terminal has less.
_BAR, _TIME, _NARROW_BAR, _NARROW = 16, 12, 6, 80


class Lines:
    """Says on standard error how far things are, at most one line in half a minute."""

    def __init__(self) -> None:
        self._last = monotonic()

    def tell(self, text: Callable[[], str]) -> None:
        """Say the text, which is only made up if it is time for it."""
        if monotonic() - self._last >= _EVERY:
            self._last = monotonic()
            complain(text())


class Patience:
    """Follows one training: where it stands, and when it ends unless it improves.

    Of several restarts it is the present one.
    """

    def __init__(self, training: "TrainSettings") -> None:
        self.training = training
        self.first = self.epoch = self.ends_after = self.best = 0
        self.restart = 0
        self._begin(0)

    def _begin(self, first: int) -> None:
        # Not above: torch is loaded by then, and `akgnn --help` goes without.
        from akgnn.training.state import EarlyStopping

        self.stopping = EarlyStopping(self.training.patience, self.training.stop_on)
        self.first, self.epoch = first, 0

    def follow(self, history: "History") -> None:
        """Take in what epochs have been added."""
        scores = history.column(self.stopping.column)
        for epoch in range(self.first + self.epoch, len(history)):
            restart = history.start[epoch] if history.start else 0
            if restart != self.restart:
                self.restart = restart
                self._begin(epoch)
            score = scores[epoch] if epoch < len(scores) else float("nan")
            self.stopping.update(self.epoch, history.val_loss[epoch], score)
            self.epoch += 1
        self.ends_after = min(self.training.epochs, self.stopping.ends_after)
        self.best = self.stopping.best_epoch + 1

    @property
    def words(self) -> str:
        """Such as: epoch 120 of 220 unless it improves."""
        start = f"start {self.restart + 1}, " if self.restart else ""
        if self.epoch >= self.ends_after:
            return f"{start}epoch {self.epoch}, the last"
        unless = " unless it improves" if self.ends_after < self.training.epochs else ""
        return f"{start}epoch {self.epoch} of {self.ends_after}{unless}"


class TrainingProgress(Callback):
    """Shows how far runs are; a context, and a callback of their training.

    Nobody knows how many epochs there will be, so the bar goes to where training ends unless it
    improves: an improvement moves that further away, and the words say so.

    Args:
        num_runs: How many are trained.
        training: How, for how long they go on.
        kind: What a run is called: run, or trial of a search.
        names: Names of the runs, where they have some.
    """

    def __init__(
        self,
        num_runs: int,
        training: "TrainSettings",
        *,
        kind: str = "run",
        names: Sequence[str] = (),
    ) -> None:
        self.num_runs, self.training, self.kind, self.names = num_runs, training, kind, names
        self.console = Console(stderr=True)
        self.bar = _bars(self.console)
        self.task = self.bar.add_task("Training", total=1)
        self._lines = Lines()
        self._index, self._patience = -1, Patience(training)

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def after_epoch(self, epochs: Sequence[Epoch]) -> None:
        """Show the last of these epochs."""
        last = epochs[-1]
        if self.bar.disable:
            self._lines.tell(lambda: " · ".join(self.parts(last)))
            return
        parts = self.parts(last)
        text = fitting(parts, _room(self.console), parts.index(self._patience.words))
        patience = self._patience
        self.bar.update(
            self.task, description=text, completed=patience.epoch, total=patience.ends_after
        )

    def parts(self, epoch: Epoch) -> list[str]:
        """What there is to say of an epoch, the most important first."""
        if epoch.index != self._index or len(epoch.history) < self._patience.epoch:
            self._index, self._patience = epoch.index, Patience(self.training)
        patience = self._patience
        patience.follow(epoch.history)
        name = f"{self.kind} {epoch.index + 1} of {self.num_runs}"
        if self.names:
            name = f"{self.names[epoch.index]}, {epoch.index + 1} of {self.num_runs}"
        return [
            *([name] if self.num_runs > 1 else []),
            patience.words,
            f"validation {epoch.history.val_accuracy[-1]:.1f} %",
            f"best {patience.best}",
        ]


class RunsProgress:
    """Shows how many runs of an experiment are done, and which are being trained; a context.

    Args:
        num_runs: How many there are to do.
        names: What each is called, without its seed: AKGNN on Cora.
    """

    def __init__(self, num_runs: int, names: Mapping["RunPlan", str]) -> None:
        self.num_runs, self.names = num_runs, names
        self.console = Console(stderr=True)
        self.bar = _bars(self.console, is_needed=num_runs > 0)
        self.task = self.bar.add_task("", total=num_runs)
        self._lines = Lines()
        self._done, self._left = 0, ""
        self._running: list[RunPlan] = []

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def before_runs(self, plans: Sequence["RunPlan"]) -> None:
        """Show that these are being trained."""
        self._running += [plan for plan in plans if plan not in self._running]
        self._show()

    def after_run(self, progress: "Progress") -> None:
        """Show that one more is done."""
        plan = progress.record.plan
        self._running = [each for each in self._running if each != plan]
        self._done, self._left = progress.done, f"{duration(progress.seconds_left)} left"
        self._show()

    def tick(self) -> None:
        """Called now and then: without a terminal it may be time for a line."""
        if self.bar.disable and self._running:
            self._lines.tell(lambda: " · ".join(self._parts()))

    def _show(self) -> None:
        if self.bar.disable:
            self.tick()
            return
        text = fitting(self._parts(), _room(self.console))
        self.bar.update(self.task, description=text, completed=self._done)

    def _parts(self) -> list[str]:
        done = f"{self._done} of {self.num_runs} runs done"
        return [part for part in (done, self._trained(), self._left) if part]

    def _trained(self) -> str:
        """What is being trained: the seeds of the first by its name, and how many others."""
        if not self._running:
            return ""
        first = self.names[self._running[0]]
        alike = [plan for plan in self._running if self.names[plan] == first]
        seeds = sorted({plan.run.seed for plan in alike})
        named = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
        others = len({self.names[plan] for plan in self._running}) - 1
        return f"{first}, {named}" + (f" and {others} more" if others else "")


def _bars(console: Console, *, is_needed: bool = True) -> Bars:
    bar = BarColumn(_bar_width(console))
    columns = (TextColumn("{task.description}"), bar, TimeElapsedColumn())
    is_silent = not (draws(console) and is_needed)
    return Bars(*columns, console=console, disable=is_silent, transient=True)


def draws(console: Console) -> bool:
    """Whether a line can be drawn over: a terminal, but none that only takes letters."""
    return console.is_terminal and not console.is_dumb_terminal


def _bar_width(console: Console) -> int:
    return _BAR if console.width >= _NARROW else _NARROW_BAR


def _room(console: Console) -> int:
    """Columns for the words beside a bar."""
    return console.width - _bar_width(console) - _TIME


def fitting(parts: Sequence[str], width: int, most_important: int = 0) -> str:
    """As many of the parts as have room in a line, the most important and then from the first."""
    chosen = [most_important]
    for number in range(len(parts)):
        line = " · ".join(parts[k] for k in sorted({*chosen, number}))
        if cell_len(line) <= width:
            chosen.append(number)
    return " · ".join(parts[k] for k in sorted(set(chosen)))


@contextmanager
def cases_progress(num_cases: int) -> Iterator[Callable[[int, str], None]]:
    """Inside, the function given shows which case of a benchmark is being measured."""
    console = Console(stderr=True)
    with Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        console=console,
        disable=not draws(console),
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


def interrupted(error: InterruptedRunError, out: Path | None, how: str) -> InterruptedRunError:
    """The error of a training that was asked to stop, and how to go on with what is kept."""
    if out is None:
        how = "Nothing was kept; with --out DIR a run can be resumed."
    return InterruptedRunError(f"{error} {how}")


class StopRequests(Callback):
    """Inside, the first SIGINT, SIGTERM or SIGHUP is noted; a callback, which then stops training.

    A second one ends the program as usual.

    Args:
        is_asked: Whether something else than a signal asks to stop.
    """

    def __init__(self, is_asked: Callable[[], bool] | None = None) -> None:
        self._came = False
        self._is_asked = is_asked
        self._before = {number: signal.getsignal(number) for number in ENDING}
        if signal.getsignal(ENDING[-1]) is signal.SIG_IGN:
            # As `nohup` wants it.
            del self._before[ENDING[-1]]

    def should_stop(self) -> bool:
        """Whether a signal came, or something else asks."""
        return self._came or (self._is_asked is not None and self._is_asked())

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
