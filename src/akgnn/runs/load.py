"""A run that has finished, from the folder that keeps it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from akgnn.codec import from_json, reading
from akgnn.data.catalogue import generated_sizes
from akgnn.errors import RunFolderError
from akgnn.runs.facts import DataFacts
from akgnn.runs.folder import RunFolder
from akgnn.runs.plan import RunPlan
from akgnn.runs.run import Run
from akgnn.runs.vote import Vote, votes_in
from akgnn.training.history import History
from akgnn.training.result import FitResult

_MOST_FEATURES = 2**31 - 1


def load_run(path: Path | str) -> Run:
    """A finished run from its folder.

    Its model and data are loaded when they are first asked for.

    Args:
        path: The folder, as `akgnn.train(out=…)` or `akgnn train --out` made it.

    Raises:
        CheckpointError: The folder holds no run, or a damaged one.
        RunFolderError: The run has failed, or has not finished.
    """
    folder = RunFolder(path)
    content = folder.read()
    if content.get("status") == "failed":
        with reading(folder.path):
            cause = from_json(str, content["error"], "error")
        raise RunFolderError(f"The run in {folder.path} failed. {cause}")
    if content.get("status") != "finished":
        raise RunFolderError(
            f"The run in {folder.path} has not finished; train it with `resume=True` to go on."
        )
    return read_run(folder, content)


def read_run(folder: RunFolder, content: Mapping[str, Any]) -> Run:
    """The run that the content of `run.json` describes."""
    with reading(folder.path):
        history = from_json(History, content["history"], "history")
        result = FitResult.from_dict(content["result"], history)
        facts = from_json(DataFacts, content["data"], "data")
        plan = RunPlan.from_dict(content["settings"])
        _check_sizes(plan, facts)
        members = tuple(
            FitResult.from_dict(each, History())
            for each in from_json(list[dict[str, Any]], content.get("members", []), "members")
        )
        votes = votes_in(content)
        for vote in votes:
            _check_sizes(vote.plan, facts)
        if len(members) != (len(votes) or (plan.run.ensemble if plan.run.ensemble > 1 else 0)):
            raise ValueError(f"members has {len(members)} entries")
        return Run(plan, facts, result, folder, members=members, votes=votes)


def _check_sizes(plan: RunPlan, facts: DataFacts) -> None:
    """Refuse sizes that nothing has, before anything is made of them."""
    classes = len(facts.class_names)
    labels = classes if plan.preset.strategy.takes_labels else 0
    sizes = facts.num_nodes, facts.num_features - labels, classes
    if facts.num_features > _MOST_FEATURES:
        raise ValueError(f"num_features is {facts.num_features}")
    generated = None if plan.tables is not None else generated_sizes(plan.run.dataset)
    if generated not in (None, sizes):
        raise ValueError(f"{plan.run.dataset} has other sizes than the data of the run")


def plan_of(folder: RunFolder, content: Mapping[str, Any]) -> RunPlan:
    """The plan that a run folder keeps."""
    with reading(folder.path):
        return RunPlan.from_dict(content["settings"])


def kept_votes(folder: RunFolder, content: Mapping[str, Any]) -> tuple[Vote, ...]:
    """The votes that a run folder keeps; none of a single model."""
    with reading(folder.path):
        return votes_in(content)
