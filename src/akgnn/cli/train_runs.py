"""What `akgnn train` trains while a bar shows how far it is: presets to try, and runs."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from akgnn.cli.progress import StopRequests, TrainingProgress, duration
from akgnn.cli.terminal import complain
from akgnn.cli.watch import Watch
from akgnn.errors import AkgnnError, DivergedError, InterruptedRunError
from akgnn.training.callbacks import Callback

if TYPE_CHECKING:
    from akgnn.data.node_data import NodeData
    from akgnn.runs.choice import Choice
    from akgnn.runs.folder import RunFolder
    from akgnn.runs.plan import RunPlan
    from akgnn.runs.run import Run
    from akgnn.runs.vote import Vote
    from akgnn.trackers.tracker import Tracker


def choose_plan(
    plans: Sequence["RunPlan"], data: "NodeData", force: bool, *, votes: bool
) -> "Choice":
    """Try the plans while a bar shows how far they are."""
    from akgnn.runs.choice import choose, expected_seconds, seeds_to_vote

    models, presets = [plan.run.model for plan in plans], [plan.run.preset for plan in plans]
    # Several presets of one model, or several models.
    by_model = len(set(models)) == len(plans)
    names = [
        model if by_model or models.count(model) == 1 else preset
        for model, preset in zip(models, presets, strict=True)
    ]
    seeds = seeds_to_vote(data) if votes else 1
    seconds = duration(expected_seconds(plans, data, seeds))
    option = "--model" if by_model else "--preset"
    words = f"Validation chooses among {', '.join(names)}"
    words = f"{words} or lets them vote" if votes else words
    words = f"{words}, {seeds} seeds of each" if seeds > 1 else words
    complain(f"{words}, in about {seconds}; {option} names one directly.")
    trained = [name for name in names for _ in range(seeds)]
    shown = TrainingProgress(len(trained), plans[0].preset.training, names=trained)
    with StopRequests() as stops, shown as progress:
        try:
            return choose(plans, data, seeds=seeds, callbacks=[progress, stops], force=force)
        except InterruptedRunError as error:
            raise InterruptedRunError(
                f"{error} No model was chosen yet, and nothing was kept."
            ) from error


def progress_of(plan: "RunPlan", num_runs: int, watch: bool) -> TrainingProgress:
    """What shows how far the training is."""
    number = plan.run.ensemble if plan.run.ensemble > 1 else num_runs
    if not watch:
        return TrainingProgress(number, plan.preset.training)
    shown = Watch(number, plan.preset.training, plan.preset.model)
    if not shown.is_drawn:
        complain("--watch draws in a terminal; here a line now and then says how far it is.")
    return shown


def train_plans(
    plans: Sequence["RunPlan"],
    votes: Sequence["Vote"],
    data: "NodeData",
    folders: Sequence["RunFolder | None"],
    folds: int | None,
    resume: bool,
    checkpoint_seconds: float,
    trackers: Sequence["Tracker"],
    choice: "Choice | None",
    progress: TrainingProgress,
) -> list["Run"]:
    """Train all runs; the first that diverged is raised, once the others are kept."""
    from akgnn.runs.api import train_chosen
    from akgnn.runs.ensemble import member_folders
    from akgnn.runs.memory import Sizes, memory_errors_explained
    from akgnn.runs.train import train_ensembles, train_folds, train_runs

    plan = plans[0]
    is_ensemble = plan.run.ensemble > 1
    is_vote = len(votes) > 1
    # What trains: of an ensemble its members.
    models = plan.members() if is_ensemble else [vote.plan for vote in votes] if is_vote else plans
    explained = memory_errors_explained(plan, data.y.device, Sizes.of(data))
    with ExitStack() as opened, StopRequests() as stops, progress, explained:
        tracked: list[Callback] = []
        if trackers:
            from akgnn.trackers.tracking import Tracking

            has_members = is_ensemble or is_vote
            places = member_folders(len(models), folders[0]) if has_members else folders
            tracked.append(opened.enter_context(Tracking(trackers, models, places)))
        if is_vote:
            together = train_chosen(
                plan,
                data,
                folders[0],
                votes=votes,
                choice=choice,
                resume=resume,
                checkpoint_seconds=checkpoint_seconds,
                callbacks=[progress, *tracked, stops],
            )
            return [together]
        start = None if choice is None else choice.chosen.snapshot
        seeded = partial(train_ensembles if is_ensemble else train_runs, start=start)
        train = seeded if folds is None else train_folds
        outcomes = train(
            plans,
            data,
            folders,
            resume=resume,
            checkpoint_seconds=checkpoint_seconds,
            callbacks=[progress, *tracked, stops],
        )
    runs = []
    for each, outcome in zip(plans, outcomes, strict=True):
        if isinstance(outcome, DivergedError):
            name = f"Seed {each.run.seed}: " if len(plans) > 1 else ""
            name = f"Split {each.run.split}: " if folds else name
            raise DivergedError(f"{name}{outcome}") from outcome
        if isinstance(outcome, AkgnnError):
            raise outcome
        runs.append(outcome)
    return runs
