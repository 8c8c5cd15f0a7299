"""Records: one run of an experiment, as one line of JSON."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from akgnn.codec import from_json, hints_of
from akgnn.data.node_data import WITHOUT_TEST
from akgnn.files import json_text, parse_json
from akgnn.runs.facts import DataFacts
from akgnn.runs.plan import RunPlan
from akgnn.runs.run import Run
from akgnn.text import in_one_line
from akgnn.training.history import History
from akgnn.training.state import RestartResult

FORMAT = "akgnn-record-1"


@dataclass(frozen=True)
class Record:
    """What one run came to, or why it failed.

    Attributes:
        error: Why the run failed; None where it finished.
        data: What is known of the data, with the split's fingerprint; None where it failed.
        environment: Device, threads, when the run ended, and how many trained side by side.
        metrics: Accuracies, losses and epochs by name; empty where it failed.
        lambda_max: λ of every layer at the best epoch.
        neighbour_share: What every layer takes from neighbours at the best epoch.
        starts: The starts that were tried, where there were several.
        seconds: Time of the training; of several side by side its share.
        peak_memory: The most memory the process held, in MiB; of several side by side for all.
        history: Every epoch, where the experiment asks for it.
    """

    plan: RunPlan
    error: str | None
    data: DataFacts | None
    versions: Mapping[str, str]
    environment: Mapping[str, Any]
    metrics: Mapping[str, float]
    lambda_max: tuple[float, ...]
    neighbour_share: tuple[float, ...]
    starts: tuple[RestartResult, ...]
    seconds: float
    peak_memory: float
    history: History | None

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.plan.run.seed

    @property
    def is_finished(self) -> bool:
        """Whether the run came to a result."""
        return self.error is None

    @property
    def is_search(self) -> bool:
        """Whether the test nodes were taken away before training."""
        return self.data is not None and WITHOUT_TEST in self.data.split

    @property
    def test_accuracy(self) -> float:
        """In per cent; NaN where the run failed."""
        return self.metrics.get("test_accuracy", math.nan)

    def score(self, part: str, metric: str) -> float:
        """A metric on the `test` or `val` nodes, in per cent; NaN where it was not measured."""
        return self.metrics.get(f"{part}_{metric}", math.nan)

    def to_line(self) -> str:
        """One line of JSON; NaN becomes null."""
        content = {
            "format": FORMAT,
            "settings": self.plan.to_dict(),
            "error": self.error,
            "data": {} if self.data is None else self.data.to_dict(),
            "versions": dict(self.versions),
            "environment": dict(self.environment),
            "seconds": self.seconds,
            "peak_memory": self.peak_memory,
            "metrics": {name: _rounded(value) for name, value in self.metrics.items()},
            "lambda_max": [_rounded(value) for value in self.lambda_max],
            "neighbour_share": [_rounded(value) for value in self.neighbour_share],
            "starts": [restart.to_dict() for restart in self.starts],
            "history": None if self.history is None else _short(self.history),
        }
        return json_text(content)

    @classmethod
    def from_line(cls, line: str) -> "Record":
        """Read a line as if a stranger had written it; whatever does not fit is an error."""
        content = parse_json(line)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError("it was not written by this version of akgnn")
        # Failed runs have no data, and old ones neither shares nor restarts.
        content = {"neighbour_share": [], "starts": [], **content, "data": content["data"] or None}
        kinds = hints_of(cls)
        values = {
            item.name: from_json(kinds[item.name], content[item.name], item.name)
            for item in fields(cls)
            if item.name != "plan"
        }
        return cls(plan=RunPlan.from_dict(_renamed(content["settings"])), **values)

    def without_history(self) -> "Record":
        """The same without its epochs."""
        return replace(self, history=None)


def finished_record(
    result: Run, *, versions: Mapping[str, str], environment: Mapping[str, Any], memory: float
) -> Record:
    """The record of a run that came to a result, with its history."""
    return Record(
        plan=result.plan,
        error=None,
        data=result.facts,
        versions=versions,
        environment=environment,
        metrics=result.result.metrics,
        lambda_max=result.result.lambda_max,
        neighbour_share=result.result.neighbour_share,
        starts=result.result.restarts,
        seconds=round(result.result.seconds, 3),
        peak_memory=memory,
        history=result.result.history,
    )


def failed_record(
    plan: RunPlan, error: str, *, versions: Mapping[str, str], environment: Mapping[str, Any]
) -> Record:
    """The record of a run that came to nothing."""
    line = in_one_line(error)
    return Record(plan, line, None, versions, environment, {}, (), (), (), 0.0, 0.0, None)


def _rounded(value: float) -> float | None:
    """Six digits say all that a metric has to say."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _short(history: History) -> dict[str, Any]:
    """The columns with five digits, so that a line stays short."""

    def cut(value: Any) -> Any:
        return [cut(item) for item in value] if isinstance(value, list) else float(f"{value:.5g}")

    return {name: cut(column) for name, column in history.to_dict().items()}


def _renamed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a record by their names of today: `kernel` was once `smooth_lambda`."""
    model = dict(settings["model"])
    if model.pop("smooth_lambda", False):
        model["kernel"] = "smooth"
    return {**settings, "model": model}
