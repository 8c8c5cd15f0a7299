"""A spec that is a table: rows with what was measured, printed and compared, by graph."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from akgnn.experiments.record import Record
from akgnn.experiments.results import CellResult, against_row
from akgnn.experiments.spec import Cell, Published, Spec, shown_name
from akgnn.experiments.statistics import Agreement, Comparison, Summary, agreement
from akgnn.report.values import pairs
from akgnn.training.metrics import METRICS


@dataclass(frozen=True)
class TableRow:
    """One method on one graph, with the grid's point where the spec varies something.

    Attributes:
        is_reference: Whether the others are compared with this row.
        summary: Mean, deviation and interval; None where no run finished.
        scores: By seed.
        agreement: Where the published value lies in what was measured.
        comparison: The reference minus this row.
        failures: Seed and reason of every failed run.
        chosen: How often validation chose which row, where this one chooses among others.
        digits: How many of its metric are shown.
    """

    label: str
    about: str
    is_reference: bool
    summary: Summary | None
    scores: Mapping[int, float]
    metric: str
    published: Published | None
    agreement: Agreement | None
    comparison: Comparison | None
    runs: "Runs"
    failures: tuple[tuple[int, str], ...]
    chosen: Mapping[str, int]
    digits: int = 1


@dataclass(frozen=True)
class Runs:
    """How the numbers of a row came about.

    Splits have their fingerprints and devices their number of threads; where runs differ there are
    several. Times are those on each of the devices that finished some. A row that chooses has none:
    it takes as long as all that it chooses among.
    """

    command: str
    splits: tuple[str, ...]
    versions: tuple[str, ...]
    devices: tuple[str, ...]
    times: Mapping[str, "Time"]


@dataclass(frozen=True)
class Time:
    """Medians over the runs on one device.

    Attributes:
        seconds: Of training; of runs side by side each one's share.
        memory: The most that was held, in MiB; of runs side by side by all of them together.
        together: How many trained side by side, at most; 1 for runs that trained alone.
    """

    seconds: float
    memory: float
    together: int = 1

    @property
    def held(self) -> str:
        """The memory, and for how many runs it was."""
        text = f"{self.memory:,.0f} MiB"
        return text if self.together == 1 else f"{text} for {self.together} together"


@dataclass(frozen=True)
class Scale:
    """What the drawn intervals of one graph share: the scores at their two ends."""

    low: float
    high: float

    def position(self, value: float) -> float:
        """Where a value lies, in per cent of the width."""
        return 100 * (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class GraphTable:
    """The rows of one graph, on one scale."""

    dataset: str
    name: str
    scale: Scale
    rows: tuple[TableRow, ...]
    lower_is_better: bool = False

    @property
    def caption(self) -> str:
        """The graph's name, with the metric where it is another than accuracy."""
        metric = self.rows[0].metric
        return self.name if metric == METRICS["accuracy"].label else f"{self.name}, {metric}"

    @property
    def best_first(self) -> str:
        """Which way its scores are sorted so that the best is at the top."""
        return "ascending" if self.lower_is_better else "descending"

    @property
    def splits(self) -> str:
        """The splits that its runs have, by name."""
        names = _different(
            split.partition(":")[0] for row in self.rows for split in row.runs.splits
        )
        if len(names) < 2:
            return f"split {names[0]}" if names else ""
        return f"{len(names)} splits, {names[0]} to {names[-1]}"

    @property
    def others(self) -> list[TableRow]:
        """The rows that are compared with the reference."""
        return [row for row in self.rows if row.comparison is not None]


@dataclass(frozen=True)
class Table:
    """A spec as tables, one a graph; `reference` is the row that others are compared with."""

    name: str
    title: str
    about: str
    reference: str
    graphs: tuple[GraphTable, ...]

    @property
    def rows(self) -> list[TableRow]:
        """The rows of all graphs."""
        return [row for graph in self.graphs for row in graph.rows]

    @property
    def has_published(self) -> bool:
        """Whether any row has a published value."""
        return any(row.published for row in self.rows)


