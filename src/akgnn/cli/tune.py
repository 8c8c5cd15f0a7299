"""`akgnn tune`."""

from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from akgnn.cli import options
from akgnn.cli.layout import Styled
from akgnn.cli.progress import StopRequests, TrainingProgress
from akgnn.cli.request_options import with_request
from akgnn.cli.show import data_line, print_json, print_table
from akgnn.cli.terminal import complain, say
from akgnn.errors import MissingExtraError
from akgnn.report.values import number, value_text
from akgnn.runs.request import OF_DATA, OUTPUT, TRAINING, Request
from akgnn.settings import MOST_RUNS

if TYPE_CHECKING:
    from akgnn.tuning.search import Search

_PAGE = "tuning.html"


@with_request(
    [*OF_DATA, "config", "model", "preset", "settings", "seed", "device"],
    config={"help": "Settings file to start from, also of tables; `akgnn init` writes one."},
    model={"help": "Model; `akgnn models` lists them.  [akgnn]", "completes": "single models"},
    preset={"help": "Settings to start from.  [paper; any-graph for your own tables]"},
    settings={"help": "Fix one setting, which is not searched; repeatable."},
    seed={"help": "Seed of the search and of every trial.  [0]"},
)
def tune(
    request: Request,
    trials: Annotated[
        int, options.option(TRAINING, "Trials in all, with those that --out has already.")
    ] = 30,
    out: Annotated[
        Path, options.option(OUTPUT, "Folder of the search; the same one goes on.")
    ] = Path("tuned"),
    as_json: options.AsJson = False,
) -> None:
    """Search for better settings of a model, by the validation score that it stops on.

    Stop it and start it again as often as you like: every trial that ended is kept.

    Example: akgnn tune --dataset cora --model gcn --trials 30 --out tuned
    """
    options.check_range("--trials", trials, 1, MOST_RUNS)
    from akgnn.machine.device import choose_device, keep_freed_memory
    from akgnn.runs.data import load_data
    from akgnn.runs.facts import DataFacts
    from akgnn.runs.hints import look_alike_hints
    from akgnn.runs.outcomes import plan_asked
    from akgnn.tuning.search import BEST_FILE, STUDY_FILE
    from akgnn.tuning.search import tune as search_settings
    from akgnn.tuning.study import check_optuna, silence_optuna

    check_optuna()
    silence_optuna()
    fixed = request.changes()
    plan = plan_asked(request)
    place = choose_device(request.device)
    keep_freed_memory()
    data_root = request.data_root
    data = load_data(plan, data_root, place, force=True)
    for hint in filter(None, look_alike_hints(data)):
        complain(hint)
    plan = plan.suited_to(data)
    shown = TrainingProgress(trials, plan.preset.training, kind="trial")
    with StopRequests() as stops, shown as progress:
        search = search_settings(
            plan, data, out, trials=trials, fixed=fixed, callbacks=[progress, stops]
        )
    root = "" if data_root is None else f" --data-root {quote(str(data_root))}"
    command = f"akgnn train --config {quote(str(out / BEST_FILE))}{root}"
    files = [STUDY_FILE, BEST_FILE, *_draw(search, out / _PAGE, command)]
    if as_json:
        print_json(as_object(search, out))
        return
    say(f"{data_line(plan.data_name, DataFacts.of(data))}; split {search.split}")
    _print_search(search, str(place))
    say(f"Kept in {out}: {', '.join(files)}.")
    say(f"Train it with: {command}")


def _draw(search: "Search", file: Path, command: str) -> list[str]:
    """Write the page where its packages are installed; say so where they are not."""
    from akgnn.report.html import check_packages, write
    from akgnn.report.tuning_page import tuning_page

    try:
        check_packages()
    except MissingExtraError as error:
        complain(f"No page of the search was written. {error}")
        return []
    write(tuning_page(search, command), file)
    return [file.name]


def as_object(search: "Search", out: Path) -> dict[str, Any]:
    """A search in one object."""
    run = search.plan.run
    return {
        "dataset": run.dataset,
        "split": search.split,
        "model": run.model,
        "preset": run.preset,
        "score": search.score.column,
        "best": asdict(search.best),
        "importance": dict(search.importance),
        "settings": search.plan_of(search.best).to_dict(),
        "trials": [asdict(trial) for trial in search.trials],
        "out": str(out),
    }


def _print_search(search: "Search", device: str) -> None:
    from akgnn.tuning.space import settings_of

    run, best, score = search.plan.run, search.best, search.score
    seconds = sum(trial.seconds for trial in search.trials)
    say(
        f"{run.model} ({run.preset}): {len(search.trials)} trials, "
        f"{search.count('finished')} finished, {search.count('pruned')} pruned, "
        f"{search.count('failed')} failed, {seconds:.1f} s on {device}"
    )
    first = search.trials[0]
    before = score.text(first.score) if first.state == "finished" else first.state
    better = "green" if best.number != first.number else ""
    line = f"  {score.name} {score.text(best.score)} in trial {best.number}; {before} at the start"
    say(line, better)
    start = settings_of(search.plan.preset)
    rows = []
    for each in search.space:
        old, new = value_text(start[each.name]), value_text(best.values[each.name])
        rows.append([each.name, old, Styled(new, "green") if new != old else new])
    columns = ["setting", "start", "best"]
    if search.importance:
        columns.append("importance %")
        for row in rows:
            row.append(number(100 * search.importance.get(row[0], 0.0), 0))
    print_table(columns, rows)
