"""What was measured as tables of texts, for terminals, documents and the page."""

from collections.abc import Callable, Sequence

from akgnn.bench.peers import OURS
from akgnn.bench.record import BOTH, BenchRecord, Case, Timed
from akgnn.data.catalogue import graph_name

_DEGREES = {"even": "even degrees", "power-law": "power law"}
NONE, FAILED = "–", "failed"

Table = list[list[str]]


def title_of(case: Case) -> str:
    """What a case is of, in one line."""
    largest = f" (largest degree {case.largest_degree:,})" if case.largest_degree else ""
    return (
        f"{shown_graph(case)}: {case.num_nodes:,} nodes, {case.num_edges:,} edges{largest}, "
        f"{case.channels} channels, {case.dtype}"
    )


def shown_graph(case: Case) -> str:
    """The graph for readers."""
    return _DEGREES.get(case.graph) or graph_name(case.graph)


def case_table(case: Case) -> Table:
    """The headings, then a row for each contestant: time, times ours, share of the copy; memory."""
    has_shares = case.gathered_bytes > 0
    head = ["method"]
    for task in case.tasks:
        head += [f"{task}, ms", "× akgnn"] + ["of copy"] * has_shares
    rows = [[name, *_cells(case, name, has_shares)] for name in case.names]
    return [[*head, "memory, MiB"], *rows]


def failures_of(case: Case) -> list[str]:
    """Who failed, and why."""
    if case.error:
        return [f"{title_of(case)}: {case.error}"]
    reasons = {timed.name: timed.error for timed in case.timed if timed.error}
    return [f"{name}: {error}" for name, error in reasons.items()]


def record_table(record: BenchRecord, suite: str) -> Table:
    """All cases of a suite in one table, each with its graph; empty where there are none."""
    table: Table = []
    for case in record.of(suite):
        head, *lines = case_table(case)
        table = table or [["graph", *head]]
        for place, line in enumerate(lines):
            table.append(["" if place else title_of(case), *line])
    return table


def brief_table(cases: Sequence[Case]) -> Table:
    """Ours beside the quickest peer of every epoch, and of the largest layers in float32."""
    table: Table = [["task", "akgnn, ms", "quickest peer", "its ms", "times as fast"]]
    for case in largest_of(cases):
        task = case.tasks[-1]
        ours = case.find(OURS, task)
        peers = [(t.median, t.name) for t in case.timed if t.task == task and t.name != OURS]
        known = [(median, name) for median, name in peers if median is not None]
        if known and ours and ours.median:
            median, name = min(known)
            numbers = (1000 * ours.median, 1000 * median, median / ours.median)
            our_ms, their_ms, times = map(_shown, numbers)
            table.append([f"{task}, {title_of(case)}", our_ms, name, their_ms, times])
    return table


def largest_of(cases: Sequence[Case]) -> list[Case]:
    """The cases in float32 on the largest graph of each kind."""
    largest = {c.graph: c.num_edges for c in sorted(cases, key=lambda c: c.num_edges)}
    return [c for c in cases if (c.dtype, c.num_edges) == ("float32", largest[c.graph])]


def growth_tables(record: BenchRecord) -> dict[str, Table]:
    """Time an edge and memory a node by size and contestant; empty where nothing was measured."""
    cases = record.of("growth")
    names = list(dict.fromkeys(name for case in cases for name in case.names))
    several = len({(case.graph, case.dtype) for case in cases}) > 1

    def size(case: Case) -> str:
        return f"{case.num_edges:,}" + f", {shown_graph(case)}, {case.dtype}" * several

    def table(value: Callable[[Case, Timed | None], float | None]) -> Table:
        rows = [
            [size(case), *(_shown(value(case, case.find(name, BOTH))) for name in names)]
            for case in cases
        ]
        return [["edges", *names], *rows]

    if not cases:
        return {}
    return {"nanoseconds an edge": table(per_edge), "bytes of memory a node": table(per_node)}


def per_edge(case: Case, timed: Timed | None) -> float | None:
    """Nanoseconds an edge."""
    if timed is None or timed.median is None:
        return None
    return 1e9 * timed.median / case.num_edges


def per_node(case: Case, timed: Timed | None) -> float | None:
    """Bytes of memory a node, beyond graph, signal and gradient."""
    if timed is None or timed.extra_bytes is None:
        return None
    return timed.extra_bytes / case.num_nodes


def as_markdown(table: Table) -> str:
    """A table in Markdown, columns of numbers to the right."""
    head, *rows = table
    columns = zip(*rows, strict=True)
    rule = ["--:" if all(map(_is_number, cells)) else "---" for cells in columns]
    lines = [head, rule, *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def _is_number(cell: str) -> bool:
    return cell[:1].isdigit() or cell in (NONE, FAILED)


def _cells(case: Case, name: str, has_shares: bool) -> list[str]:
    cells = []
    for task in case.tasks:
        timed, ours = case.find(name, task), case.find(OURS, task)
        assert timed is not None
        if timed.median is None:
            cells += [FAILED, NONE] + [NONE] * has_shares
            continue
        ratio = f"{timed.median / ours.median:.2f}" if ours and ours.median else NONE
        cells += [_shown(1000 * timed.median), ratio]
        if has_shares:
            share = case.share(timed)
            cells.append(NONE if share is None else f"{100 * share:.0f} %")
    last = case.find(name, case.tasks[-1])
    extra = last.extra_bytes if last else None
    return [*cells, NONE if extra is None else _shown(extra / 2**20)]


def _shown(value: float | None) -> str:
    """A number with about three digits."""
    if value is None:
        return NONE
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 0.1 else 4
    return f"{value:,.{digits}f}"
