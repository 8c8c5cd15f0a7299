"""`akgnn train`."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import typer

from akgnn.cli import own_tables
from akgnn.cli.asked import Asked, load_data, parsed_changes
from akgnn.cli.auto import choice_object, choose, print_choice
from akgnn.cli.folds import check_folds, show_folds
from akgnn.cli.kernel_lines import kernel_columns, kernel_lines, no_edges
from akgnn.cli.output import data_line, print_json, print_table
from akgnn.cli.progress import training_progress
from akgnn.cli.stopping import stop_requests
from akgnn.errors import (
    AkgnnError,
    DivergedError,
    InterruptedRunError,
    RunFolderError,
    SettingsError,
)
from akgnn.settings import MOST_RUNS

if TYPE_CHECKING:
    from akgnn.training.plan import RunPlan
    from akgnn.training.run import RunResult


def train(
    dataset: str | None = typer.Option(None, help="Data set; `akgnn datasets` lists them.  [cora]"),
    nodes: Path | None = own_tables.NODES,
    edges: Path | None = own_tables.EDGES,
    label: str | None = own_tables.LABEL,
    id_column: str | None = own_tables.ID,
    source: str | None = own_tables.SOURCE,
    target: str | None = own_tables.TARGET,
    weight: str | None = own_tables.WEIGHT,
    columns: str | None = own_tables.COLUMNS,
    standardise: bool | None = own_tables.STANDARDISE,
    missing: str | None = own_tables.MISSING,
    unknown_ids: str | None = own_tables.UNKNOWN_IDS,
    config: Path | None = typer.Option(None, help="Settings file; `akgnn init` writes one."),
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
    model: str | None = typer.Option(
        None, help="Model, or auto to try a few; `akgnn models` lists them.  [akgnn]"
    ),
    preset: str | None = typer.Option(
        None, help="Settings by name.  [paper; any-graph for your own tables]"
    ),
    kernel: str | None = typer.Option(
        None, help="Kernel of akgnn: paper, smooth or signed; short for --set kernel=NAME."
    ),
    changes: list[str] = typer.Option(
        [], "--set", metavar="NAME=VALUE", help="Change one setting of the preset; repeatable."
    ),
    seed: int | None = typer.Option(None, help="Seed of the initial weights and dropout.  [0]"),
    seeds: int | None = typer.Option(
        None, help="Train so many seeds, from --seed on, side by side."
    ),
    folds: int | None = typer.Option(
        None, help="Cross-validate: test on each of so many parts of the labelled nodes in turn."
    ),
    device: str = typer.Option("auto", help="auto, cpu, cuda or cuda:1."),
    data_root: Path | None = typer.Option(None, help="Folder of other data sets.  [$AKGNN_DATA]"),
    out: Path | None = typer.Option(
        None, help="Folder to keep the run in; seed-0, … or fold-0, … of several."
    ),
    resume: bool = typer.Option(False, "--resume", help="Go on with the run in --out."),
    checkpoint_seconds: float = typer.Option(
        5.0, help="How often the state of the training is kept in --out."
    ),
    force: bool = typer.Option(
        False, "--force", help="Train even where memory is estimated not to suffice."
    ),
    track: list[str] = typer.Option(
        [],
        metavar="TRACKER[:FOLDER]",
        help="Write every epoch for tensorboard or mlflow too, into a local folder; repeatable.",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Train a model and report its test accuracy.

    Example: akgnn train --dataset citeseer --seeds 10 --set num_layers=8
    """
    if resume and out is None:
        raise SettingsError("--resume needs --out, the folder of the run to go on with.")
    if seeds is not None and not 1 <= seeds <= MOST_RUNS:
        raise SettingsError(f"--seeds must be from 1 to {MOST_RUNS}, got {seeds}.")
    if folds is not None:
        check_folds(folds, split, seeds, model)
    if not checkpoint_seconds >= 0:
        raise SettingsError(f"--checkpoint-seconds must be at least 0, got {checkpoint_seconds}.")
    if kernel is not None and model not in (None, "akgnn"):
        raise SettingsError(f"--kernel goes with the model akgnn; {model} has no kernel to choose.")
    from akgnn.trackers.tracking import Tracking, find_tracker
    from akgnn.training.allocator import keep_freed_memory
    from akgnn.training.checkpoint import RunFolder
    from akgnn.training.device import choose_device
    from akgnn.training.folds import fold_plans, train_folds
    from akgnn.training.memory import Sizes
    from akgnn.training.memory_check import memory_errors_explained
    from akgnn.training.train_runs import train_runs
    from akgnn.tuning.auto import AUTO, PRESET, candidate_plans

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
    tables = {
        "nodes": nodes,
        "edges": edges,
        "label": label,
        "id": id_column,
        "source": source,
        "target": target,
        "weight": weight,
        "features": columns,
        "standardise": standardise,
        "missing": missing,
        "unknown_ids": unknown_ids,
    }
    place = choose_device(device)
    several = None if seeds is None else range(seed or 0, (seed or 0) + seeds)
    folders: list[RunFolder | None] = [None] * (seeds or folds or 1)
    if out is not None:
        folders = [RunFolder(path) for path in _paths(out, several, folds)]
        option = "--folds" if folds else "--seeds"
        if (seeds or folds) and RunFolder(out).holds_run():
            raise RunFolderError(f"{out} holds a single run; {option} needs a folder of its own.")
    named = {} if kernel is None else {"kernel": kernel}
    asked = Asked(given, tables, config, {**named, **parsed_changes(changes)})
    candidates: list[RunPlan] = []
    if model == AUTO:
        asked = replace(asked, run={name: given[name] for name in given if name != "model"})
        # The run to go on with is of the model that was chosen when it began.
        if not (resume and any(folder and folder.holds_run() for folder in folders)):
            asked = asked.naming(preset=preset or PRESET)
            candidates = candidate_plans(lambda name: asked.naming(model=name).plan())
    plan = asked.plan_for(folders, resume)
    if folds is not None:
        # Any of their splits will do to load the data: each fold draws its own.
        plan = fold_plans(plan, folds)[0]

    trackers = [find_tracker(text) for text in track]
    keep_freed_memory()
    data = load_data(plan, data_root, place, force)
    choice = choose(candidates, data) if candidates else None
    plan = plan if choice is None else choice.chosen.plan
    plan = plan.with_columns_of(data)
    if (hint := own_tables.scale_hint(data)) is not None:
        typer.echo(f"akgnn: {hint}", err=True)
    plans = [plan] if several is None else [plan.with_seed(number) for number in several]
    plans = plans if folds is None else fold_plans(plan, folds)
    tracking = Tracking(trackers, plans, folders)
    with tracking, stop_requests() as should_stop, training_progress(len(plans)) as show:
        try:
            with memory_errors_explained(plan.preset, place, Sizes.of(data)):
                outcomes = (train_runs if folds is None else train_folds)(
                    plans,
                    data,
                    folders,
                    resume=resume,
                    checkpoint_seconds=checkpoint_seconds,
                    after_epoch=tracking.after(partial(show, plan.preset.training.patience)),
                    should_stop=should_stop,
                )
        except InterruptedRunError as error:
            raise InterruptedRunError(
                f"{error} {_how_to_go_on(out, seed, seeds, folds)}"
            ) from error
        tracking.end(outcomes)
    results = [outcome for outcome in outcomes if not isinstance(outcome, AkgnnError)]
    for plan, outcome in zip(plans, outcomes, strict=True):
        if isinstance(outcome, DivergedError):
            which = f"Seed {plan.which.seed}: " if seeds else ""
            which = f"Split {plan.which.split}: " if folds else which
            raise DivergedError(f"{which}{outcome}") from outcome
        if isinstance(outcome, AkgnnError):
            raise outcome

    if folds is not None:
        show_folds(results, str(place), out, as_json)
    elif as_json:
        shown = results[0].to_dict() if seeds is None else summary_of(results)
        print_json(shown if choice is None else {**shown, "choice": choice_object(choice)})
    else:
        if choice is not None:
            print_choice(choice)
        _print_results(results, str(place), out, seeds)


