"""What the records amount to, in a few sentences: what is best, what learning λ adds, and where.

Every number is computed from the records, and a sentence claims no more than the tests show.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from akgnn.experiments.results import CellResult, kernel_apart
from akgnn.experiments.statistics import Comparison
from akgnn.report.ranking import GraphRanking
from akgnn.report.tables import Table
from akgnn.report.values import count, listed, number, signed

# Of more graphs than this a sentence names some.
_MOST_GRAPHS = 4
_MOST_NAMES = 2

Measured = Sequence[tuple[Table, Sequence[CellResult]]]
_Differences = list[tuple[str, Comparison]]


@dataclass(frozen=True)
class Sentence:
    """A sentence, what question it answers, and the section that has its numbers."""

    question: str
    text: str
    source: str


def best_sentence(source: str, rankings: Sequence[GraphRanking]) -> Sentence:
    """What is best on each graph of a table."""
    named = [_best(ranking) for ranking in rankings[:_MOST_GRAPHS]]
    text = "; ".join(named)
    text = text[0].upper() + text[1:]
    if more := len(rankings) - len(named):
        text += f"; {count(more, 'more graph')} below"
    several = any(len(ranking.best) > 1 and ranking.is_tested for ranking in rankings)
    note = " Of those named together none is shown to be better." if several else ""
    return Sentence("What is best where?", f"{text}.{note}", source)


def _best(ranking: GraphRanking) -> str:
    first, best = ranking.places[0], ranking.best
    score = f"{number(first.summary.mean, first.digits)}{ranking.unit}"
    if len(ranking.places) == 1:
        return f"{first.label} has {score} on {ranking.name}"
    if not ranking.is_tested:
        return f"on {ranking.name} {first.label} with {score}, of too few runs to tell"
    names = [place.label for place in best[:_MOST_NAMES]]
    if (more := len(best) - len(names)) > 0:
        names.append(count(more, "other"))
    return f"on {ranking.name} {listed(names)}, {score}"


def learning_sentence(measured: Measured) -> Sentence | None:
    """What learning λ is worth beside the same network with λ fixed, by the first table with both.

    None where no table has them.
    """
    for table, results in measured:
        if pair := _differences(table, results, only_learning=True):
            worth = [f"{_points(c)} on {graph}" for graph, c in pair[:_MOST_GRAPHS]]
            text = f"In points, learning λ adds {_names(worth)} beside λ fixed: {_verdicts(pair)}."
            return Sentence("What is learning λ worth?", text, table.name)
    return None


def paying_sentence(measured: Measured) -> Sentence | None:
    """Where a learned kernel is above λ fixed, by the table where it is so on most graphs.

    None where it is so nowhere.
    """
    best: tuple[tuple[int, float], Table, _Differences] | None = None
    for table, results in measured:
        pair = _differences(table, results, only_learning=False)
        gains = [c.difference for _, c in pair if c.verdict == "higher"]
        rank = len(gains), sum(gains)
        if gains and (best is None or rank > best[0]):
            best = rank, table, pair
    if best is None:
        return None
    _, table, pair = best
    above = sorted((p for p in pair if p[1].verdict == "higher"), key=lambda p: -p[1].difference)
    named = [f"{graph} ({_points(c)})" for graph, c in above[:_MOST_GRAPHS]]
    if (more := len(above) - len(named)) > 0:
        named.append(count(more, "more graph"))
    text = f"In points, {table.reference} is above the same network with λ fixed on {_names(named)}"
    rest = [
        f"{said} on {_names(graphs)}"
        for verdict, said in (("lower", "below it"), ("no difference shown", "not shown to differ"))
        if (graphs := [graph for graph, c in pair if c.verdict == verdict])
    ]
    return Sentence("Where does the kernel pay?", "; ".join([text, *rest]) + ".", table.name)


def _points(comparison: Comparison) -> str:
    low, high = comparison.ci95
    interval = f" [{signed(low)}, {signed(high)}]" if low == low else ""
    return f"{signed(comparison.difference)}{interval}"


def _names(names: Sequence[str]) -> str:
    """Names in a row; some graphs have a comma in theirs, outside of an interval's brackets."""
    has_commas = any("," in name.partition("[")[0] for name in names)
    return "; ".join(names) if has_commas else listed(names)


def _verdicts(pair: Sequence[tuple[str, Comparison]]) -> str:
    shown = {"higher": "higher on", "lower": "lower on"}
    said = [
        f"{words} {_names(graphs)}"
        for verdict, words in shown.items()
        if (graphs := [graph for graph, c in pair if c.verdict == verdict])
    ]
    if not said:
        few = all(c.verdict == "too few runs" for _, c in pair)
        return "too few runs to tell" if few else "no difference is shown"
    rest = [graph for graph, c in pair if c.verdict not in shown]
    return "; ".join([*said, *([f"no difference shown on {_names(rest)}"] if rest else [])])


def _differences(
    table: Table, results: Sequence[CellResult], *, only_learning: bool
) -> _Differences:
    """By graph, what the reference of a table has more than its twin with λ fixed.

    Empty where it has none. Twins are the same network but for the kernel or, where
    `only_learning`, but for that alone.
    """
    rows = {r.cell.row.label: r for r in results if not (r.cell.point or r.cell.among)}
    reference = rows.get(table.reference)
    twins = [
        label
        for label, row in rows.items()
        if reference is not None and _is_fixed(reference, row, only_learning)
    ]
    return [
        (graph.name, row.comparison)
        for graph in table.graphs
        for row in graph.rows
        if row.label in twins[:1] and row.comparison
    ]


def _is_fixed(learned: CellResult, fixed: CellResult, only_learning: bool) -> bool:
    """Whether the second is the first with λ fixed."""
    network, kernel = kernel_apart(learned.cell)
    other, fixed_kernel = kernel_apart(fixed.cell)
    if network != other or not kernel.get("learn_lambda") or fixed_kernel["learn_lambda"]:
        return False
    return not only_learning or kernel["kernel"] == fixed_kernel["kernel"]
