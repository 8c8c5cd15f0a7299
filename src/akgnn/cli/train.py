"""`akgnn train`."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from akgnn.cli import options
from akgnn.cli.flags import in_flags
from akgnn.cli.help import DATA, MODEL, OUTPUT, TRAINING
from akgnn.cli.names import models_or_auto
from akgnn.cli.progress import interrupted
from akgnn.cli.show import (
    choice_object,
    folds_summary,
    print_choice,
    print_folds,
    print_json,
    print_run,
    print_seeds,
    seeds_summary,
)
from akgnn.cli.terminal import complain, say
from akgnn.cli.train_checks import check_options, check_parts, check_without_parts
from akgnn.cli.train_parts import train_on_parts
from akgnn.cli.train_runs import choose_plan, progress_of, train_plans
from akgnn.errors import (
    InterruptedRunError,
    RunFolderError,
    SettingsError,
)

if TYPE_CHECKING:
    from akgnn.runs.choice import Choice
    from akgnn.runs.folder import RunFolder
    from akgnn.runs.plan import RunPlan
    from akgnn.runs.run import Run
    from akgnn.runs.verdict import Verdict
    from akgnn.trackers.tracker import Tracker


def train(
    context: typer.Context,
    dataset: options.Dataset = None,
    nodes: options.Nodes = None,
    edges: options.Edges = None,
    label: options.Label = None,
    id_column: options.Id = None,
    source: options.Source = None,
    target: options.Target = None,
    weight: options.Weight = None,
    columns: options.Columns = None,
    prepare: options.Prepare = None,
    standardise: options.Standardise = None,
    missing: options.Missing = None,
    unknown_ids: options.UnknownIds = None,
    neighbours: options.Neighbours = None,
    config: options.Config = None,
    split: options.Split = None,
    split_seed: options.SplitSeed = None,
    features: options.Features = None,
    direction: options.Direction = None,
    model: Annotated[
        str | None,
        options.option(
            MODEL,
            "Model, or auto to try a few; `akgnn models` lists them.  [akgnn]",
            autocompletion=models_or_auto,
        ),
    ] = None,
    preset: options.Preset = None,
    kernel: Annotated[
        str | None,
        options.option(
            MODEL, "Kernel of akgnn: paper, smooth or signed; short for --set kernel=NAME."
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        options.option(
            MODEL,
            "Change one setting of the preset; repeatable.",
            "--set",
            metavar="NAME=VALUE",
        ),
    ] = None,
    seed: options.Seed = None,
    seeds: Annotated[
        int | None,
        options.option(TRAINING, "Train so many seeds, from --seed on, side by side."),
    ] = None,
    ensemble: Annotated[
        int | None,
        options.option(
            TRAINING, "Train so many seeds, from --seed on, that vote as one model.  [1]"
        ),
    ] = None,
    no_vote: Annotated[
        bool,
        options.option(
            TRAINING, "Of presets that are tried keep the best; else they vote.", "--no-vote"
        ),
    ] = False,
    folds: Annotated[
        int | None,
        options.option(
            TRAINING,
            "Cross-validate: test on each of so many parts of the labelled nodes in turn.",
        ),
    ] = None,
    device: options.Device = "auto",
    data_root: options.DataRoot = None,
    out: Annotated[
        Path | None,
        options.option(OUTPUT, "Folder to keep the run in; seed-0, … or fold-0, … of several."),
    ] = None,
    resume: Annotated[
        bool, options.option(OUTPUT, "Go on with the run in --out.", "--resume")
    ] = False,
    checkpoint_seconds: Annotated[
        float,
        options.option(OUTPUT, "How often the state of the training is kept in --out."),
    ] = 5.0,
    force: Annotated[
        bool,
        options.option(TRAINING, "Train even where memory is estimated not to suffice.", "--force"),
    ] = False,
    track: Annotated[
        list[str] | None,
        options.option(
            OUTPUT,
            "Write every epoch for tensorboard or mlflow too, into a local folder; repeatable.",
            metavar="TRACKER[:FOLDER]",
        ),
    ] = None,
    watch: Annotated[
        bool,
        options.option(
            OUTPUT, "Draw losses, accuracy and what is learned while it trains.", "--watch"
        ),
    ] = False,
    parts: Annotated[
        Path | None,
        options.option(
            DATA, "Folder of parts, of `akgnn partition`, in place of a data set or tables."
        ),
    ] = None,
    processes: Annotated[
        int | None,
        options.option(TRAINING, "Train on --parts in so many processes of this machine.  [1]"),
    ] = None,
    mesh: Annotated[
        str | None,
        options.option(
            TRAINING,
            "How --processes share the work: groups of nodes x slices of channels, such as 2x2.  "
            "[what `akgnn plan` chooses]",
            metavar="NODESxCHANNELS",
        ),
    ] = None,
    parts_at_once: Annotated[
        int | None,
        options.option(
            TRAINING, "Keep so many of --parts in memory at a time, the rest in files.  [all]"
        ),
    ] = None,
    timeout: Annotated[
        float,
        options.option(
            TRAINING, "Seconds after which a process of several that is silent counts as gone."
        ),
    ] = 50.0,
    as_json: options.AsJson = False,
) -> None:
    """Train a model and report its test accuracy.

    Example: akgnn train --dataset citeseer --seeds 10 --set num_layers=8
    """
    check_options(resume, out, seeds, folds, split, model, checkpoint_seconds, kernel)
    from akgnn.machine.device import choose_device, keep_freed_memory
    from akgnn.runs.choice import may_vote
    from akgnn.runs.load import kept_votes
    from akgnn.runs.train import fold_plans, load_data
    from akgnn.runs.verdict import verdict_of

    run, tables = options.given(context)
    short = [] if kernel is None else [f"kernel={kernel}"]
    named = options.parsed_changes([*short, *(changes or [])])
    if parts is not None:
        check_parts(context, model)
        train_on_parts(
            context.obj,
            run,
            named,
            config,
            parts,
            processes=processes,
            mesh=mesh,
            at_once=parts_at_once,
            timeout=timeout,
            device=device,
            out=out,
            resume=resume,
            checkpoint_seconds=checkpoint_seconds,
            as_json=as_json,
        )
        return
    check_without_parts(context)
    place = choose_device(device)
    several = None if seeds is None else range(seed or 0, (seed or 0) + seeds)
    folders = _folders(out, several, folds)
    if model == "auto":
        del run["model"]
    kept = options.resumed_plan(folders, run, tables, named) if resume else None
    for folder in folders:
        if folder is not None and not resume:
            folder.check_free()
    candidates: list[RunPlan] = []
    if model == "auto" and kept is None:
        # A run to go on with is of the model that was chosen when it began.
        candidates = _candidates(run, tables, config, named)
    plan = kept or (candidates or [options.decide_plan(run, tables, config, named)])[-1]
    if plan.run.ensemble > 1 and (seeds or folds):
        # Also where a settings file asks for the ensemble.
        option = "--seeds" if seeds else "--folds"
        raise SettingsError(f"--ensemble and {option} do not go together; choose one of them.")
    if folds is not None:
        # Any of their splits will do to load the data: each fold draws its own.
        plan = fold_plans(plan, folds)[0]

    trackers: list[Tracker] = []
    if track:
        from akgnn.trackers.tracking import find_tracker

        trackers = [find_tracker(name) for name in track]
    keep_freed_memory()
    data = load_data(plan, data_root, place, force=force)
    for hint in [*options.hints(data), *options.left_out_hint(plan, data)]:
        complain(hint)
    if not candidates and kept is None and folds is None:
        candidates = plan.candidates(data)
    # Of models that were asked for one is chosen, and seeds are those of one preset.
    has_vote = not no_vote and model != "auto" and several is None and plan.run.ensemble == 1
    choice = None
    if len(candidates) > 1:
        has_vote = has_vote and may_vote(candidates)
        choice = choose_plan(candidates, data, force, votes=has_vote)
    votes = choice.votes if choice is not None and has_vote else ()
    if kept is not None and folders[0] is not None and folders[0].holds_run():
        votes = kept_votes(folders[0], folders[0].read())
    plan = (plan if choice is None else choice.chosen.plan).suited_to(data)
    plans = [plan] if several is None else [plan.with_seed(number) for number in several]
    plans = plans if folds is None else fold_plans(plan, folds)
    try:
        # Who tracks wants to see the epochs, so they are trained again.
        known = None if trackers else choice
        progress = progress_of(plans[0], max(len(plans), len(votes)), watch)
        runs = train_plans(
            plans,
            votes,
            data,
            folders,
            folds,
            resume,
            checkpoint_seconds,
            trackers,
            known,
            progress,
        )
    except InterruptedRunError as error:
        line = _line_to_go_on(out, seed, seeds, folds, data_root)
        raise interrupted(error, out, f"Go on with: {line}") from error
    verdict = None if folds else verdict_of(runs, data)
    _show(runs, str(place), as_json, several, folds, choice, verdict)
    flags = {"train": {flag for option in context.command.params for flag in option.opts}}
    for note in verdict.notes if verdict is not None and not as_json else ():
        say(in_flags(note, flags, "train"), "yellow")
    if folders[0] is not None and not as_json:
        say(f"Kept in {out}; see: akgnn inspect {folders[0].path}")


def _folders(
    out: Path | None, seeds: Sequence[int] | None, folds: int | None
) -> list["RunFolder | None"]:
    """The folder of each run."""
    from akgnn.runs.folder import RunFolder

    number = folds or (1 if seeds is None else len(seeds))
    if out is None:
        return [None] * number
    option = "--folds" if folds else "--seeds"
    if (folds or seeds is not None) and RunFolder(out).holds_run():
        raise RunFolderError(f"{out} holds a single run; {option} needs a folder of its own.")
    if folds is not None:
        return [RunFolder(out / f"fold-{fold}") for fold in range(folds)]
    return [RunFolder(out if seeds is None else out / f"seed-{seed}") for seed in seeds or (0,)]


def _candidates(
    run: dict[str, object], tables: dict[str, object], config: Path | None, changes: dict[str, str]
) -> list["RunPlan"]:
    """The plans of `--model auto`."""
    from akgnn.runs.choice import PRESET, candidate_plans

    asked = {"preset": PRESET, **run}
    return candidate_plans(
        lambda name: options.decide_plan({**asked, "model": name}, tables, config, changes)
    )


def _line_to_go_on(
    out: Path | None,
    seed: int | None,
    seeds: int | None,
    folds: int | None,
    data_root: Path | None,
) -> str:
    several = (f" --seed {seed}" if seed else "") + f" --seeds {seeds}" if seeds else ""
    several = f" --folds {folds}" if folds else several
    where = "" if data_root is None else f" --data-root {quote(str(data_root))}"
    return f"akgnn train --out {quote(str(out))}{several}{where} --resume"


def _show(
    runs: Sequence["Run"],
    device: str,
    as_json: bool,
    seeds: Sequence[int] | None,
    folds: int | None,
    choice: "Choice | None",
    verdict: "Verdict | None",
) -> None:
    if as_json:
        several = folds_summary if folds else seeds_summary
        shown = several(runs) if folds or seeds else runs[0].to_dict()
        shown |= {} if verdict is None else {"verdict": asdict(verdict)}
        print_json(shown if choice is None else {**shown, "choice": choice_object(choice)})
        return
    if choice is not None:
        print_choice(choice, votes=bool(runs[0].votes))
    if folds:
        print_folds(runs, device)
    elif len(runs) == 1:
        print_run(runs[0], device, verdict)
    else:
        print_seeds(runs, verdict)
