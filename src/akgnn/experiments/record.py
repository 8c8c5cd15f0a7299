"""Records: one run of an experiment, as one line of JSON."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from akgnn.data.node_data import NodeData
from akgnn.training.history import History
from akgnn.training.plan import RunPlan
from akgnn.training.record import number, numbers, parse_data, parse_history, parse_starts, text
from akgnn.training.run import RunResult, metrics_of
from akgnn.training.starts import TriedStart

FORMAT = "akgnn-record-1"
# In the name of a split whose test nodes were taken away.
_WITHOUT_TEST = "-without-test"


@dataclass(frozen=True)
class Record:
    """What one run came to, or why it failed.

    Attributes:
        plan: All settings, with the seed.
        error: Why the run failed; None where it finished.
        data: Description of the data, with the split's fingerprint; empty where it failed.
        versions: Of everything that computes.
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
    data: Mapping[str, Any]
    versions: Mapping[str, str]
    environment: Mapping[str, Any]
    metrics: Mapping[str, float]
    lambda_max: tuple[float, ...]
    neighbour_share: tuple[float, ...]
    starts: tuple[TriedStart, ...]
    seconds: float
    peak_memory: float
    history: History | None

    @property
    def seed(self) -> int:
        """Of the run."""
        return self.plan.which.seed

    @property
    def is_finished(self) -> bool:
        """Whether the run came to a result."""
        return self.error is None

    @property
    def is_search(self) -> bool:
        """Whether the test nodes were taken away before training."""
        return _WITHOUT_TEST in self.data.get("split", "")

    @property
    def test_accuracy(self) -> float:
        """In per cent; NaN where the run failed."""
        return self.metrics.get("test_accuracy", math.nan)

    def score(self, part: str, metric: str) -> float:
        """A metric on the `test` or `val` nodes, in per cent; NaN where it was not measured."""
        return self.metrics.get(f"{part}_{metric}", math.nan)

    def to_line(self) -> str:
        """One line of JSON; NaN becomes null."""
        values = {name: getattr(self, name) for name in _PLAIN}
        metrics = {name: _rounded(value) for name, value in self.metrics.items()}
        content = {
            "format": FORMAT,
            "settings": self.plan.to_dict(),
            **values,
            "metrics": metrics,
            "lambda_max": [_rounded(value) for value in self.lambda_max],
            "neighbour_share": [_rounded(value) for value in self.neighbour_share],
            "starts": [asdict(start) for start in self.starts],
            "history": None if self.history is None else _short(self.history),
        }
        return json.dumps(content, allow_nan=False)

    @classmethod
    def from_line(cls, line: str) -> "Record":
        """Read a line as if a stranger had written it; whatever does not fit is an error."""
        content = json.loads(line)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError("it was not written by this version of akgnn")
        error, history = content["error"], content["history"]
        return cls(
            plan=RunPlan.from_record(content),
            error=None if error is None else text(error),
            data=parse_data(content["data"]) if content["data"] else {},
            versions={text(key): text(value) for key, value in content["versions"].items()},
            environment={text(key): value for key, value in content["environment"].items()},
            metrics={text(key): number(value) for key, value in content["metrics"].items()},
            lambda_max=tuple(numbers(content["lambda_max"])),
            neighbour_share=tuple(numbers(content.get("neighbour_share", []))),
            starts=parse_starts(content.get("starts", [])),
            seconds=number(content["seconds"]),
            peak_memory=number(content["peak_memory"]),
            history=None if history is None else parse_history(history),
        )

    def without_history(self) -> "Record":
        """The same without its epochs."""
        return replace(self, history=None)


_PLAIN = ("error", "data", "versions", "environment", "seconds", "peak_memory")


def finished_record(
    result: RunResult, *, versions: Mapping[str, str], environment: Mapping[str, Any], memory: float
) -> Record:
    """The record of a run that came to a result, with its history."""
    return Record(
        plan=result.plan,
        error=None,
        data=result.data,
        versions=versions,
        environment=environment,
        metrics=metrics_of(result.fit),
        lambda_max=result.fit.lambda_max,
        neighbour_share=result.fit.neighbour_share,
        starts=result.fit.starts,
        seconds=round(result.fit.seconds, 3),
        peak_memory=memory,
        history=result.fit.history,
    )


def failed_record(
    plan: RunPlan, error: str, *, versions: Mapping[str, str], environment: Mapping[str, Any]
) -> Record:
    """The record of a run that came to nothing."""
    printable = "".join(char if char.isprintable() else " " for char in error)
    return Record(plan, printable, {}, versions, environment, {}, (), (), (), 0.0, 0.0, None)


def without_test(data: NodeData) -> NodeData:
    """The data with no test nodes, so that a search cannot look at them."""
    split = data.split
    none, name = split.test[:0], f"{split.name}{_WITHOUT_TEST}"
    return data.with_split(replace(split, test=none, name=name))


def _rounded(value: float) -> float | None:
    """Six digits say all that a metric has to say."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _short(history: History) -> dict[str, Any]:
    """The columns with five digits, so that a line stays short."""

    def cut(value: Any) -> Any:
        return [cut(item) for item in value] if isinstance(value, list) else float(f"{value:.5g}")

    return {name: cut(column) for name, column in history.to_dict().items()}
