"""`akgnn.train`: from data to a run in one call, as `akgnn train` does."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from akgnn.data.node_data import NodeData
from akgnn.data.tables.settings import TableSettings, paths_of
from akgnn.errors import AkgnnError, LeftOutWarning, SettingsError
from akgnn.machine.device import choose_device
from akgnn.runs.choice import Choice, choose, may_vote, seeds_to_vote
from akgnn.runs.folder import RunFolder
from akgnn.runs.load import kept_votes, plan_of
from akgnn.runs.memory import Sizes, memory_errors_explained
from akgnn.runs.plan import RunPlan
from akgnn.runs.run import Run
from akgnn.runs.train import load_data, train_run, train_votes
from akgnn.runs.vote import Vote
from akgnn.training.callbacks import Callback, StopWhen


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
    model: str | None = None,
    preset: str | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    ensemble: int = 1,
    vote: bool = True,
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
        model: Name of the model; `akgnn` if not given.
        preset: Name of its settings. If not given, `paper` on the paper's graphs and generated
            ones; on others, and on one's own tables, a few that validation compares: see `vote`.
        settings: Settings of the preset that are to be others, by name.
        seed: Seed of the initial weights and the dropout masks.
        ensemble: How many seeds, from `seed` on, are trained and vote as one model: its
            probabilities are the mean of theirs. What validation chooses it chooses with the first.
        vote: Whether those that validation would choose from vote, where it has a choice, with the
            shares that suit validation nodes best; False trains the best alone. An ensemble of
            seeds is of the best alone.
        device: auto, cpu, cuda or cuda:1.
        data_root: Where data sets lie that do not come with the package.
        out: Folder to keep the run in.
        resume: Go on with the run in `out`, or give its result if it had finished.
        checkpoint_seconds: How often the state of the training is kept in `out`.
        force: Whether to train even where memory is estimated not to suffice.
        callbacks: Told of every epoch of the run, of an ensemble with the index of its member; they
            may end the training.

    Returns:
        The run, with its result and its model, and the choice if there was one.

    Raises:
        SettingsError: A setting is wrong, or settings do not go together.
        DataError: The data cannot be read, or do not fit together.
        DivergedError: A loss stopped being a number, of an ensemble that of any member.
        RunFolderError: `out` cannot take the run.
        OutOfMemoryError: Training would not fit.
    """
    _check_kinds(settings, tables, callbacks, checkpoint_seconds)
    if not isinstance(dataset, str | None):
        raise SettingsError(
            f"akgnn.train takes the name of a data set such as 'cora', got {type(dataset).__name__}"
            "; pass tables of your own, paths or DataFrames, as `nodes` and `edges`."
        )
    folder = None if out is None else RunFolder(out)
    if folder is not None and not (resume and folder.holds_run()):
        folder.check_free()
    named = {
        "dataset": dataset,
        "split": split,
        "split_seed": split_seed,
        "features": features,
        "direction": direction,
        "model": model,
        "preset": preset,
        "seed": seed,
        "ensemble": ensemble,
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
    elif label is not None:
        raise SettingsError("`label` names a column of your own tables, which need `nodes`.")
    plan = RunPlan.decide(given, settings, tables=own)
    place = choose_device(device)
    data = load_data(plan, data_root, place, force=force, nodes=held[0], edges=held[1])
    plans, choice = plan.candidates(data), None
    if plans[0].left_out:
        warnings.warn(LeftOutWarning(plans[0].left_out), stacklevel=2)
    votes: tuple[Vote, ...] = ()
    if resume and folder is not None and folder.holds_run():
        # The run that is to go on has made its choice.
        content = folder.read()
        kept, votes = plan_of(folder, content).run, kept_votes(folder, content)
        plans = [
            each for each in plans if (each.run.model, each.run.preset) == (kept.model, kept.preset)
        ] or plans
    elif len(plans) > 1:
        stop = StopWhen(lambda: any(callback.should_stop() for callback in callbacks))
        has_vote = vote and ensemble == 1 and may_vote(plans)
        seeds = seeds_to_vote(data) if has_vote else 1
        choice = choose(plans, data, seeds=seeds, callbacks=[stop], force=force)
        votes = choice.votes if has_vote else ()
    plan = plans[0] if choice is None else choice.chosen.plan
    with memory_errors_explained(plan, place, Sizes.of(data)):
        # Who looks on wants to see the epochs, so they are trained again.
        run = train_chosen(
            plan,
            data,
            folder,
            votes=votes,
            choice=None if callbacks else choice,
            resume=resume,
            checkpoint_seconds=checkpoint_seconds,
            callbacks=callbacks,
        )
    return replace(run, tables=(held[0], held[1]), choice=choice, data_root=data_root)


def train_chosen(
    plan: RunPlan,
    data: NodeData,
    folder: RunFolder | None,
    *,
    votes: Sequence[Vote],
    choice: Choice | None,
    resume: bool,
    checkpoint_seconds: float,
    callbacks: Sequence[Callback],
) -> Run:
    """Train one plan, or those that vote; what a choice has trained is not trained again.

    Raises:
        DivergedError: A loss stopped being a number.
    """
    if len(votes) < 2:
        start = None if choice is None else choice.chosen.snapshot
        return train_run(
            plan,
            data,
            folder,
            resume=resume,
            checkpoint_seconds=checkpoint_seconds,
            callbacks=callbacks,
            start=start,
        )
    outcome = train_votes(
        votes,
        data,
        folder,
        resume=resume,
        checkpoint_seconds=checkpoint_seconds,
        callbacks=callbacks,
        starts=None if choice is None else choice.snapshots,
    )
    if isinstance(outcome, AkgnnError):
        raise outcome
    return outcome


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
