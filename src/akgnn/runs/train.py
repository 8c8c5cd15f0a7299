"""From plans to runs: training, and the folders that keep it.

`train` is what `akgnn train` does; `train_runs` trains several seeds side by side, and
`train_folds` one run for each fold of a cross-validation.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from akgnn.data.catalogue import choose_split, large_settings
from akgnn.data.node_data import NodeData
from akgnn.data.tables.settings import TableSettings, paths_of
from akgnn.errors import AkgnnError, SettingsError
from akgnn.machine.device import choose_device
from akgnn.models.registry import find_model
from akgnn.runs.folder import RunFolder
from akgnn.runs.keeping import Keeping, KeptRun, Outcome
from akgnn.runs.memory import Sizes, check_memory, memory_errors_explained
from akgnn.runs.plan import RunPlan
from akgnn.runs.run import Run
from akgnn.training.batched.fit_many import can_batch, fit_many
from akgnn.training.callbacks import Callback
from akgnn.training.fit import check_stopping

# Folders that are locked at the same time: each takes one of the few files a process may open.
_MOST_OPEN = 200


def train(
    dataset: str | None = None,
    *,
    nodes: Any = None,
    edges: Any = None,
    label: str | None = None,
    tables: Mapping[str, Any] | None = None,
    split: str | None = None,
    split_seed: int = 0,
    features: str = "auto",
    direction: str | None = None,
    model: str = "akgnn",
    preset: str | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    device: str = "auto",
    data_root: Path | str | None = None,
    out: Path | str | None = None,
    resume: bool = False,
    checkpoint_seconds: float = 5.0,
    force: bool = False,
    callbacks: Sequence[Callback] = (),
) -> Run:
    """Train a model on a data set or on tables of one's own, as `akgnn train` does.

    Example:
        >>> run = akgnn.train("cora", settings={"epochs": 50})  # doctest: +SKIP
        >>> run.result.test_accuracy, run.predict().labels[:3]  # doctest: +SKIP

    Args:
        dataset: Name of a data set; Cora where no tables are given either.
        nodes: Path or DataFrame of one's own nodes, one a row.
        edges: Path or DataFrame of their edges, or a list of several; if not given each row is
            linked to its nearest rows.
        label: Column of the classes, empty where unknown.
        tables: Other settings of the tables by name, as in `load_tables`.
        split: How nodes are divided, as in `load_dataset` or `load_tables`.
        split_seed: Seed of a random split.
        features: How features are prepared: `auto`, `raw` or `row-normalised`.
        direction: Whether a directed graph is made undirected (`symmetrised`) or `kept`; if not
            given made undirected.
        model: Name of the model.
        preset: Name of its settings; `paper`, or `any-graph` for one's own tables, if not given.
        settings: Settings of the preset that are to be others, by name.
        seed: Seed of the initial weights and the dropout masks.
        device: auto, cpu, cuda or cuda:1.
        data_root: Where data sets lie that do not come with the package.
        out: Folder to keep the run in.
        resume: Go on with the run in `out`, or give its result if it had finished.
        checkpoint_seconds: How often the state of the training is kept in `out`.
        force: Whether to train even where memory is estimated not to suffice.
        callbacks: Told of every epoch; they may end the training.

    Returns:
        The run, with its result and its model.

    Raises:
        SettingsError: A setting is wrong, or settings do not go together.
        DataError: The data cannot be read, or do not fit together.
        DivergedError: A loss stopped being a number.
        RunFolderError: `out` cannot take the run.
        OutOfMemoryError: Training would not fit.
    """
    _check_kinds(settings, tables, callbacks, checkpoint_seconds)
    folder = None if out is None else RunFolder(out)
    named = {
        "dataset": dataset,
        "split": split,
        "split_seed": split_seed,
        "features": features,
        "direction": direction,
        "model": model,
        "preset": preset,
        "seed": seed,
    }
    given = {name: value for name, value in named.items() if value is not None}
    paths = {"nodes": paths_of(nodes), "edges": () if edges is None else paths_of(edges)}
    held = [None if paths[name] else table for name, table in (("nodes", nodes), ("edges", edges))]
    own = None
    if nodes is not None or edges is not None or tables:
        if nodes is None:
            raise SettingsError("Tables of your own need `nodes`.")
        column = {} if label is None else {"label": label}
        own = TableSettings.from_mapping({**(tables or {}), **column, **paths})
    plan = RunPlan.decide(given, settings, tables=own)
    place = choose_device(device)
    data = load_data(plan, data_root, place, force=force, nodes=held[0], edges=held[1])
    plan = plan.suited_to(data)
    with memory_errors_explained(plan, place, Sizes.of(data)):
        run = train_run(
            plan,
            data,
            folder,
            resume=resume,
            checkpoint_seconds=checkpoint_seconds,
            callbacks=callbacks,
        )
    return replace(run, tables=(held[0], held[1]))


def _check_kinds(settings: object, tables: object, callbacks: object, seconds: object) -> None:
    """Refuse what the plan does not look at before it is used."""
    for name, value in (("settings", settings), ("tables", tables)):
        if not isinstance(value, Mapping | None):
            kind = type(value).__name__
            raise SettingsError(f"{name} must be a dictionary of settings by name, got {kind}.")
    if not isinstance(callbacks, list | tuple):
        kind = type(callbacks).__name__
        raise SettingsError(f"callbacks must be a list of Callback, got {kind}.")
    if not isinstance(seconds, int | float):
        raise SettingsError(f"checkpoint_seconds must be a number, got {seconds!r}.")


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
) -> Run:
    """Train one run and, with a folder, keep it there; as `train_runs` does with several.

    Raises:
        DivergedError: A loss stopped being a number, now or in an earlier call.
    """
    (outcome,) = train_runs(
        [plan],
        data,
        [folder],
        resume=resume,
        checkpoint_seconds=checkpoint_seconds,
        callbacks=callbacks,
        first_index=index,
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
            numbered = dict(enumerate(runs, start=first_index + first))
            numbered = {n: run for n, run in numbered.items() if run.outcome is None}
            _train(numbered, data, callbacks)
        outcomes += [run.outcome for run in runs if run.outcome is not None]
    return outcomes


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