def _paths(out: Path, seeds: Sequence[int] | None, folds: int | None) -> list[Path]:
    """The folder of each run."""
    if folds is not None:
        return [out / f"fold-{number}" for number in range(folds)]
    return [out] if seeds is None else [out / f"seed-{number}" for number in seeds]


def summary_of(results: Sequence["RunResult"]) -> dict[str, Any]:
    """Several runs in one object."""
    from akgnn.training.summary import summarise

    runs = [result.to_dict() for result in results]
    summary = summarise([run["test_accuracy"] for run in runs])
    shared = {name: runs[0][name] for name in ("dataset", "split", "model", "preset")}
    return {
        **shared,
        "mean": summary.mean,
        "std": summary.std,
        "ci95": list(summary.ci95),
        "runs": runs,
    }


def _how_to_go_on(out: Path | None, seed: int | None, seeds: int | None, folds: int | None) -> str:
    if out is None:
        return "Nothing was kept; with --out DIR a run can be resumed."
    several = (f" --seed {seed}" if seed else "") + f" --seeds {seeds}" if seeds else ""
    several = f" --folds {folds}" if folds else several
    return f"Go on with: akgnn train --out {quote(str(out))}{several} --resume"


def _print_results(
    results: Sequence["RunResult"], device: str, out: Path | None, seeds: int | None
) -> None:
    first = results[0]
    data, which = first.data, first.plan.which
    print(f"{data_line(first.plan.data_name, data)}; split {data['split']}")
    if no_edges(first):
        print(no_edges(first))
    if len(results) == 1:
        fit = first.fit
        print(f"{which.model} ({which.preset}), seed {which.seed}, {fit.seconds:.1f} s on {device}")
        print(
            f"  test accuracy   {fit.test_accuracy:.1f} %   (balanced "
            f"{fit.test_balanced_accuracy:.1f} %, macro F1 {fit.test_macro_f1:.1f} %)"
        )
        print(
            f"  test log loss   {fit.test_log_loss:.3f}    "
            f"(calibration error {fit.test_calibration_error:.1f} %)"
        )
        if _has_two_classes(first):
            print(
                f"  test ROC-AUC    {fit.test_roc_auc:.1f} %   (validation {fit.val_roc_auc:.1f} %)"
            )
        print(
            f"  validation      {fit.val_accuracy:.1f} %   "
            f"(best of {fit.epochs} epochs: {fit.best_epoch})"
        )
        lines = kernel_lines(first)
        width = max([15, *(len(name) for name, _ in lines)])
        for name, text in lines:
            print(f"  {name:<{width}} {text}")
    else:
        _print_several(results)
    if out is not None:
        one = out if seeds is None else out / f"seed-{which.seed}"
        print(f"Kept in {out}; see: akgnn inspect {one}")


