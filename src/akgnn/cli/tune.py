"""`akgnn tune`."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import typer

from akgnn.cli import own_tables
from akgnn.cli.asked import Asked, load_data, parsed_changes
from akgnn.cli.output import data_line, print_json, print_table
from akgnn.cli.progress import training_progress
from akgnn.cli.stopping import stop_requests
from akgnn.errors import MissingExtraError, SettingsError
from akgnn.settings import MOST_RUNS

if TYPE_CHECKING:
    from akgnn.tuning.trial import Search

_PAGE = "tuning.html"


def tune(
    dataset: str | None = typer.Option(None, help="Data set; `akgnn datasets` lists them.  [cora]"),
    nodes: Path | None = own_tables.NODES,
    edges: Path | None = own_tables.EDGES,
    label: str | None = own_tables.LABEL,
    config: Path | None = typer.Option(
        None, help="Settings file to start from, also of tables; `akgnn init` writes one."
    ),
    split: str | None = typer.Option(
        None,
        help="public, public-3, 20-per-class, 60/20/20, fold-0-of-5, or a column of your nodes.  "
        "[the data set's own; 60/20/20]",
    ),
    split_seed: int | None = typer.Option(None, help="Seed of a random split.  [0]"),
    features: str | None = typer.Option(None, help="auto, raw or row-normalised.  [auto]"),
    direction: str | None = typer.Option(
        None, help="symmetrised, or kept: the data's own directions.  [symmetrised]"
    ),
    model: str | None = typer.Option(None, help="Model; `akgnn models` lists them.  [akgnn]"),
    preset: str | None = typer.Option(
        None, help="Settings to start from.  [paper; any-graph for your own tables]"
    ),
    changes: list[str] = typer.Option(
        [],
        "--set",
        metavar="NAME=VALUE",
        help="Fix one setting, which is not searched; repeatable.",
    ),
    seed: int | None = typer.Option(None, help="Seed of the search and of every trial.  [0]"),
    trials: int = typer.Option(30, help="Trials in all, with those that --out has already."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or cuda:1."),
    data_root: Path | None = typer.Option(None, help="Folder of other data sets.  [$AKGNN_DATA]"),
    out: Path = typer.Option(Path("tuned"), help="Folder of the search; the same one goes on."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Search for better settings of a model, by the validation score that it stops on.

    Stop it and start it again as often as you like: every trial that ended is kept.

    Example: akgnn tune --dataset cora --model gcn --trials 30 --out tuned
    """
    if not 1 <= trials <= MOST_RUNS:
        raise SettingsError(f"--trials must be from 1 to {MOST_RUNS}, got {trials}.")
    from akgnn.training.allocator import keep_freed_memory
    from akgnn.training.device import choose_device
    from akgnn.training.run import describe
    from akgnn.tuning.search import tune as search_settings
    from akgnn.tuning.study import check_optuna, silence_optuna

    check_optuna()
    silence_optuna()
    options = {
        "dataset": dataset,
        "split": split,
        "split_seed": split_seed,
        "features": features,
        "direction": direction,
        "model": model,
        "preset": preset,
        "seed": seed,
    }
    given = {name: value for name, value in options.items() if value is not None}
    fixed = parsed_changes(changes)
    tables = {"nodes": nodes, "edges": edges, "label": label}
    plan = Asked(given, tables, config, fixed).plan()
    place = choose_device(device)
    keep_freed_memory()
    data = load_data(plan, data_root, place, force=True)
    with stop_requests() as should_stop, training_progress(trials) as show:
        search = search_settings(
            plan,
            data,
            out,
            trials=trials,
            fixed=fixed,
            after_epoch=partial(show, plan.preset.training.patience),
            should_stop=should_stop,
        )
    files = [*_files(out), *_draw(search, out / _PAGE)]
    if as_json:
        print_json(as_object(search, out))
        return
    print(f"{data_line(plan.data_name, describe(data))}; split {search.split}")
    _print_search(search, str(place))
    print(f"Kept in {out}: {', '.join(files)}.")
    print(f"Train it with: akgnn train --config {quote(str(out / files[1]))}")


def _files(out: Path) -> list[str]:
    from akgnn.tuning.search import BEST_FILE, STUDY_FILE

    return [STUDY_FILE, BEST_FILE]


def _draw(search: "Search", file: Path) -> list[str]:
    """Write the page where its packages are installed; say so where they are not."""
    from akgnn.report.html import check_packages, write
    from akgnn.report.tuning_page import tuning_page

    try:
        check_packages()
    except MissingExtraError as error:
        typer.echo(f"akgnn: No page of the search was written. {error}", err=True)
        return []
    write(tuning_page(search), file)
    return [file.name]


def as_object(search: "Search", out: Path) -> dict[str, Any]:
    """A search in one object."""
    which = search.plan.which
    return {
        "dataset": which.dataset,
        "split": search.split,
        "model": which.model,
        "preset": which.preset,
        "score": search.score.column,
        "best": asdict(search.best),
        "settings": search.plan_of(search.best).to_dict(),
        "trials": [asdict(trial) for trial in search.trials],
        "out": str(out),
    }


def _print_search(search: "Search", device: str) -> None:
    from akgnn.tuning.space import settings_of

    which, best, score = search.plan.which, search.best, search.score
    seconds = sum(trial.seconds for trial in search.trials)
    print(
        f"{which.model} ({which.preset}): {len(search.trials)} trials, "
        f"{search.count('finished')} finished, {search.count('pruned')} pruned, "
        f"{search.count('failed')} failed, {seconds:.1f} s on {device}"
    )
    first = search.trials[0]
    before = score.text(first.score) if first.state == "finished" else first.state
    print(f"  {score.name} {score.text(best.score)} in trial {best.number}; {before} at the start")
    start = settings_of(search.plan.preset)
    rows = [
        [each.name, _shown(start[each.name]), _shown(best.values[each.name])]
        for each in search.space
    ]
    print_table(["setting", "start", "best"], rows)


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool | None) else str(value)
