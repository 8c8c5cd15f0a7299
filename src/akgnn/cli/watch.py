"""`akgnn train --watch`: losses, accuracy and learned scalars, drawn while they come."""

from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, Self

from rich.console import Group
from rich.live import Live
from rich.text import Text

from akgnn.cli.plot import evenly, line_plot, spark_line
from akgnn.cli.progress import TrainingProgress, draws, fitting
from akgnn.report.values import number
from akgnn.training.callbacks import Epoch

if TYPE_CHECKING:
    from akgnn.settings import Settings
    from akgnn.training.history import History
    from akgnn.training.settings import TrainSettings

# Seconds between two pictures: drawing must not take time from training.
_EVERY = 0.2
_WIDEST = 100
# Of more scalars than this the first are shown, with how many others there are.
_MOST_SCALARS = 6
_SCALAR_NAME = 14


class Watch(TrainingProgress):
    """Draws the run that trains, in a terminal; elsewhere it is its base.

    Args:
        num_runs: How many are trained.
        training: How, for how long they go on.
        model: Settings of the model, for the names of its scalars.
    """

    def __init__(self, num_runs: int, training: "TrainSettings", model: "Settings") -> None:
        super().__init__(num_runs, training)
        self.model = model
        self.is_drawn = draws(self.console)
        self._live = Live(console=self.console, auto_refresh=False)
        self._last = 0.0
        self._epoch: Epoch | None = None

    def __enter__(self) -> Self:
        if not self.is_drawn:
            return super().__enter__()
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if not self.is_drawn:
            super().__exit__()
            return
        if self._epoch is not None:
            self._draw(self._epoch)
        self._live.stop()

    def after_epoch(self, epochs: Sequence[Epoch]) -> None:
        """Draw the last of these epochs, if it is time for it."""
        if not self.is_drawn:
            super().after_epoch(epochs)
            return
        self._epoch = epochs[-1]
        if monotonic() - self._last >= _EVERY:
            self._draw(self._epoch)
            self._last = monotonic()

    def _draw(self, epoch: Epoch) -> None:
        parts = self.parts(epoch)
        width = min(self.console.width, _WIDEST) - 1
        lines = picture(epoch.history, self._patience.first, self.model, width, self.console.height)
        said = fitting(parts, width, parts.index(self._patience.words))
        lines.insert(0, Text(said, style="bold"))
        if not self.console.encoding.lower().startswith("utf"):
            lines = [Text(_plain(line.plain)) for line in lines]
        self._live.update(Group(*lines), refresh=True)


def picture(
    history: "History", first: int, model: "Settings", width: int, height: int
) -> list[Text]:
    """The epochs from number `first` on, in about as many rows as a terminal has.

    Args:
        history: All epochs so far.
        first: The first one to draw, where several restarts were trained one after the other.
        model: Settings of the model, for the names of its scalars.
        width: Columns of the terminal.
        height: Rows of the terminal.
    """
    scalars = _scalars(history, first, model, width)
    # The line above, two headings, the axis, and the prompt.
    room = height - len(scalars) - 5
    rows = max(3, min(8, room * 3 // 5))
    losses = {"validation": history.val_loss[first:], "training": history.train_loss[first:]}
    accuracies = {
        "validation": history.val_accuracy[first:],
        "training": history.train_accuracy[first:],
    }
    return [
        Text("loss", style="bold"),
        *line_plot(losses, width, rows, 3),
        Text("accuracy, %", style="bold"),
        *line_plot(accuracies, width, max(3, min(6, room - rows)), 1),
        Text(f"epochs {first + 1} to {len(history)}"),
        *scalars,
    ]


def _scalars(history: "History", first: int, model: "Settings", width: int) -> list[Text]:
    """A line for each learned scalar: its name, its way so far, and where it stands."""
    from akgnn.models.scalars import positions_of, scalars_of, symbol_of

    positions = positions_of(model)
    if not positions:
        return []
    symbol = symbol_of(model) or "λ"
    room = width - _SCALAR_NAME - 10
    epochs = [first + k for k in evenly(len(history) - first, room)]
    shares = history.neighbour_share
    rows = [
        scalars_of(model, history.lambda_max[epoch], shares[epoch] if shares else [])
        for epoch in epochs
    ]
    if not all(len(row) == len(positions) for row in rows):
        return []
    lines = []
    for place, position in list(enumerate(positions))[:_MOST_SCALARS]:
        values = [row[place] for row in rows]
        name = f"{symbol} {position.text}"
        last = number(values[-1], 2)
        lines.append(Text(f"{name:<{_SCALAR_NAME}} {spark_line(values, room)} {last}"))
    if len(positions) > _MOST_SCALARS:
        lines.append(Text(f"and {len(positions) - _MOST_SCALARS} more"))
    return lines


def _plain(text: str) -> str:
    """The picture in the letters that every terminal has."""
    plain = {"λ": "lambda", "τ": "tau", "┤": "|", "│": "|", "·": "-"}
    return "".join(plain.get(letter) or (letter if letter.isascii() else "*") for letter in text)