def _has_two_classes(result: "RunResult") -> bool:
    return len(result.data["class_names"]) == 2


def _print_several(results: Sequence["RunResult"]) -> None:
    from akgnn.training.summary import summarise

    rows = [
        [
            str(result.plan.which.seed),
            f"{result.fit.test_accuracy:.1f}",
            f"{result.fit.val_accuracy:.1f}",
            str(result.fit.best_epoch),
            f"{result.fit.seconds:.1f}",
        ]
        for result in results
    ]
    columns = ["seed", "test %", "validation %", "best epoch", "seconds"]
    more = kernel_columns(results)
    cells = [[*row, *new] for row, *new in zip(rows, *more.values(), strict=True)]
    sides = ["l" if name == "start" else "r" for name in [*columns[1:], *more]]
    print_table([*columns, *more], cells, "l" + "".join(sides))
    summary = summary_of(results)
    low, high = summary["ci95"]
    print(
        f"{summary['model']} ({summary['preset']}): test accuracy {summary['mean']:.2f} ± "
        f"{summary['std']:.2f} % over {len(results)} seeds, "
        f"95 % interval of the mean {low:.2f} to {high:.2f}"
    )
    if _has_two_classes(results[0]):
        roc_auc = summarise([result.fit.test_roc_auc for result in results])
        low, high = roc_auc.ci95
        print(
            f"test ROC-AUC {roc_auc.mean:.2f} ± {roc_auc.std:.2f} %, "
            f"95 % interval of the mean {low:.2f} to {high:.2f}"
        )
