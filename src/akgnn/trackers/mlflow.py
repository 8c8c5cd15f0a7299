"""MLflow, in a database file of one's own."""

import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from akgnn.errors import MissingExtraError, RunFolderError
from akgnn.files import make_folder, replacing
from akgnn.runs.plan import RunPlan
from akgnn.trackers.tracker import Tracker, result_row, settings_row
from akgnn.training.result import FitResult

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
    """

    def __init__(self, folder: Path) -> None:
        # MLflow decides when it is imported whether to report its use over the network.
        os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
        try:
            import alembic  # noqa: F401
            from mlflow.entities import Metric, Param
            from mlflow.exceptions import MlflowException
            from mlflow.tracking import MlflowClient
            from sqlalchemy.exc import SQLAlchemyError
        except ImportError as error:
            raise MissingExtraError("MLflow", "trackers") from error
        for name in ("mlflow", "alembic"):
            logging.getLogger(name).setLevel(logging.WARNING)
        self.folder = folder.resolve()
        self.database = self.folder / DATABASE
        self._errors = (MlflowException, SQLAlchemyError, OSError)
        self._metric, self._param, self._make_client = Metric, Param, MlflowClient
        self._runs: dict[str, _Run] = {}
        self._client: Any = None
        self._experiment = ""
        self._last = time.monotonic()

    def open(self) -> None:
        """Make the database, or open the one that is there."""
        make_folder(self.folder)
        if self.database.exists() and not self.database.is_file():
            # MLflow would try for minutes.
            raise RunFolderError(f"MLflow cannot use {self.database}: it is no file.")
        with self._asking():
            if not self.database.exists():
                self._make()
            self._client = self._make_client(f"sqlite:///{self.database}")
            known = self._client.get_experiment_by_name(EXPERIMENT)
            files = (self.folder / "artifacts").as_uri()
            self._experiment = (
                self._client.create_experiment(EXPERIMENT, artifact_location=files)
                if known is None
                else known.experiment_id
            )

    def _make(self) -> None:
        """Make the database under another name: a kill in the middle leaves no half of one."""
        with replacing(self.database) as temporary:
            self._make_client(f"sqlite:///{temporary}")

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Inside, what MLflow or the database cannot do is told in one line."""
        try:
            yield
        except self._errors as error:
            if isinstance(error, RunFolderError):
                raise
            reason = str(error).splitlines()[0].rstrip(".")
            raise RunFolderError(f"MLflow cannot use {self.database}: {reason}.") from error

    def begin(self, run: str, *, is_resumed: bool) -> None:
        """Find the run if it goes on, and look how far it is; else make a new one."""
        with self._asking():
            known = f"tags.`{_NAME}` = '{run}'"
            found = self._client.search_runs([self._experiment], known) if is_resumed else []
            if not found:
                made = self._client.create_run(self._experiment, run_name=run, tags={_NAME: run})
                self._runs[run] = _Run(made.info.run_id)
                return
            key = found[0].info.run_id
            self._client.update_run(key, status="RUNNING")
            points = self._client.get_metric_history(key, "loss/validation")
            self._runs[run] = _Run(key, max((point.step for point in points), default=0))

    def epoch(self, run: str, number: int, row: Mapping[str, float]) -> None:
        """Add a point to each curve, unless an earlier training of the same run has done so."""
        kept, now = self._runs[run], int(time.time() * 1000)
        if number > kept.epochs:
            kept.waiting += [self._metric(name, value, now, number) for name, value in row.items()]
            kept.epochs = number
        if time.monotonic() - self._last >= _SECONDS:
            self._flush()

    def end(self, run: str, plan: RunPlan, result: FitResult) -> None:
        """Add settings and results, and call the run finished."""
        kept, now = self._runs[run], int(time.time() * 1000)
        metrics = result_row(result).items()
        kept.waiting += [self._metric(*pair, now, result.epochs) for pair in metrics]
        self._flush()
        settings = settings_row(plan).items()
        params = [self._param(name, str(value)) for name, value in settings]
        with self._asking():
            self._client.log_batch(kept.key, params=params)
            self._client.set_terminated(kept.key, "FINISHED")
        del self._runs[run]

    def _flush(self) -> None:
        with self._asking():
            for run in self._runs.values():
                for first in range(0, len(run.waiting), _MOST_AT_ONCE):
                    part = run.waiting[first : first + _MOST_AT_ONCE]
                    self._client.log_batch(run.key, metrics=part)
                run.waiting.clear()
        self._last = time.monotonic()

    def close(self) -> None:
        """Write what is left, and call runs without an end killed, as MLflow has it."""
        self._flush()
        with self._asking():
            for run in self._runs.values():
                self._client.set_terminated(run.key, "KILLED")
        self._runs.clear()
