"""The epochs of a run as JSON lines, for programs that look on while it trains."""

import time

from akgnn.training.checkpoint import RunFolder
from akgnn.training.history import History

# A line for each epoch at once would cost small graphs a good part of their time.
_SECONDS = 1.0


class EpochLines:
    """`epochs.jsonl` of a run folder: one object an epoch, and no epoch twice.

    A kill may cut off the last line, and an epoch after the last state that was kept is trained
    again; so whoever goes on begins the file anew with what the state knows.

    Args:
        folder: Locked, with a run in it.
        history: The epochs that the run goes on from.
    """

    def __init__(self, folder: RunFolder, history: History) -> None:
        self.folder, self.history = folder, history
        self.written = len(history)
        self.last = time.monotonic()
        folder.write_epochs([self._row(epoch) for epoch in range(self.written)])

    def take_in(self, history: History) -> None:
        """Write the epochs that are new, if the last ones were written a second ago."""
        self.history = history
        if time.monotonic() - self.last >= _SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write all epochs that are not written yet."""
        rows = [self._row(epoch) for epoch in range(self.written, len(self.history))]
        if rows:
            self.folder.add_epochs(rows)
        self.written, self.last = len(self.history), time.monotonic()

    def _row(self, epoch: int) -> dict[str, object]:
        return {"epoch": epoch + 1, **self.history.row(epoch)}
