"""What a benchmark measured: cases with the times of all contestants, as one JSON file a run."""

import re
import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from akgnn.codec import MISFITS, cause_of, from_json
from akgnn.files import json_text, read_json, write_file

FORMAT = "akgnn-bench-1"
FORWARD, BOTH, EPOCH = "forward", "forward + backward", "epoch"
# How often a task multiplies with the matrix.
_PRODUCTS = {FORWARD: 1, BOTH: 2}
Suite = Literal["layer", "epoch", "growth"]


@dataclass(frozen=True)
class Timed:
    """One task of one contestant.

    Where it failed it has no `seconds`, one a repetition, but an `error`. `extra_bytes` is the most
    memory beyond what was held before; None where that is not known.
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
    """Contestants side by side on one graph, in which both directions of an edge count.

    Attributes:
        graph: Kind of graph, or name of the data set.
        largest_degree: 0 where the graph could not be made.
        gathered_bytes: What one product with the matrix must read: a row of the signal for each
            edge, and the indices; 0 where a task is more than products.
        copied_bytes: What the copy that took its turn beside the tasks read and wrote.
        copy_seconds: Seconds of each repetition of that copy.
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
        seconds = self.copy_seconds
        return self.copied_bytes / statistics.median(seconds) if seconds else None

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
    """One run, its cases in the order measured.

    `environment` says the device, CPU, cores and threads, and when the run began.
    """

    versions: Mapping[str, str]
    environment: Mapping[str, Any]
    repetitions: int
    cases: tuple[Case, ...]

    @property
    def device(self) -> str:
        """The GPU, or the CPU with its threads."""
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
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_dict(cls, content: Any) -> "BenchRecord":
        """Read a file's content as if a stranger had written it; what does not fit is an error."""
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError("it was not written by this version of akgnn bench")
        where = content["environment"]
        texts = dict.fromkeys(("device", "processor", "began", "ended"), str)
        kinds = {**texts, **dict.fromkeys(("cores", "threads"), int)}
        return cls(
            versions=from_json(dict[str, str], content["versions"], "versions"),
            environment={name: from_json(kind, where[name], name) for name, kind in kinds.items()},
            repetitions=from_json(int, content["repetitions"], "repetitions"),
            cases=from_json(tuple[Case, ...], content["cases"], "cases"),
        )


def slug(name: str) -> str:
    """A name as part of a file's name."""
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")


def write_record(record: BenchRecord, folder: Path) -> Path:
    """Write the file of a run; the run's earlier state is replaced in one step."""
    file = folder / record.file_name
    write_file(file, (json_text(record.to_dict(), indent=1) + "\n").encode())
    return file


@dataclass(frozen=True)
class BenchContents:
    """What a folder holds: records, oldest first, and what is wrong with each other file."""

    records: tuple[BenchRecord, ...]
    skipped: tuple[str, ...]


def read_records(folder: Path) -> BenchContents:
    """All records of a folder; none where there is no such folder."""
    records, skipped = [], []
    for file in sorted(folder.glob("*.json")):
        try:
            records.append(BenchRecord.from_dict(read_json(file)))
        except MISFITS as error:
            skipped.append(f"{file} was skipped: {cause_of(error)}.")
    return BenchContents(tuple(sorted(records, key=lambda r: r.began)), tuple(skipped))


def newest(contents: BenchContents, suite: str) -> list[BenchRecord]:
    """The last record from each device in which a suite was measured, in the order of names."""
    last = {record.device: record for record in contents.records if record.of(suite)}
    return [record for _, record in sorted(last.items())]
