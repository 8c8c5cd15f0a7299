"""Records put in the order of a spec: what tables, figures and statistics are made of."""

import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from akgnn.errors import UnknownNameError
from akgnn.experiments.record import Record
from akgnn.experiments.spec import Cell, Spec, shown_name
from akgnn.experiments.statistics import (
    Comparison,
    Summary,
    agreement,
    compare_paired,
    compare_unpaired,
    corrected,
    summarise,
)
from akgnn.runs.choice import score_of
from akgnn.runs.plan import RunPlan
from akgnn.training.metrics import METRICS

_READING = re.compile(r", | with(?:out)? ")
_AGREEMENT = ("inside", "within the spread", "within half a point")
_HALF_A_POINT = 0.5


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

    @property
    def chosen(self) -> dict[str, int]:
        """How often validation chose each row, of a row that chooses; of others empty."""
        return {
            cell.row.label: sum(record.plan == cell.plan(record.seed) for record in self.finished)
            for cell in self.cell.among
        }


def collect(spec: Spec, records: Sequence[Record]) -> list[CellResult]:
    """The cells of a spec, each with all its records, however many seeds there are.

    Runs without test nodes answer a search, and nothing else.

    Where a run was recorded twice, a finished one goes before a failed one, one with history before
    one without, and one with the scores that a choice goes by before an earlier one without.
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
        found = [each for seed in seeds if (each := _record(cell, seed, best))]
        finished = tuple(record for record in found if record.is_finished)
        failed = tuple(record for record in found if not record.is_finished)
        results.append(CellResult(cell, finished, failed))
    return results


def _worth(record: Record) -> tuple[bool, bool, bool]:
    return record.is_finished, record.history is not None, "val_log_loss" in record.metrics


def _record(cell: Cell, seed: int, records: Mapping[RunPlan, Record]) -> Record | None:
    """The record of a seed; of a cell that chooses, that of the cell which validation prefers.

    As in `akgnn.runs.choice`, what failed is passed over. There is none while a cell lacks its
    record or what it is compared by.
    """
    if not cell.among:
        return records.get(cell.plan(seed))
    plans = [each.plan(seed) for each in cell.among]
    tried = [records[plan] for plan in plans if plan in records]
    if len(tried) < len(plans):
        return None
    finished = [record for record in tried if record.is_finished]
    if not finished:
        return tried[0]
    score = score_of(plans)

    def value(record: Record) -> float:
        return record.metrics.get(score.column, math.nan)

    return None if any(map(math.isnan, map(value, finished))) else score.best_of(finished, value)


def by_metric(results: Sequence[CellResult], metric: str) -> list[CellResult]:
    """The same by another metric of the records, without the published values: those are not of it.

    Raises:
        UnknownNameError: There is no such metric.
    """
    if metric not in METRICS:
        raise UnknownNameError("metric", metric, METRICS)
    return [
        replace(
            result,
            cell=replace(result.cell, metric=metric, row=replace(result.cell.row, published={})),
        )
        for result in results
    ]


def is_paired(first: Cell, second: Cell) -> bool:
    """Whether runs of one seed belong together, so that two cells are compared pair by pair.

    They do where the seed draws the split or the graph, for both then meet the same nodes, and
    where both are the same network but for its kernel, for both then have the same initial weights
    and masks. Between other cells a seed means nothing, and all runs of both are compared.
    """
    meets_draws = _draw(first, 0) != _draw(first, 1) and all(
        _draw(first, seed) == _draw(second, seed) for seed in (0, 1)
    )
    others = _networks(second)
    return meets_draws or any(network in others for network in _networks(first))


def _draw(cell: Cell, seed: int) -> tuple[str, str | None, int]:
    """What a seed is trained on: the graph and the split."""
    run = cell.plan(seed).run
    return run.dataset, run.split, run.split_seed


# On the fixed splits of the studies the correlation of scores over seeds is about 0.5, and nowhere
# below 0, where these alone differ; with other settings or models it is 0.0 on average.
_KERNEL = ("kernel", "learn_lambda")


def _networks(cell: Cell) -> list[dict[str, Any]]:
    """All settings but those of the kernel, of a cell or of each that it chooses among."""
    return [kernel_apart(each)[0] for each in cell.among or (cell,)]


def kernel_apart(cell: Cell) -> tuple[dict[str, Any], dict[str, Any]]:
    """All settings of a cell but those of the kernel, and those of the kernel."""
    settings = cell.template.to_dict()
    model = settings["model"]
    others = {name: value for name, value in model.items() if name not in _KERNEL}
    return {**settings, "model": others}, {name: model[name] for name in _KERNEL if name in model}


def against_row(results: Sequence[CellResult], label: str) -> dict[tuple[str, str], Comparison]:
    """Compare the row called `label` with every other row, by (label of the other, data set).

    The runs are compared pair by pair where `is_paired` says so, else all with all. The comparisons
    on one data set are one family for Holm's correction.
    """
    compared: dict[tuple[str, str], Comparison] = {}
    for dataset in dict.fromkeys(result.cell.dataset for result in results):
        here = {r.cell.row.label: r for r in results if r.cell.dataset == dataset}
        others = [name for name in here if name != label]
        if label not in here:
            continue
        family = compare_with(here[label], [here[name] for name in others])
        for name, comparison in zip(others, family, strict=True):
            compared[name, dataset] = comparison
    return compared


def compare_with(first: CellResult, others: Sequence[CellResult]) -> list[Comparison]:
    """Compare one result with each of the others; together they are one family."""
    return corrected([_compare(first, other) for other in others])


def _compare(first: CellResult, second: CellResult) -> Comparison:
    if is_paired(first.cell, second.cell):
        return compare_paired(first.scores, second.scores)
    return compare_unpaired(first.scores.values(), second.scores.values())


def table_of_texts(spec: Spec, results: Sequence[CellResult]) -> list[list[str]]:
    """The headings, then a line for each row and grid point with a column for each data set.

    Where the cells differ in their number of runs, one more column has it.
    """
    lines: dict[tuple[str, ...], dict[str, CellResult]] = {}
    for result in results:
        cell = result.cell
        key = (cell.row.label, *(str(value) for value in cell.point.values()))
        lines.setdefault(key, {})[cell.dataset] = result
    differ = len({len(result.finished) for result in results if result.finished}) > 1
    table = [["method", *_varied(results[0].cell), *["runs"] * differ, *_headings(results)]]
    for key, line in lines.items():
        cells = [line[name] for name in spec.datasets]
        runs = [_in_one(str(len(cell.finished) or "–") for cell in cells)]
        table.append([*key, *runs * differ, *map(_shown, cells)])
    return table


def _in_one(texts: Iterable[str]) -> str:
    """What the cells of a row say: once where they agree, else in their order."""
    told = list(texts)
    return told[0] if len(set(told)) == 1 else " / ".join(told) or "–"


def markdown_table(spec: Spec, results: Sequence[CellResult], *, is_turned: bool = False) -> str:
    """The same in Markdown; turned, it has a line for each data set and a column for each row."""
    table = table_of_texts(spec, results)
    return as_markdown(_turned(table, "graph") if is_turned else table)


def markdown_comparison(results: Sequence[CellResult], *, is_turned: bool = False) -> str:
    """The first row against every other on each data set, in Markdown; turned as above.

    A cell holds the difference of means, first minus other, its 95 % interval, and the verdict of
    both corrected tests; the column `runs` says whether they are paired, and how many runs count.
    Where the spec varies something, rows are compared at each of its points, one line a point.
    """
    label = results[0].cell.row.label
    points: dict[tuple[str, ...], list[CellResult]] = {}
    for result in results:
        points.setdefault(tuple(map(str, result.cell.point.values())), []).append(result)
    compared = {
        (other, point, dataset): comparison
        for point, here in points.items()
        for (other, dataset), comparison in against_row(here, label).items()
    }
    datasets = list(dict.fromkeys(dataset for _, _, dataset in compared))
    shown = [result for result in results if result.cell.dataset in datasets]
    varied = _varied(results[0].cell) if len(points) > 1 else []
    head = [f"{label} minus", *varied, "runs", *_headings(shown)]
    digits = {result.cell.dataset: METRICS[result.cell.metric].digits for result in shown}
    rows = []
    for other, point in dict.fromkeys((other, point) for other, point, _ in compared):
        here = {name: compared[other, point, name] for name in datasets}
        runs = _in_one(each.design for each in here.values() if each.is_tested)
        cells = (_compared(here[name], digits[name]) for name in datasets)
        rows.append([other, *(point if varied else ()), runs, *cells])
    table = [head, *rows]
    return as_markdown(_turned(table, head[0]) if is_turned else table)


def _varied(cell: Cell) -> list[str]:
    """What differs between the points of a grid, as tables call it."""
    return ["K" if name == "num_layers" else name for name in cell.point]


def _turned(table: Sequence[Sequence[str]], corner: str) -> list[list[str]]:
    """Rows become columns."""
    (_, *head), *rows = zip(*table, strict=True)
    return [[corner, *head], *map(list, rows)]


def markdown_agreement(results: Sequence[CellResult]) -> str:
    """Which reading of a method has its published values, in Markdown; a line for each method.

    Rows are readings of one method where their labels begin alike: what comes before the first
    comma or `with`. A cell names the reading whose runs agree best with the published value, its
    mean and that value; half a point is close enough. Where none agrees it is the nearest.
    """
    told = [result for result in results if result.summary and result.cell.published]
    datasets = list(dict.fromkeys(result.cell.dataset for result in told))
    cells: dict[str, dict[str, list[CellResult]]] = {}
    for result in told:
        method = _READING.split(result.cell.row.label)[0]
        cells.setdefault(method, {}).setdefault(result.cell.dataset, []).append(result)
    rows = [
        [method, *(_agreeing(method, found.get(dataset, [])) for dataset in datasets)]
        for method, found in cells.items()
    ]
    return as_markdown([["method", *map(shown_name, datasets)], *rows])


def _agreeing(method: str, readings: Sequence[CellResult]) -> str:
    """The best of the readings of a method on one data set."""
    judged = []
    for result in readings:
        summary, published = result.summary, result.cell.published
        assert summary is not None
        assert published is not None
        verdict: str = agreement(summary, published.mean)
        distance = abs(summary.mean - published.mean)
        # Runs that hardly differ have hardly a spread.
        if verdict not in _AGREEMENT and distance <= _HALF_A_POINT:
            verdict = _AGREEMENT[-1]
        reading = result.cell.row.label.removeprefix(method).lstrip(", ") or "paper"
        numbers = f"{summary.mean:.1f} ({reading}) for {published.mean:.1f}"
        agrees = verdict in _AGREEMENT
        place = _AGREEMENT.index(verdict) if agrees else len(_AGREEMENT)
        text = f"{verdict if agrees else '**not reproduced**'}: {numbers}"
        judged.append((place, distance, text))
    return min(judged)[2] if judged else "–"


def _headings(results: Sequence[CellResult]) -> list[str]:
    """The data sets, each once, with the metric where it is another than accuracy."""
    metrics = {result.cell.dataset: result.cell.metric for result in results}
    return [
        shown_name(name) + ("" if metric == "accuracy" else f", {METRICS[metric].label}")
        for name, metric in metrics.items()
    ]


def _compared(comparison: Comparison, digits: int) -> str:
    if not comparison.is_tested:
        return "–"
    low, high = comparison.ci95
    shown = f"{comparison.difference:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"
    return f"{shown} {comparison.verdict}"


def as_markdown(table: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; the first row has the headings."""
    head, *rows = table
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def _shown(result: CellResult) -> str:
    """Mean ± deviation and, in brackets, what the paper prints; of a search the validation's."""
    summary, published = result.summary, result.cell.published
    digits = METRICS[result.cell.metric].digits
    if summary is None:
        return "failed" if result.failed else "–"
    if any(record.is_search for record in result.finished):
        return f"{result.val_score:.{digits}f}"
    if summary.mean != summary.mean:
        return "–"
    text = f"{summary.mean:.{digits}f}"
    if summary.std == summary.std:
        text += f" ± {summary.std:.{digits}f}"
    return f"{text} ({published.mean:.{digits}f})" if published else text
