"""What a benchmark measured: cases with the times of all contestants, as one JSON file a run."""

import json
import os
import re
import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from akgnn.errors import RunFolderError
from akgnn.training.record import MISFITS, number, numbers, text, whole

FORMAT = "akgnn-bench-1"
FORWARD, BOTH, EPOCH = "forward", "forward + backward", "epoch"
# How often a task multiplies with the matrix.
_PRODUCTS = {FORWARD: 1, BOTH: 2}
Suite = Literal["layer", "epoch", "growth"]


@dataclass(frozen=True)
class Timed:
    """One task of one contestant.

    Attributes:
        name: Of the contestant.
        task: What it did.
        seconds: Of each repetition; empty where it failed.
        extra_bytes: The most memory beyond what was held before; None where that is not known.
        error: Why it failed; None where it did not.
    """

    name: str
    task: str
    seconds: tuple[float, ...]
    extra_bytes: int | None = None
    error: str | None = None

    @property
    def median(self) -> float | None:
        """Seconds; None where it failed."""
        return statistics.median(self.seconds) if self.seconds else None


@dataclass(frozen=True)
class Case:
    """Contestants side by side on one graph.

    Attributes:
        suite: What the case belongs to.
        graph: Kind of graph, or name of the data set.
        num_nodes: Of the graph.
        num_edges: Of the graph, both directions counted.
        largest_degree: Of the graph; 0 where it could not be made.
        channels: Width of the signals.
        dtype: Of the signals.
        gathered_bytes: What one product with the matrix must read: a row of the signal for each
            edge, and the indices; 0 where a task is more than products.
        copied_bytes: What the copy that took its turn beside the tasks read and wrote.
        copy_seconds: Of each repetition of that copy.
        timed: Every task of every contestant.
        error: Why nothing could be measured; None where something was.
    """

    suite: Suite
    graph: str
    num_nodes: int
    num_edges: int
    largest_degree: int
    channels: int
    dtype: str
    gathered_bytes: int = 0
    copied_bytes: int = 0
    copy_seconds: tuple[float, ...] = ()
    timed: tuple[Timed, ...] = ()
    error: str | None = None

    @property
    def bandwidth(self) -> float | None:
        """Bytes a second of the copy."""
        if not self.copy_seconds:
            return None
        return self.copied_bytes / statistics.median(self.copy_seconds)

    @property
    def is_measured(self) -> bool:
        """Whether at least one contestant has times."""
        return any(timed.seconds for timed in self.timed)

    @property
    def names(self) -> list[str]:
        """The contestants."""
        return list(dict.fromkeys(timed.name for timed in self.timed))

    @property
    def tasks(self) -> list[str]:
        """What they did."""
        return list(dict.fromkeys(timed.task for timed in self.timed))

    def find(self, name: str, task: str) -> Timed | None:
        """A task of a contestant."""
        same = (timed for timed in self.timed if (timed.name, timed.task) == (name, task))
        return next(same, None)

    def share(self, timed: Timed) -> float | None:
        """Gathered bytes a second as a part of the copy's; above 1 where a cache helps."""
        median, bandwidth = timed.median, self.bandwidth
        if median is None or bandwidth is None or not self.gathered_bytes:
            return None
        return _PRODUCTS[timed.task] * self.gathered_bytes / median / bandwidth


