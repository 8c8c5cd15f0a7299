"""The trackers of a training, asked for by name."""

import re
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Self

from akgnn.errors import SettingsError, UnknownNameError
from akgnn.trackers.mlflow import MLflow
from akgnn.trackers.rows import epoch_row
from akgnn.trackers.tensorboard import TensorBoard
from akgnn.trackers.tracker import Tracker
from akgnn.training.checkpoint import RunFolder
from akgnn.training.history import History
from akgnn.training.kernel_places import places_of
from akgnn.training.plan import RunPlan
from akgnn.training.run import RunResult
from akgnn.training.train_runs import RunOutcome

AfterEpoch = Callable[[int, History], None]

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
    which = plan.which
    if folder is not None:
        mark = sha256(str(folder.path.resolve()).encode()).hexdigest()[:6]
    else:
        mark = time.strftime("%Y%m%d-%H%M%S")
    name = f"{plan.data_name}-{which.model}-{which.preset}-seed-{which.seed}-{mark}"
    return re.sub(r"[^\w.-]+", "-", name)


class Tracking:
    """Hands epochs and results of runs to trackers; a context, which opens and closes them.

    Args:
        trackers: Who takes them down.
        plans: Of the runs, which are told by their places here.
        folders: That keep them, if any.
    """

    def __init__(
        self,
        trackers: Sequence[Tracker],
        plans: Sequence[RunPlan],
        folders: Sequence[RunFolder | None],
    ) -> None:
        self.trackers = trackers
        self.places = places_of(plans[0])
        self.names = [run_name(plan, folder) for plan, folder in zip(plans, folders, strict=True)]
        self._seen: set[int] = set()

    def after(self, show: AfterEpoch) -> AfterEpoch:
        """What is to be called after each epoch: `show`, and then the trackers if there are any."""
        if not self.trackers:
            return show

        def both(run: int, history: History) -> None:
            show(run, history)
            first = len(history) if run in self._seen else 1
            if run not in self._seen:
                self._seen.add(run)
                for tracker in self.trackers:
                    tracker.begin(self.names[run], goes_on=len(history) > 1)
            for number in range(first, len(history) + 1):
                row = epoch_row(history, number, self.places)
                for tracker in self.trackers:
                    tracker.epoch(self.names[run], number, row)

        return both

    def end(self, outcomes: Sequence[RunOutcome]) -> None:
        """Hand on the results, but not of runs that had finished in an earlier training."""
        for run, outcome in enumerate(outcomes):
            if run in self._seen and isinstance(outcome, RunResult):
                for tracker in self.trackers:
                    tracker.end(self.names[run], outcome)

    def __enter__(self) -> Self:
        for tracker in self.trackers:
            tracker.open()
        return self

    def __exit__(self, *_: object) -> None:
        for tracker in self.trackers:
            tracker.close()
