"""Ensembles in their folder: where members are kept while they train, and how they become one."""

import shutil
from collections.abc import Sequence
from dataclasses import replace

from akgnn.errors import AkgnnError, DivergedError
from akgnn.runs.folder import RunFolder
from akgnn.runs.keeping import KeptRun, Outcome
from akgnn.training.ensemble import Ensemble, ensemble_result
from akgnn.training.history import History


def member_folders(number: int, folder: RunFolder | None) -> list[RunFolder | None]:
    """A folder for each member, inside the ensemble's; they are there until all have ended."""
    if folder is None:
        return [None] * number
    return [RunFolder(folder.path / f"member-{index}") for index in range(number)]


def remove_member_folders(number: int, folder: RunFolder | None) -> None:
    """Remove what the ensemble's own folder now says; under its lock."""
    for member in member_folders(number, folder):
        if member is not None:
            shutil.rmtree(member.path, ignore_errors=True)


def join_members(kept: KeptRun, members: Sequence[Outcome]) -> None:
    """End an ensemble: with the mean of its members, or failed as the first of them that did."""
    runs, votes = [], kept.votes
    names = [vote.name for vote in votes] or [
        f"Seed {plan.run.seed}" for plan in kept.plan.members()
    ]
    for name, member in zip(names, members, strict=True):
        if isinstance(member, AkgnnError):
            kept.end(DivergedError(f"{name}: {member}"))
            return
        runs.append(member)
    results = [run.result for run in runs]
    model = Ensemble(
        [run.model for run in runs],
        [result.calibration for result in results],
        [vote.weight for vote in votes] or None,
    )
    kept.model = model.to(kept.data.y.device).eval()
    if kept.folder is not None:
        kept.folder.write_epochs(
            [
                {"member": index, "epoch": epoch + 1, **result.history.row(epoch)}
                for index, result in enumerate(results)
                for epoch in range(len(result.history))
            ]
        )
    without_epochs = tuple(replace(result, history=History()) for result in results)
    kept.end(ensemble_result(model, kept.data, results), without_epochs)