@dataclass(frozen=True)
class BenchRecord:
    """One run.

    Attributes:
        versions: Of everything that computes.
        environment: Device, processor, cores, threads, and when the run began.
        repetitions: Samples of every task.
        cases: In the order measured.
    """

    versions: Mapping[str, str]
    environment: Mapping[str, Any]
    repetitions: int
    cases: tuple[Case, ...]

    @property
    def device(self) -> str:
        """The card, or the processor with its threads."""
        where = self.environment
        if where["device"] != "cpu":
            return str(where["device"])
        return f"{where['processor']}, {where['threads']} thread{'s' * (where['threads'] != 1)}"

    @property
    def began(self) -> str:
        """Date and time, UTC."""
        return str(self.environment["began"])

    @property
    def file_name(self) -> str:
        """By time and device, so that files lie in the order of their runs."""
        return f"{re.sub('[^0-9]', '', self.began)[:14]}-{slug(self.device)}.json"

    def of(self, suite: str) -> tuple[Case, ...]:
        """The cases of a suite in which something was measured."""
        return tuple(case for case in self.cases if case.suite == suite and case.is_measured)

    def to_dict(self) -> dict[str, Any]:
        """What the file holds."""
        return {
            "format": FORMAT,
            "versions": dict(self.versions),
            "environment": dict(self.environment),
            "repetitions": self.repetitions,
            "cases": [asdict(case) for case in self.cases],
        }

    @classmethod
    def from_dict(cls, content: Any) -> "BenchRecord":
        """Read a file's content as if a stranger had written it; what does not fit is an error."""
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError("it was not written by this version of akgnn bench")
        kept = content["environment"]
        texts = {name: text(kept[name]) for name in ("device", "processor", "began", "ended")}
        counts = {name: whole(kept[name]) for name in ("cores", "threads")}
        return cls(
            versions={text(name): text(value) for name, value in content["versions"].items()},
            environment={**texts, **counts},
            repetitions=whole(content["repetitions"]),
            cases=tuple(map(_case, content["cases"])),
        )


def slug(name: str) -> str:
    """A name as part of a file's name."""
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")


def check_folder(folder: Path) -> None:
    """Make the folder, and refuse one that cannot be written to before the work, not after it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunFolderError(f"Cannot make the folder {folder}: {error.strerror}.") from error
    if not os.access(folder, os.W_OK):
        raise RunFolderError(f"Cannot write to the folder {folder}.")


def write_record(record: BenchRecord, folder: Path) -> Path:
    """Write the file of a run; the run's earlier state is replaced in one step."""
    file = folder / record.file_name
    temporary = file.with_suffix(".tmp")
    try:
        temporary.write_text(json.dumps(record.to_dict(), indent=1, allow_nan=False) + "\n")
        temporary.replace(file)
    except OSError as error:
        raise RunFolderError(f"Cannot write {file}: {error.strerror or error}.") from error
    return file


@dataclass(frozen=True)
class BenchContents:
    """What a folder holds.

    Attributes:
        records: What could be read, oldest first.
        skipped: For every other file its name and what is wrong with it.
    """

    records: tuple[BenchRecord, ...]
    skipped: tuple[str, ...]


def read_records(folder: Path) -> BenchContents:
    """All records of a folder; none where there is no such folder."""
    records, skipped = [], []
    for file in sorted(folder.glob("*.json")):
        try:
            records.append(BenchRecord.from_dict(json.loads(file.read_text(encoding="utf-8"))))
        except (*MISFITS, RecursionError, OSError) as error:
            cause = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            skipped.append(f"{file} was skipped: {cause.rstrip('.')}.")
    return BenchContents(tuple(sorted(records, key=lambda r: r.began)), tuple(skipped))


def newest(contents: BenchContents, suite: str) -> list[BenchRecord]:
    """The last record from each device in which a suite was measured, in the order of names."""
    last = {record.device: record for record in contents.records if record.of(suite)}
    return [record for _, record in sorted(last.items())]


def _case(content: Mapping[str, Any]) -> Case:
    suite, error = content["suite"], content["error"]
    if suite not in ("layer", "epoch", "growth"):
        raise ValueError(f"{suite!r} is no suite")
    sizes = ("num_nodes", "num_edges", "largest_degree", "channels")
    return Case(
        suite=suite,
        graph=text(content["graph"]),
        dtype=text(content["dtype"]),
        **{name: whole(content[name]) for name in (*sizes, "gathered_bytes", "copied_bytes")},
        copy_seconds=tuple(numbers(content["copy_seconds"])),
        timed=tuple(map(_timed, content["timed"])),
        error=None if error is None else text(error),
    )


def _timed(content: Mapping[str, Any]) -> Timed:
    extra, error = content["extra_bytes"], content["error"]
    return Timed(
        name=text(content["name"]),
        task=text(content["task"]),
        seconds=tuple(number(value) for value in content["seconds"]),
        extra_bytes=None if extra is None else whole(extra),
        error=None if error is None else text(error),
    )
