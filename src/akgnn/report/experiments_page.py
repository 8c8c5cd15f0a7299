"""The page of experiments: what it all amounts to, then tables, figures, kernels, run times."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from akgnn.bench.record import read_records
from akgnn.errors import RunFolderError
from akgnn.experiments import PAPER, SPECS
from akgnn.experiments.record import Record
from akgnn.experiments.results import CellResult, collect
from akgnn.experiments.spec import Spec
from akgnn.experiments.spec_files import load_spec, read_spec
from akgnn.experiments.store import RecordStore
from akgnn.report.figures import Figure, figure_of
from akgnn.report.html import Page
from akgnn.report.ranking import Matrix, matrix_of, rankings_of
from akgnn.report.response import responses_of
from akgnn.report.speed import speed_of
from akgnn.report.story import Sentence, best_sentence, learning_sentence, paying_sentence
from akgnn.report.table_data import COMMAND, table_data
from akgnn.report.tables import GraphTable, Table, Time, device_of, table_of
from akgnn.report.values import count

# Where `akgnn bench` keeps its records, beside those of experiments.
BENCH_FOLDER = "bench"
# So many experiments are all shown unfolded.
_FEW = 3


def experiments_page(
    folder: Path, spec_files: Sequence[Path] = (), data_root: Path | None = None
) -> Page:
    """The page of a folder of records.

    Args:
        folder: Where `akgnn reproduce` keeps its records.
        spec_files: Specs of one's own; one named as a spec of akgnn takes its place.
        data_root: Where PyG's data sets lie, for the spectra of their graphs.
    """
    contents = RecordStore(folder).read()
    if not contents.records:
        raise RunFolderError(
            f"{folder} holds no records that can be read; akgnn reproduce makes some."
        )
    measured = _measured(spec_files, contents.records)
    if not measured:
        raise RunFolderError(
            f"None of the {len(contents.records)} records in {folder} belongs to an experiment "
            "that akgnn knows; `spec` adds one of your own."
        )
    sections = [section for spec, results in measured if (section := _section(spec, results))]
    names = [section.name for section in sections]
    tables = [section for section in sections if isinstance(section, Table)]
    responses = responses_of([result for _, results in measured for result in results], data_root)
    benchmarks = read_records(folder / BENCH_FOLDER)
    speed = speed_of(benchmarks)
    skipped = (*contents.skipped, *benchmarks.skipped)
    figures = tuple(section for section in sections if isinstance(section, Figure))
    story, matrix = _overview(tables, measured)
    shown: dict[str, Any] = {
        "groups": _groups(sections),
        "unfolds": len(sections) <= _FEW,
        "story": story,
        "matrix": matrix,
        "first_figure": _first_figure(figures),
        "findings": {finding.name: finding.sentences for finding in findings_of(tables)},
        "run_times": run_times_of(tables)[:1],
        "summary": _summary(contents.records),
        "speed": speed,
        "skipped": skipped,
        "commands": [f"akgnn reproduce {name} --out {folder.name}" for name in names],
    }
    return Page(
        "Measured results",
        "experiments.html",
        shown,
        figures=(*figures, speed.figure) if speed else figures,
        responses=tuple(responses),
        counts={"records": len(contents.records), "experiments": names},
        warnings=skipped,
        data={**table_data(tables), "command": COMMAND},
    )


def _overview(
    tables: Sequence[Table], measured: Sequence[tuple[Spec, list[CellResult]]]
) -> tuple[list[Sentence], Matrix | None]:
    """The sentences that the page begins with, and the matrix of its first table."""
    results = {spec.name: found for spec, found in measured if not spec.is_search}
    known = [(table, results[table.name]) for table in tables if table.name in results]
    ranked = ((table, rankings_of(found)) for table, found in known)
    first = next(((table, rankings) for table, rankings in ranked if rankings), None)
    if first is None:
        return [], None
    table, rankings = first
    sentences = [best_sentence(table.name, rankings)]
    sentences += filter(None, [learning_sentence(known), paying_sentence(known)])
    return sentences, matrix_of(table.name, table.title, rankings)


def _first_figure(figures: Sequence[Figure]) -> Figure | None:
    """The figure beside the matrix: one over homophily, else the first."""
    drawn = [figure for figure in figures if figure.panels]
    return next((f for f in drawn if f.kind == "homophily"), drawn[0] if drawn else None)


def _groups(sections: Sequence[Table | Figure]) -> dict[str, list[Table | Figure]]:
    """The sections by where they come from, under their headings."""
    groups: dict[str, list[Table | Figure]] = {}
    for section in sections:
        place = (section.name in PAPER, section.name in SPECS)
        groups.setdefault(_HEADINGS[place], []).append(section)
    return groups


_HEADINGS = {
    (True, True): "The paper, measured again",
    (False, True): "Beyond the paper",
    (False, False): "Your own experiments",
}


def _measured(
    spec_files: Sequence[Path], records: Sequence[Record]
) -> list[tuple[Spec, list[CellResult]]]:
    """Specs with a record: the paper's, then others that come with akgnn, then one's own."""
    specs = {name: load_spec(name) for name in SPECS}
    specs |= {spec.name: spec for spec in map(read_spec, spec_files)}
    collected = [(spec, collect(spec, records)) for spec in specs.values()]
    return [
        (spec, results)
        for spec, results in collected
        if any(result.finished or result.failed for result in results)
    ]


def _section(spec: Spec, results: Sequence[CellResult]) -> Table | Figure | None:
    """The table or figure; None where records serve a figure that needs more of them.

    The loss by epoch is such a figure: records that other tables share with it lack the epochs.
    """
    if spec.shows == "table":
        return table_of(spec, results)
    figure = figure_of(spec, results)
    return figure if figure.panels or figure.failures else None


def _summary(records: Sequence[Record]) -> dict[str, Any]:
    """How many runs there are, when and with what they were made."""
    ended = sorted(str(record.environment.get("ended", "")) for record in records)
    versions: dict[str, dict[str, None]] = {}
    for record in records:
        for name, version in record.versions.items():
            versions.setdefault(name, {})[version] = None
    return {
        "records": len(records),
        "failed": sum(not record.is_finished for record in records),
        "seeds": len({record.seed for record in records}),
        "first": ended[0][:10],
        "last": ended[-1][:10],
        "devices": list(dict.fromkeys(map(device_of, records))),
        "versions": {name: ", ".join(seen) for name, seen in versions.items()},
    }


@dataclass(frozen=True)
class Finding:
    """Sentences about one table."""

    name: str
    title: str
    sentences: tuple[str, ...]


def findings_of(tables: Sequence[Table]) -> list[Finding]:
    """What every table says of its reference row and of the published values.

    The sentences claim no more than the tests do.
    """
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
    tested = len(graph.others) - verdicts["too few runs"]
    if not tested:
        return f"On {graph.name} there are too few runs to compare."
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


@dataclass(frozen=True)
class TimeRow:
    """A method on one device: its times by graph, None where there are none."""

    label: str
    device: str
    times: tuple[Time | None, ...]


@dataclass(frozen=True)
class RunTimes:
    """The times of a table's rows."""

    title: str
    graphs: tuple[str, ...]
    rows: tuple[TimeRow, ...]


def run_times_of(tables: Sequence[Table]) -> list[RunTimes]:
    """How long runs took and how much memory they held, of every table that has finished runs."""
    return [_times_of(table) for table in tables if any(row.summary for row in table.rows)]


def _times_of(table: Table) -> RunTimes:
    found = {(row.label, device) for row in table.rows for device in row.runs.times}
    by_graph = [{row.label: row.runs.times for row in graph.rows} for graph in table.graphs]
    order = list(dict.fromkeys(row.label for row in table.rows))
    rows = [
        TimeRow(label, device, tuple(times.get(label, {}).get(device) for times in by_graph))
        for label, device in sorted(found, key=lambda key: (order.index(key[0]), key[1]))
    ]
    return RunTimes(table.title, tuple(graph.name for graph in table.graphs), tuple(rows))
