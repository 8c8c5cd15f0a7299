"""TensorBoard."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from akgnn.errors import MissingExtraError, RunFolderError
from akgnn.files import make_folder
from akgnn.runs.plan import RunPlan
from akgnn.trackers.tracker import Tracker, result_row, settings_row
from akgnn.training.result import FitResult

# Runs that begin before those before them have to give back their files, of which a process may
# have few.
_MOST_OPEN = 100


class TensorBoard(Tracker):
    """Event files, one folder a run; `tensorboard --logdir FOLDER` shows them."""

    def __init__(self, folder: Path) -> None:
        try:
            from tensorboard.summary.writer.event_file_writer import _AsyncWriterThread
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise MissingExtraError("TensorBoard", "trackers") from error
        self.folder = folder
        self._make, self._thread = SummaryWriter, _AsyncWriterThread
        self._hook = threading.excepthook
        self._writers: dict[str, SummaryWriter] = {}

    def open(self) -> None:
        """Make the folder."""
        make_folder(self.folder)
        self._hook = threading.excepthook
        threading.excepthook = self._hide_writers

    def _hide_writers(self, failure: threading.ExceptHookArgs) -> None:
        """Let a thread that writes events end without a traceback; who hands it more is told."""
        if not (
            isinstance(failure.exc_value, OSError) and isinstance(failure.thread, self._thread)
        ):
            self._hook(failure)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Inside, what cannot be written is told in one line."""
        try:
            yield
        except OSError as error:
            # Nothing more can be written, not even what is left at the end.
            self._writers.clear()
            cause = error.strerror or error
            raise RunFolderError(
                f"TensorBoard's files in {self.folder} cannot be written: {cause}."
            ) from error

    def begin(self, run: str, *, is_resumed: bool) -> None:
        """Begin an event file; what was written of the run before is hidden."""
        with self._writing():
            if self._writers and len(self._writers) % _MOST_OPEN == 0:
                # Runs that have ended give their files back; others open new ones when they need
                # them.
                for writer in self._writers.values():
                    writer.close()
            first = 1 if is_resumed else None
            self._writers[run] = self._make(str(self.folder / run), purge_step=first)

    def epoch(self, run: str, number: int, row: Mapping[str, float]) -> None:
        """Add a point to each curve."""
        with self._writing():
            for name, value in row.items():
                self._writers[run].add_scalar(name, value, number)

    def end(self, run: str, plan: RunPlan, result: FitResult) -> None:
        """Put the run into the table of hyperparameters, beside its curves."""
        metrics = {f"result/{name}": value for name, value in result_row(result).items()}
        with self._writing():
            self._writers[run].add_hparams(settings_row(plan), metrics, run_name=".")

    def close(self) -> None:
        """Write what is left."""
        try:
            with self._writing():
                for writer in self._writers.values():
                    writer.close()
        finally:
            self._writers.clear()
            threading.excepthook = self._hook
