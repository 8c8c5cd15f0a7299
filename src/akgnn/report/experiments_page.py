"""The page of an experiment's records: tables, figures, kernels, run times."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from akgnn.bench.record import read_records
from akgnn.errors import RunFolderError
from akgnn.experiments.bundled import spec_names
from akgnn.experiments.record import Record
from akgnn.experiments.results import CellResult, collect
from akgnn.experiments.spec import Spec
from akgnn.experiments.spec_files import load_spec, read_spec
from akgnn.experiments.store import RecordStore
from akgnn.report.figures import Figure, figure_of
from akgnn.report.findings import findings_of
from akgnn.report.page import Page
from akgnn.report.response import responses_of
from akgnn.report.run_times import run_times_of
from akgnn.report.speed import speed_of
from akgnn.report.tables import Table, device_of, table_of

# Where `akgnn bench` keeps its records, beside those of experiments.
BENCH_FOLDER = "bench"


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
            f"{folder} holds no records that can be read; "
            f"akgnn reproduce table1 --out {folder} makes some."
        )
    measured = _measured(_specs(spec_files), contents.records)
    if not measured:
        raise RunFolderError(
            f"None of the {len(contents.records)} records in {folder} belongs to an experiment "
            "that akgnn knows; --spec FILE.toml adds one of your own."
        )
    sections = [section for spec, results in measured if (section := _section(spec, results))]
    names = [section.name for section in sections]
    tables = [section for section in sections if isinstance(section, Table)]
    responses = responses_of([result for _, results in measured for result in results], data_root)
    benchmarks = read_records(folder / BENCH_FOLDER)
    speed = speed_of(benchmarks)
    skipped = (*contents.skipped, *benchmarks.skipped)
    figures = [section for section in sections if isinstance(section, Figure)]
    shown: dict[str, Any] = {
        "sections": sections,
        "findings": findings_of(tables),
        "run_times": run_times_of(tables),
        "summary": _summary(contents.records),
        "speed": speed,
        "skipped": skipped,
        "commands": [f"akgnn reproduce {name} --out {folder.name}" for name in names],
    }
    counts = {"records": len(contents.records), "experiments": names}
    return Page(
        "Measured results",
        "experiments.html",
        shown,
        figures=(*figures, speed.figure) if speed else tuple(figures),
        responses=tuple(responses),
        warnings=skipped,
        counts=counts,
    )


def _specs(spec_files: Sequence[Path]) -> list[Spec]:
    """The paper's, then the others that come with akgnn, then one's own."""
    specs = {name: load_spec(name) for name in spec_names()}
    for path in spec_files:
        spec = read_spec(path)
        specs[spec.name] = spec
    return list(specs.values())


def _measured(
    specs: Sequence[Spec], records: Sequence[Record]
) -> list[tuple[Spec, list[CellResult]]]:
    """The specs that have at least one record."""
    collected = [(spec, collect(spec, records)) for spec in specs]
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
    versions = [name for record in records for name in record.versions.items()]
    return {
        "records": len(records),
        "failed": sum(not record.is_finished for record in records),
        "seeds": len({record.seed for record in records}),
        "first": ended[0][:10],
        "last": ended[-1][:10],
        "devices": list(dict.fromkeys(map(device_of, records))),
        "versions": _by_name(versions),
    }


def _by_name(versions: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Every version seen, by what it is of."""
    seen: dict[str, list[str]] = {}
    for name, value in dict.fromkeys(versions):
        seen.setdefault(name, []).append(value)
    return {name: ", ".join(found) for name, found in seen.items()}