def table_of(spec: Spec, results: Sequence[CellResult]) -> Table:
    """The table of a spec; cells without any record are left out."""
    reference = spec.rows[0].label
    compared = _compared(results, reference)
    graphs = []
    for dataset in spec.datasets:
        here = [
            (result, compared.get(_key(result)))
            for result in results
            if result.cell.dataset == dataset and (result.finished or result.failed)
        ]
        if here:
            rows = tuple(_row(result, reference, comparison) for result, comparison in here)
            lower = METRICS[here[0][0].cell.metric].lower_is_better
            graphs.append(GraphTable(dataset, shown_name(dataset), _scale(rows), rows, lower))
    return Table(spec.name, spec.title, spec.about, reference, tuple(graphs))


_Key = tuple[str, str, str]


def _key(result: CellResult) -> _Key:
    return result.cell.row.label, result.cell.dataset, pairs(result.cell.point)


def _compared(results: Sequence[CellResult], reference: str) -> dict[_Key, Comparison]:
    """Comparisons of every row with the reference at the same point of the grid."""
    compared: dict[_Key, Comparison] = {}
    for point in {pairs(result.cell.point) for result in results}:
        here = [r for r in results if r.finished and pairs(r.cell.point) == point]
        for (label, dataset), comparison in against_row(here, reference).items():
            compared[label, dataset, point] = comparison
    return compared


def _row(result: CellResult, reference: str, comparison: Comparison | None) -> TableRow:
    cell, summary = result.cell, result.summary
    return TableRow(
        label=row_label(cell),
        about=cell.row.about,
        is_reference=cell.row.label == reference,
        summary=summary,
        scores=result.scores,
        metric=METRICS[cell.metric].label,
        published=cell.published,
        agreement=agreement(summary, cell.published.mean) if summary and cell.published else None,
        comparison=comparison,
        runs=_runs(result),
        failures=tuple((record.seed, record.error or "") for record in result.failed),
        chosen=result.chosen,
        digits=METRICS[cell.metric].digits,
    )


def row_label(cell: Cell) -> str:
    """What a row is called at its point of the grid."""
    return ", ".join(filter(None, (cell.row.label, point_name(cell))))


def point_name(cell: Cell) -> str:
    """The values that the spec varies, with the paper's letter for the number of layers."""
    return pairs({name.replace("num_layers", "K"): v for name, v in cell.point.items()})


def _runs(result: CellResult) -> Runs:
    records = result.finished
    everything = (*result.finished, *result.failed)
    timed = () if result.cell.among else records
    return Runs(
        command=result.cell.command(len(everything)),
        splits=_different(record.data.split for record in records if record.data),
        versions=_different(pairs(record.versions) for record in everything),
        devices=_different(device_of(record) for record in everything),
        times={device: _time(records, device) for device in _different(map(device_of, timed))},
    )


def _time(records: Sequence[Record], device: str) -> Time:
    here = [record for record in records if device_of(record) == device]
    together = max(int(record.environment.get("side_by_side", 1)) for record in here)
    return Time(median(r.seconds for r in here), median(r.peak_memory for r in here), together)


def device_of(record: Record) -> str:
    """Device and threads of a run."""
    environment = record.environment
    device, threads = environment.get("device", "unknown device"), environment.get("threads")
    return f"{device}, {threads} thread{'s' * (threads != 1)}"


def _different(values: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _scale(rows: Sequence[TableRow]) -> Scale:
    """Wide enough for every interval, run and published value of a graph."""
    seen: list[float] = []
    for row in rows:
        seen += row.scores.values()
        seen += [row.published.mean] if row.published else []
        seen += row.summary.ci95 if row.summary else ()
    seen = [min(100.0, max(0.0, value)) for value in seen if math.isfinite(value)] or [0.0, 100.0]
    return Scale(math.floor(min(seen)), math.ceil(max(seen) + 1e-9))
