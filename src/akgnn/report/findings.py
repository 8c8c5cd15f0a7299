"""What the numbers say, in sentences that claim no more than the tests do."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from akgnn.report.tables import GraphTable, Table
from akgnn.report.values import count


@dataclass(frozen=True)
class Finding:
    """Sentences about one table."""

    name: str
    title: str
    sentences: tuple[str, ...]


def findings_of(tables: Sequence[Table]) -> list[Finding]:
    """What every table says of its reference row and of the published values."""
    found = []
    for table in tables:
        sentences = [_compared(table, graph) for graph in table.graphs if graph.others]
        sentences += _published(table)
        if sentences:
            title = table.title.partition(":")[0]
            found.append(Finding(table.name, title, tuple(sentences)))
    return found


def _compared(table: Table, graph: GraphTable) -> str:
    """How the reference row compares with the others on one graph."""
    verdicts: Counter[str] = Counter(r.comparison.verdict for r in graph.others if r.comparison)
    tested = len(graph.others) - verdicts["too few seeds"]
    if not tested:
        return f"On {graph.name} there are too few common seeds to compare."
    parts = [f"{word} than {verdicts[word]}" for word in ("higher", "lower") if verdicts[word]]
    said = " and ".join(parts) if parts else "neither higher nor lower than any"
    text = f"On {graph.name}, of {count(tested, 'other row')}, {table.reference} is {said}"
    if verdicts["no difference shown"]:
        text += f"; for {verdicts['no difference shown']} no difference is shown"
    return f"{text}."


def _published(table: Table) -> list[str]:
    places = Counter(row.agreement for row in table.rows if row.agreement)
    known = sum(places.values()) - places["unknown"]
    if not known:
        return []
    lie = "lies" if places["inside"] == 1 else "lie"
    return [
        f"Of {count(known, 'published value')}, {places['inside']} {lie} inside the 95 % interval "
        f"of the measured mean, {places['within the spread']} outside it but within the spread of "
        f"single runs, {places['above']} above and {places['below']} below all that."
    ]
