"""From plans to runs: training, and the folders that keep it.

`train_run` trains one run, `train_runs` several seeds side by side, `train_ensembles` several seeds
as one run, `train_votes` several models as one, and `train_folds` one run for each fold of a
cross-validation. What they train is decided before; see `akgnn.runs.api`.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from akgnn.data.catalogue import choose_split, large_settings
from akgnn.data.node_data import NodeData
from akgnn.errors import AkgnnError, SettingsError
from akgnn.models.registry import find_model
from akgnn.runs.ensemble import join_members, member_folders, remove_member_folders
from akgnn.runs.folder import RunFolder
from akgnn.runs.keeping import Keeping, KeptRun, Outcome
from akgnn.runs.memory import Sizes, check_memory, memory_errors_explained
from akgnn.runs.plan import RunPlan
from akgnn.runs.run import Run
from akgnn.runs.vote import Vote
from akgnn.training.batched.fit_many import can_batch, fit_many
from akgnn.training.callbacks import Callback
from akgnn.training.fit import check_stopping
from akgnn.training.state import Snapshot

# Folders that are locked at the same time: each takes one of the few files a process may open.
_MOST_OPEN = 200


def load_data(
    plan: RunPlan,
    data_root: Path | str | None,
    device: torch.device,
    *,
    force: bool = False,
    nodes: Any = None,
    edges: Any = None,
) -> NodeData:
    """The data that `plan.load` gives, if training is to fit beside them or is forced to begin.

    Raises:
        OutOfMemoryError: Training would not fit.
    """
    large = large_settings(plan.run.dataset)
    if large is not None and not force:
        check_memory(plan, Sizes.expected(large), device, is_loaded=False)
    with memory_errors_explained(plan, device):
        data = plan.load(data_root, device, nodes=nodes, edges=edges)
    if not force:
        check_memory(plan, Sizes.of(data), device)
    return data


def train_run(
    plan: RunPlan,
    data: NodeData,
    folder: RunFolder | None = None,
    *,
    resume: bool = False,
    checkpoint_seconds: float = 5.0,
    callbacks: Sequence[Callback] = (),
    index: int = 0,
    start: Snapshot | None = None,
) -> Run:
    """Train one run and, with a folder, keep it there; as `train_runs` does with several.

    Raises:
        DivergedError: A loss stopped being a number, now or in an earlier call.
    """
    train = train_runs if plan.run.ensemble == 1 else train_ensembles
    (outcome,) = train(
        [plan],
        data,
        [folder],
        resume=resume,
        checkpoint_seconds=checkpoint_seconds,
        callbacks=callbacks,
        first_index=index,
        start=start,
    )
    if isinstance(outcome, AkgnnError):
        raise outcome
    return outcome


def train_runs(
    plans: Sequence[RunPlan],
    data: NodeData,
    folders: Sequence[RunFolder | None] | None = None,
    *,
    resume: bool = False,
    checkpoint_seconds: float = 5.0,
    callbacks: Sequence[Callback] = (),
    first_index: int = 0,
    start: Snapshot | None = None,
) -> list[Outcome]:
    """Train runs that differ in their seed alone, side by side where the model can.

    Args:
        plans: What to train.
        data: As `plan.load()` gives it, on the device to train on.
        folders: Where each run is kept; nowhere if None.
        resume: Go on where a folder's run left off, or show its result if it had finished.
        checkpoint_seconds: How often the states are kept during training.
        callbacks: Told of every epoch, with the index of the run. Where one wants to stop, the
            states are kept and all runs end with `InterruptedRunError`.
        first_index: Index of the first plan, for callbacks.
        start: State of the first run where it was trained before; what a folder holds goes first.

    Returns:
        For each run its result, or why it has none: it diverged, now or in an earlier call.
    """
    folders = folders or [None] * len(plans)
    data = plans[0].with_inputs(data) if plans else data
    outcomes: list[Outcome] = []
    for first in range(0, len(plans), _MOST_OPEN):
        part = slice(first, first + _MOST_OPEN)
        # Before anything is written: what cannot be built leaves no folder behind.
        runs = [
            KeptRun(plan, data, folder, checkpoint_seconds)
            for plan, folder in zip(plans[part], folders[part], strict=True)
        ]
        check_stopping(plans[0].preset.training, data)
        with ExitStack() as locks:
            for run in runs:
                run.open(resume, locks)
            if first == 0 and start is not None:
                runs[0].begin_at(start)
            numbered = dict(enumerate(runs, start=first_index + first))
            numbered = {n: run for n, run in numbered.items() if run.outcome is None}
            _train(numbered, data, callbacks)
        outcomes += [run.outcome for run in runs if run.outcome is not None]
    return outcomes


def train_ensembles(
    plans: Sequence[RunPlan],
    data: NodeData,
    folders: Sequence[RunFolder | None] | None = None,
    *,
    resume: bool = False,
    checkpoint_seconds: float = 5.0,
    callbacks: Sequence[Callback] = (),
    first_index: int = 0,
    start: Snapshot | None = None,
) -> list[Outcome]:
    """Train ensembles one after the other, the members of each as `train_runs` does its runs.

    Callbacks are told the index of the member, and `start` is the state of the first one.
    """
    outcomes: list[Outcome] = []
    for plan, folder in zip(plans, folders or [None] * len(plans), strict=True):
        # Before anything is written: what cannot be built leaves no folder behind.
        kept, members = KeptRun(plan, plan.with_inputs(data), folder, 0), plan.members()
        check_stopping(plan.preset.training, data)
        with ExitStack() as locks:
            kept.open(resume, locks)
            if kept.outcome is None:
                ends = train_runs(
                    members,
                    data,
                    member_folders(plan.run.ensemble, folder),
                    resume=resume,
                    checkpoint_seconds=checkpoint_seconds,
                    callbacks=callbacks,
                    first_index=first_index,
                    start=start if plan is plans[0] else None,
                )
                join_members(kept, ends)
            remove_member_folders(plan.run.ensemble, folder)
        outcomes += [] if kept.outcome is None else [kept.outcome]
    return outcomes


def train_votes(
    votes: Sequence[Vote],
    data: NodeData,
    folder: RunFolder | None = None,
    *,
    resume: bool = False,
    checkpoint_seconds: float = 5.0,
    callbacks: Sequence[Callback] = (),
    starts: Sequence[Snapshot | None] | None = None,
) -> Outcome:
    """Train models that vote, one after the other, into one run; otherwise as `train_runs`.

    Args:
        votes: The models and their shares, the largest in front, whose plan is the run's.
        data: As `plan.load()` gives it, on the device to train on.
        folder: Where the run is kept.
        resume: Go on where the folder's run left off, or show its result if it had finished.
        checkpoint_seconds: How often the states are kept during training.
        callbacks: Told of every epoch, with the index of the model.
        starts: State of each model where it was trained before.
    """
    plan = votes[0].plan
    kept = KeptRun(plan, plan.with_inputs(data), folder, 0, votes=tuple(votes))
    with ExitStack() as locks:
        kept.open(resume, locks)
        if kept.outcome is None:
            places = member_folders(len(votes), folder)
            ends: list[Outcome] = []
            for index, vote in enumerate(votes):
                ends += train_runs(
                    [vote.plan],
                    data,
                    [places[index]],
                    resume=resume,
                    checkpoint_seconds=checkpoint_seconds,
                    callbacks=callbacks,
                    first_index=index,
                    start=None if starts is None else starts[index],
                )
            join_members(kept, ends)
        remove_member_folders(len(votes), folder)
    assert kept.outcome is not None, "members that have ended make a run that has"
    return kept.outcome


def trains_batched(plan: RunPlan) -> bool:
    """Whether runs of this plan with other seeds can train in one stacked model."""
    model = find_model(plan.run.model).model_for(plan.preset.model)
    return can_batch(model, plan.strategy())


def fold_plans(plan: RunPlan, folds: int) -> list[RunPlan]:
    """The plan on each fold; the split seed draws them.

    Raises:
        SettingsError: There are fewer than two folds.
    """
    if folds < 2:
        raise SettingsError(f"There must be at least 2 folds, got {folds}.")
    splits = [f"fold-{fold}-of-{folds}" for fold in range(folds)]
    return [replace(plan, run=replace(plan.run, split=split)) for split in splits]


def train_folds(
    plans: Sequence[RunPlan],
    data: NodeData,
    folders: Sequence[RunFolder | None] | None = None,
    *,
    resume: bool = False,
    checkpoint_seconds: float = 5.0,
    callbacks: Sequence[Callback] = (),
) -> list[Outcome]:
    """Train runs that differ in their split, one after the other; otherwise as `train_runs`.

    The plans are those of `fold_plans`; the data may have any split.
    """
    outcomes: list[Outcome] = []
    # All of them first: what cannot be drawn leaves no folder behind.
    splits = [choose_split(data, plan.run.split or "", plan.run.split_seed) for plan in plans]
    for index, (plan, split) in enumerate(zip(plans, splits, strict=True)):
        outcomes += train_runs(
            [plan],
            data.with_split(split),
            folders and [folders[index]],
            resume=resume,
            checkpoint_seconds=checkpoint_seconds,
            callbacks=callbacks,
            first_index=index,
        )
    return outcomes


def _train(runs: Mapping[int, KeptRun], data: NodeData, callbacks: Sequence[Callback]) -> None:
    """Train what the folders have no outcome of; runs by their index among all plans."""
    if not runs:
        return
    missing = list(runs.values())
    plan = missing[0].plan
    fit_many(
        [run.model for run in missing],
        data,
        plan.preset.training,
        seeds=[run.plan.run.seed for run in missing],
        strategy=plan.strategy(),
        resume=[run.snapshot for run in missing],
        callbacks=[*callbacks, Keeping(runs)],
        indices=list(runs),
    )
