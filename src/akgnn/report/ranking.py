"""Which rows are best on a graph: their order by the mean, and who is not shown to be worse."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from akgnn.experiments.results import CellResult, compare_with
from akgnn.experiments.spec import shown_name
from akgnn.experiments.statistics import Summary
from akgnn.report.tables import row_label
from akgnn.training.metrics import METRICS


@dataclass(frozen=True)
class Place:
    """A row on one graph.

    Attributes:
        rank: 1 for the best mean; equal means share one.
        of: How many rows are ranked.
        is_best: Whether it is the best, or not shown to be worse than that.
        runs: Number of finished runs.
        digits: How many of its metric are shown.
    """

    label: str
    summary: Summary
    rank: int
    of: int
    is_best: bool
    runs: int
    digits: int

    @property
    def half(self) -> float | None:
        """Half the width of the mean's 95 % interval; None for a single run."""
        low, high = self.summary.ci95
        return None if math.isnan(low) else (high - low) / 2

    @property
    def strength(self) -> float:
        """From 1 for the first to 0 for the last."""
        return 1.0 if self.of == 1 else (self.of - self.rank) / (self.of - 1)


@dataclass(frozen=True)
class GraphRanking:
    """The rows of one graph, best first."""

    name: str
    metric: str
    unit: str
    is_tested: bool
    places: tuple[Place, ...]

    @property
    def best(self) -> list[Place]:
        """The best, and all that are not shown to be worse."""
        return [place for place in self.places if place.is_best]


def rankings_of(results: Sequence[CellResult]) -> list[GraphRanking]:
    """The ranking of every graph that has a finished run, in the order of the spec."""
    found: dict[str, list[CellResult]] = {}
    for result in results:
        if result.summary is not None and math.isfinite(result.summary.mean):
            found.setdefault(result.cell.dataset, []).append(result)
    return [_ranking(here) for here in found.values()]


def _ranking(results: Sequence[CellResult]) -> GraphRanking:
    cell = results[0].cell
    metric = METRICS[cell.metric]
    sign = 1 if metric.lower_is_better else -1
    known = [(result, result.summary) for result in results if result.summary is not None]
    known.sort(key=lambda pair: sign * pair[1].mean)
    order = [result for result, _ in known]
    means = [summary.mean for _, summary in known]
    family = compare_with(order[0], order[1:])
    worse = [False, *(comparison.verdict in ("higher", "lower") for comparison in family)]
    places = tuple(
        Place(
            row_label(result.cell),
            summary,
            1 + means.index(summary.mean),
            len(order),
            not is_worse,
            len(result.finished),
            metric.digits,
        )
        for (result, summary), is_worse in zip(known, worse, strict=True)
    )
    is_tested = any(comparison.is_tested for comparison in family)
    unit = " %" if metric.is_percent else ""
    return GraphRanking(shown_name(cell.dataset), metric.label, unit, is_tested, places)


@dataclass(frozen=True)
class Matrix:
    """Methods by graphs: `rows` have a place or None for every ranking, best on average first."""

    name: str
    title: str
    rankings: tuple[GraphRanking, ...]
    rows: tuple[tuple[str, tuple[Place | None, ...]], ...]


def matrix_of(name: str, title: str, rankings: Sequence[GraphRanking]) -> Matrix:
    """The places of all rows on all graphs; rows go by their mean strength."""
    by_graph = [{place.label: place for place in ranking.places} for ranking in rankings]
    labels = dict.fromkeys(label for places in by_graph for label in places)

    def strength(label: str) -> float:
        known = [places[label].strength for places in by_graph if label in places]
        return sum(known) / len(known)

    rows = [(label, tuple(p.get(label) for p in by_graph)) for label in labels]
    rows.sort(key=lambda row: -strength(row[0]))
    return Matrix(name, title, tuple(rankings), tuple(rows))
