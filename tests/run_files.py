"""Run folders that somebody changed on purpose, or in which training was stopped."""

from pathlib import Path
from typing import Any

from akgnn.files import is_left_over
from akgnn.runs.folder import FORMAT, sealed
from akgnn.training.callbacks import StopWhen


def rewrite(file: Path, content: dict[str, Any]) -> None:
    """Write a changed `run.json` with the right SHA-256."""
    file.write_bytes(sealed({"format": FORMAT, **content}))


def stop_after(epochs: int) -> StopWhen:
    """A callback that stops the training at the end of the n-th epoch it is asked after."""
    asked = iter(range(1, 10_000))
    return StopWhen(lambda: next(asked) >= epochs)


def names_in(folder: Path) -> list[str]:
    """The names of the files that count."""
    return sorted(item.name for item in folder.iterdir() if not is_left_over(item))
