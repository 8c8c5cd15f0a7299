"""Records put in the order of a spec: what tables, figures and statistics are made of."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from akgnn.experiments.record import Record
from akgnn.experiments.spec import Cell, Spec
from akgnn.training.plan import RunPlan
from akgnn.training.summary import Summary, summarise


@dataclass(frozen=True)
class CellResult:
    """A cell with its records, one a seed, by seed."""

    cell: Cell
    finished: tuple[Record, ...]
    failed: tuple[Record, ...]

    @property
    def scores(self) -> dict[int, float]:
        """The cell's metric on the test nodes by seed; NaN where a record does not have it."""
        return {record.seed: record.score("test", self.cell.metric) for record in self.finished}

    @property
    def summary(self) -> Summary | None:
        """Mean, deviation and interval of the scores; None where nothing finished."""
        return summarise(list(self.scores.values())) if self.finished else None

    @property
    def val_score(self) -> float:
        """The metric on the validation nodes, mean over the seeds; what a search goes by."""
        values = [record.score("val", self.cell.metric) for record in self.finished]
        return statistics.fmean(values) if values else math.nan


def collect(spec: Spec, records: Sequence[Record]) -> list[CellResult]:
    """The cells of a spec, each with all its records, however many seeds there are.

    Runs without test nodes answer a search, and nothing else.

    Where a run was recorded twice, a finished one goes before a failed one, and one with history
    before one without.
    """
    best: dict[RunPlan, Record] = {}
    for record in records:
        if record.is_finished and record.is_search != spec.is_search:
            continue
        if record.plan not in best or _worth(record) > _worth(best[record.plan]):
            best[record.plan] = record
    seeds = sorted({record.seed for record in records})
    results = []
    for cell in spec.cells:
        found = [best[plan] for plan in map(cell.plan, seeds) if plan in best]
        finished = tuple(record for record in found if record.is_finished)
        failed = tuple(record for record in found if not record.is_finished)
        results.append(CellResult(cell, finished, failed))
    return results


def _worth(record: Record) -> tuple[bool, bool]:
    return record.is_finished, record.history is not None
