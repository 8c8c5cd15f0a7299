"""Cross-validation: one run for each fold, every one with test nodes of its own."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from akgnn.data.catalogue import choose_split
from akgnn.data.node_data import NodeData
from akgnn.errors import SettingsError
from akgnn.training.checkpoint import RunFolder
from akgnn.training.history import History
from akgnn.training.plan import RunPlan
from akgnn.training.train_runs import RunOutcome, train_runs


def fold_plans(plan: RunPlan, folds: int) -> list[RunPlan]:
    """The plan on each fold; the split seed draws them."""
    if folds < 2:
        raise SettingsError(f"There must be at least 2 folds, got {folds}.")
    splits = [f"fold-{fold}-of-{folds}" for fold in range(folds)]
    return [replace(plan, which=replace(plan.which, split=split)) for split in splits]


def train_folds(
    plans: Sequence[RunPlan],
    data: NodeData,
    folders: Sequence[RunFolder | None] | None = None,
    *,
    resume: bool = False,
    checkpoint_seconds: float = 5.0,
    after_epoch: Callable[[int, History], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> list[RunOutcome]:
    """Train runs that differ in their split, one after the other; as `train_runs` does by seed.

    Args:
        plans: What to train, as `fold_plans` gives them.
        data: Of any split, on the device to train on.
        folders: Where each run is kept; nowhere if None.
        resume: Go on where a folder's run left off, or show its result if it had finished.
        checkpoint_seconds: How often the states are kept during training.
        after_epoch: Called after each epoch with the place of the run and its history.
        should_stop: Asked after each epoch.

    Returns:
        For each run its result, or why it has none.
    """
    outcomes: list[RunOutcome] = []
    # All of them first: what cannot be drawn leaves no folder behind.
    splits = [choose_split(data, plan.which.split or "", plan.which.split_seed) for plan in plans]
    for place, (plan, split) in enumerate(zip(plans, splits, strict=True)):
        show = None if after_epoch is None else partial(_at_place, after_epoch, place)
        outcomes += train_runs(
            [plan],
            data.with_split(split),
            folders and [folders[place]],
            resume=resume,
            checkpoint_seconds=checkpoint_seconds,
            after_epoch=show,
            should_stop=should_stop,
        )
    return outcomes


def _at_place(
    after_epoch: Callable[[int, History], None], place: int, _: int, history: History
) -> None:
    after_epoch(place, history)
