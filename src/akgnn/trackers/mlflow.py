"""MLflow, in a database file of one's own."""

import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from akgnn.errors import MissingExtraError
from akgnn.trackers.rows import result_row, settings_row
from akgnn.trackers.tracker import Tracker, make_folder
from akgnn.training.run import RunResult

DATABASE = "mlflow.db"
EXPERIMENT = "akgnn"

_NAME = "akgnn.run"
# A commit for each epoch would take as long as the epoch; MLflow takes so many numbers at once.
_SECONDS, _MOST_AT_ONCE = 1.0, 1000


@dataclass
class _Run:
    """A run in the database: its id, the last epoch it has, and numbers that wait to be written."""

    key: str
    epochs: int = 0
    waiting: list[Any] = field(default_factory=list)


class MLflow(Tracker):
    """Runs of the experiment `akgnn` in `FOLDER/mlflow.db`.

    `mlflow ui --backend-store-uri sqlite:///FOLDER/mlflow.db` shows them. Whatever tracking server
    the environment names is left alone, and so is MLflow's own count of its users.

    Args:
        folder: Made when something is first written.
    """

    def __init__(self, folder: Path) -> None:
        # MLflow decides when it is imported whether to report its use over the network.
        os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
        try:
            import alembic  # noqa: F401
            import sqlalchemy  # noqa: F401
            from mlflow.entities import Metric, Param
            from mlflow.tracking import MlflowClient
        except ImportError as error:
            raise MissingExtraError("MLflow", "trackers") from error
        for name in ("mlflow", "alembic"):
            logging.getLogger(name).setLevel(logging.WARNING)
        self.folder = folder.resolve()
        self._metric, self._param, self._make_client = Metric, Param, MlflowClient
        self._runs: dict[str, _Run] = {}
        self._client: Any = None
        self._experiment = ""
        self._last = time.monotonic()

    def open(self) -> None:
        """Make the database, or open the one that is there."""
        make_folder(self.folder)
        self._client = self._make_client(f"sqlite:///{self.folder / DATABASE}")
        known = self._client.get_experiment_by_name(EXPERIMENT)
        files = (self.folder / "artifacts").as_uri()
        self._experiment = (
            self._client.create_experiment(EXPERIMENT, artifact_location=files)
            if known is None
            else known.experiment_id
        )

    def _run(self, name: str, *, goes_on: bool) -> _Run:
        """The run of this name: the one begun before if it goes on, else a new one."""
        if name in self._runs:
            return self._runs[name]
        found = self._client.search_runs([self._experiment], f"tags.`{_NAME}` = '{name}'")
        if goes_on and found:
            run = found[0]
            self._client.update_run(run.info.run_id, status="RUNNING")
            points = self._client.get_metric_history(run.info.run_id, "loss/validation")
            self._runs[name] = _Run(
                run.info.run_id, max((point.step for point in points), default=0)
            )
        else:
            run = self._client.create_run(self._experiment, run_name=name, tags={_NAME: name})
            self._runs[name] = _Run(run.info.run_id)
        return self._runs[name]

    def epoch(self, run: str, number: int, row: Mapping[str, float]) -> None:
        """Add a point to each curve, unless an earlier training of the same run has done so."""
        kept, now = self._run(run, goes_on=number > 1), int(time.time() * 1000)
        if number > kept.epochs:
            kept.waiting += [self._metric(name, value, now, number) for name, value in row.items()]
            kept.epochs = number
        if time.monotonic() - self._last >= _SECONDS:
            self._flush()

    def end(self, run: str, result: RunResult) -> None:
        """Add settings and results, and call the run finished."""
        kept, now = self._run(run, goes_on=True), int(time.time() * 1000)
        epochs = result.fit.epochs
        kept.waiting += [
            self._metric(name, value, now, epochs) for name, value in result_row(result).items()
        ]
        self._flush()
        settings = settings_row(result.plan).items()
        params = [self._param(name, str(value)) for name, value in settings]
        self._client.log_batch(kept.key, params=params)
        self._client.set_terminated(kept.key, "FINISHED")
        del self._runs[run]

    def _flush(self) -> None:
        for run in self._runs.values():
            for first in range(0, len(run.waiting), _MOST_AT_ONCE):
                part = run.waiting[first : first + _MOST_AT_ONCE]
                self._client.log_batch(run.key, metrics=part)
            run.waiting.clear()
        self._last = time.monotonic()

    def close(self) -> None:
        """Write what is left, and call runs without an end killed, as MLflow has it."""
        self._flush()
        for run in self._runs.values():
            self._client.set_terminated(run.key, "KILLED")
        self._runs.clear()
