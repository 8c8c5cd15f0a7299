"""TensorBoard."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from akgnn.errors import MissingExtraError
from akgnn.trackers.rows import result_row, settings_row
from akgnn.trackers.tracker import Tracker, make_folder
from akgnn.training.run import RunResult

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class TensorBoard(Tracker):
    """Event files, one folder a run; `tensorboard --logdir FOLDER` shows them.

    Args:
        folder: Of all runs.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise MissingExtraError("TensorBoard", "trackers") from error
        self.folder = folder
        self._make = SummaryWriter
        self._writers: dict[str, SummaryWriter] = {}

    def open(self) -> None:
        """Make the folder."""
        make_folder(self.folder)

    def _writer(self, run: str, number: int) -> "SummaryWriter":
        """The writer of a run, which hides what was written of this epoch and later ones."""
        if run not in self._writers:
            self._writers[run] = self._make(str(self.folder / run), purge_step=number)
        return self._writers[run]

    def epoch(self, run: str, number: int, row: Mapping[str, float]) -> None:
        """Add a point to each curve."""
        writer = self._writer(run, number)
        for name, value in row.items():
            writer.add_scalar(name, value, number)

    def end(self, run: str, result: RunResult) -> None:
        """Put the run into the table of hyperparameters, beside its curves."""
        writer = self._writer(run, result.fit.epochs)
        metrics = {f"result/{name}": value for name, value in result_row(result).items()}
        writer.add_hparams(settings_row(result.plan), metrics, run_name=".")

    def close(self) -> None:
        """Write what is left."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()
