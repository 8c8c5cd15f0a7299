"""The trackers of a training, asked for by name."""

import re
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Self

from akgnn.errors import DivergedError, SettingsError, UnknownNameError
from akgnn.models.scalars import positions_of
from akgnn.runs.folder import RunFolder
from akgnn.runs.plan import RunPlan
from akgnn.trackers.mlflow import MLflow
from akgnn.trackers.tensorboard import TensorBoard
from akgnn.trackers.tracker import Tracker, epoch_row
from akgnn.training.callbacks import Callback, Epoch
from akgnn.training.result import FitResult

# With the folders that these programs look into by themselves.
TRACKERS: dict[str, tuple[type[TensorBoard | MLflow], str]] = {
    "mlflow": (MLflow, "mlruns"),
    "tensorboard": (TensorBoard, "runs"),
}


def find_tracker(text: str) -> Tracker:
    """The tracker that `NAME` or `NAME:FOLDER` asks for."""
    name, colon, folder = text.partition(":")
    if name not in TRACKERS:
        raise UnknownNameError("tracker", name, TRACKERS)
    if colon and (not folder or "://" in folder or folder.startswith(("file:", "sqlite:"))):
        raise SettingsError(
            f"A tracker writes to a local folder, as in {name}:my-folder; got {folder!r}."
        )
    make, default = TRACKERS[name]
    return make(Path(folder or default))


def run_name(plan: RunPlan, folder: RunFolder | None) -> str:
    """How a run is called: the same again where it goes on in its folder, else of its own."""
    if folder is not None:
        mark = sha256(str(folder.path.resolve()).encode()).hexdigest()[:6]
    else:
        mark = time.strftime("%Y%m%d-%H%M%S")
    name = f"{plan.data_name}-{plan.run.model}-{plan.run.preset}-seed-{plan.run.seed}-{mark}"
    return re.sub(r"[^\w.-]+", "-", name)


class Tracking(Callback):
    """Hands epochs and results of runs to trackers; a context, which opens and closes them.

    Args:
        trackers: Who takes them down.
        plans: Plans of the runs, which are told by their indices here.
        folders: Folders that keep them, if any.
    """

    def __init__(
        self,
        trackers: Sequence[Tracker],
        plans: Sequence[RunPlan],
        folders: Sequence[RunFolder | None],
    ) -> None:
        self.trackers, self.plans = trackers, plans
        self.positions = positions_of(plans[0].preset.model)
        self.names = [run_name(plan, folder) for plan, folder in zip(plans, folders, strict=True)]
        self._seen: set[int] = set()

    def after_epoch(self, epochs: Sequence[Epoch]) -> None:
        """Hand on the epochs; of a run that is resumed all from the first on."""
        for epoch in epochs if self.trackers else ():
            name, history = self.names[epoch.index], epoch.history
            first = len(history) if epoch.index in self._seen else 1
            if epoch.index not in self._seen:
                self._seen.add(epoch.index)
                for tracker in self.trackers:
                    tracker.begin(name, is_resumed=len(history) > 1)
            for number in range(first, len(history) + 1):
                row = epoch_row(history, number, self.positions)
                for tracker in self.trackers:
                    tracker.epoch(name, number, row)

    def after_run(self, index: int, outcome: FitResult | DivergedError) -> None:
        """Hand on the result."""
        if index in self._seen and isinstance(outcome, FitResult):
            for tracker in self.trackers:
                tracker.end(self.names[index], self.plans[index], outcome)

    def __enter__(self) -> Self:
        for tracker in self.trackers:
            tracker.open()
        return self

    def __exit__(self, *_: object) -> None:
        for tracker in self.trackers:
            tracker.close()
