"""What the numbers say, in sentences that claim no more than the tests do."""

from collections import Counter
from collections.abc import Sequence

from akgnn.report.tables import GraphTable, Table
from akgnn.report.values import count


def findings_of(tables: Sequence[Table]) -> list[str]:
    """Sentences about the comparisons and the published values of every table."""
    found = []
    for table in tables:
        found += [_compared(table, graph) for graph in table.graphs if graph.others]
        if table.has_published:
            found += _published(table)
    return found


def _compared(table: Table, graph: GraphTable) -> str:
    verdicts: Counter[str] = Counter(r.comparison.verdict for r in graph.others if r.comparison)
    rows = len(graph.others)
    parts = [f"{word} than {verdicts[word]}" for word in ("higher", "lower") if verdicts[word]]
    text = f"{_short(table)}, {graph.name}: of {count(rows, 'other row')}, {table.reference} is "
    text += " and ".join(parts) if parts else "neither higher nor lower than any"
    if verdicts["no difference shown"]:
        text += f"; for {verdicts['no difference shown']} no difference is shown"
    if verdicts["too few seeds"]:
        text += f"; {verdicts['too few seeds']} have too few common seeds to tell"
    return text + "."


def _published(table: Table) -> list[str]:
    places = Counter(row.agreement for row in table.rows if row.agreement)
    known = sum(places.values()) - places["unknown"]
    if not known:
        return []
    text = (
        f"{_short(table)}: of {count(known, 'published value')}, {places['inside']} "
        f"{'lies' if places['inside'] == 1 else 'lie'} inside the 95 % interval of the measured "
        f"mean, {places['within the spread']} within the spread of single runs, "
        f"{places['above']} above and {places['below']} below all that."
    )
    return [text]


def _short(table: Table) -> str:
    """The title up to its colon."""
    return table.title.partition(":")[0]
