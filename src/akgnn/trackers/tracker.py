"""What is asked of a tracker."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile

from akgnn.errors import RunFolderError
from akgnn.training.run import RunResult


class Tracker(ABC):
    """Takes down what runs come to; several may train side by side.

    A run is told by its name. One that goes on after a stop has the name it had before, and all
    its epochs are told again from the first on: a kill may have cut off the last that were taken
    down, or they may be those of a state that was lost.
    """

    @abstractmethod
    def open(self) -> None:
        """Get ready before training begins, whose time is measured; refuse a folder that cannot be.

        Nothing is written before.
        """

    @abstractmethod
    def begin(self, run: str, *, goes_on: bool) -> None:
        """Get ready for the epochs of a run, a new one or one that goes on."""

    @abstractmethod
    def epoch(self, run: str, number: int, row: Mapping[str, float]) -> None:
        """Take down an epoch, counted from 1: a number for each name."""

    @abstractmethod
    def end(self, run: str, result: RunResult) -> None:
        """Take down the settings of a run that has finished, and what it came to."""

    @abstractmethod
    def close(self) -> None:
        """Write what is left; runs without an end were stopped or have failed."""


def make_folder(folder: Path) -> None:
    """Make the folder of a tracker."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise RunFolderError(
            f"Cannot write to the folder {folder}: {error.strerror or error}."
        ) from error
