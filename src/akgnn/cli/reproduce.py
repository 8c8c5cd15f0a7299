"""`akgnn reproduce`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from akgnn.cli.options import check_range
from akgnn.cli.progress import StopRequests, runs_progress
from akgnn.cli.show import print_json, print_table
from akgnn.cli.terminal import complain, say
from akgnn.errors import FailedRunsError, InterruptedRunError
from akgnn.experiments import OTHERS, PAPER
from akgnn.settings import MOST_RUNS

if TYPE_CHECKING:
    from akgnn.experiments.record import Record
    from akgnn.experiments.results import CellResult
    from akgnn.experiments.spec import Spec


def reproduce(
    experiment: str = typer.Argument(
        help=f"{', '.join(PAPER)}, these as `all`, {', '.join(OTHERS)}, "
        "or a spec of your own, FILE.toml."
    ),
    seeds: int | None = typer.Option(None, help="Seeds of every cell.  [what the spec says]"),
    out: Path = typer.Option(Path("results"), help="Folder of the records."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or cuda:1."),
    jobs: int | None = typer.Option(None, help="Workers at a time.  [one a core]"),
    data_root: Path | None = typer.Option(None, help="Folder of other data sets.  [$AKGNN_DATA]"),
    retry_failed: bool = typer.Option(False, "--retry-failed", help="Try failed runs again."),
    as_markdown: bool = typer.Option(False, "--markdown", help="Print tables for a document."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Measure a table or figure: train what is missing, write it down, show the result.

    Stop it and start it again as often as you like: every finished run is kept.

    Example: akgnn reproduce table1 --seeds 3 --out results
    """
    check_range("--seeds", seeds, 1, MOST_RUNS)
    check_range("--jobs", jobs, 1, MOST_RUNS)
    from akgnn.experiments.results import collect, markdown_table
    from akgnn.experiments.runner import missing, run_tasks, tasks_of
    from akgnn.experiments.spec_files import load_spec
    from akgnn.experiments.store import RecordStore
    from akgnn.machine.device import choose_device

    specs = [load_spec(name) for name in (PAPER if experiment == "all" else (experiment,))]
    place = str(choose_device(device))
    store = RecordStore(out)
    with store.locked():
        before = store.read()
        for line in before.skipped:
            complain(line)
        wanted = tasks_of(specs, seeds)
        tasks = missing(wanted, before.records, retry_failed=retry_failed)
        with StopRequests() as stops, runs_progress(len(tasks)) as show:
            done = run_tasks(
                tasks,
                store,
                device=place,
                num_workers=jobs,
                data_root=data_root,
                after_run=show,
                should_stop=stops.should_stop,
            )
    if len(done) < len(tasks):
        raise InterruptedRunError(
            f"Stopped with {len(done)} of {len(tasks)} runs done, which are kept in {out}; "
            "the same command goes on."
        )
    # As they were written, in few digits: so a later call shows the same.
    records = store.read().records
    plans = {task.plan for task in wanted}
    last = {record.plan: record for record in records}.values()
    failed = [record for record in last if record.error and record.plan in plans]
    results = {spec.name: collect(spec, records) for spec in specs}
    if as_json:
        print_json(
            {
                "out": str(out),
                "runs": len(wanted),
                "trained": len(done),
                "failed": [{"run": describe(run), "error": run.error} for run in failed],
                "experiments": {name: _as_rows(cells) for name, cells in results.items()},
            }
        )
    elif as_markdown:
        for spec in specs:
            print(markdown_table(spec, results[spec.name]))
    else:
        for spec in specs:
            _print_spec(spec, results[spec.name])
        if tasks:
            say(f"{len(done)} runs trained, {len(wanted) - len(done)} were there; kept in {out}.")
        else:
            say(f"Nothing to do: all {len(wanted)} runs are in {out}.")
    if failed:
        first = failed[0]
        raise FailedRunsError(
            f"{len(failed)} of {len(wanted)} runs failed, the first ({describe(first)}): "
            f"{first.error} --retry-failed tries them again."
        )


def describe(record: "Record") -> str:
    """A run in a few words."""
    run = record.plan.run
    return f"{run.model} on {run.dataset}, seed {run.seed}"


def _as_rows(cells: Sequence["CellResult"]) -> list[dict[str, Any]]:
    rows = []
    for result in cells:
        cell, summary = result.cell, result.summary
        rows.append(
            {
                "label": cell.row.label,
                "dataset": cell.dataset,
                **cell.point,
                "metric": cell.metric,
                "seeds": len(result.finished),
                "mean": summary.mean if summary else None,
                "std": summary.std if summary else None,
                "ci95": list(summary.ci95) if summary else None,
                "val_score": result.val_score,
                "published": cell.published.mean if cell.published else None,
                "chosen": result.chosen or None,
            }
        )
    return rows


def _print_spec(spec: "Spec", cells: Sequence["CellResult"]) -> None:
    from akgnn.experiments.results import table_of_texts
    from akgnn.experiments.spec import shown_name

    print(f"{spec.title}\n{spec.about}\n" if spec.about else f"{spec.title}\n")
    if spec.is_search:
        print("Measured on the validation nodes; the test nodes were not there.\n")
    head, *rows = table_of_texts(spec, cells)
    print_table(head, rows)
    for result in cells:
        if result.chosen and result.finished:
            where = f"{result.cell.row.label} on {shown_name(result.cell.dataset)}"
            times = "; ".join(f"{label}: {number}" for label, number in result.chosen.items())
            print(f"{where}, chosen by validation: {times}.")
    print()
