"""Which options of `akgnn train` go together; what does not is refused before anything is read."""

from pathlib import Path

import typer

from akgnn.cli import options
from akgnn.errors import SettingsError
from akgnn.settings import MOST_RUNS

_MOST_FOLDS = 1000
# What parts take: the rest is of data that they hold already, or of several runs.
_WITH_PARTS = {
    "config", "model", "preset", "kernel", "changes", "seed", "device", "out", "resume",
    "checkpoint_seconds", "parts", "processes", "mesh", "parts_at_once", "timeout", "as_json",
}  # fmt: skip
_OF_PARTS = {"processes", "mesh", "parts_at_once", "timeout"}


def check_options(
    resume: bool,
    out: Path | None,
    seeds: int | None,
    folds: int | None,
    split: str | None,
    model: str | None,
    checkpoint_seconds: float,
    kernel: str | None,
) -> None:
    """Refuse numbers that are none, and options that do not go together."""
    if resume and out is None:
        raise SettingsError("--resume needs --out, the folder of the run to go on with.")
    options.check_range("--seeds", seeds, 1, MOST_RUNS)
    if folds is not None:
        _check_folds(folds, split, seeds, model)
    if not checkpoint_seconds >= 0:
        raise SettingsError(f"--checkpoint-seconds must be at least 0, got {checkpoint_seconds}.")
    if kernel is not None and model not in (None, "akgnn"):
        raise SettingsError(f"--kernel goes with the model akgnn; {model} has no kernel to choose.")


def check_parts(context: typer.Context, model: str | None) -> None:
    """Refuse options that parts, which hold the data as they are, leave no place for."""
    named = [option for name, option in _written(context).items() if name not in _WITH_PARTS]
    if named:
        raise SettingsError(
            f"{named[0]} has no place beside --parts, which hold data and split and train one run."
        )
    if model == "auto":
        raise SettingsError("--parts train one model; --model auto tries several. Name one.")


def check_without_parts(context: typer.Context) -> None:
    """Refuse options of parts where there are none."""
    for name, option in _written(context).items():
        if name in _OF_PARTS:
            raise SettingsError(f"{option} needs --parts, a folder that `akgnn partition` wrote.")


def _check_folds(folds: int, split: str | None, seeds: int | None, model: str | None) -> None:
    options.check_range("--folds", folds, 2, _MOST_FOLDS)
    if split is not None:
        raise SettingsError(
            f"--folds draws its own splits, so --split {split} has no place beside it; "
            "--split-seed draws others."
        )
    if seeds is not None:
        raise SettingsError("--folds and --seeds do not go together; choose one of them.")
    if model == "auto":
        raise SettingsError(
            "--model auto chooses by one split, whose nodes other folds test; "
            "name a model with --folds."
        )


def _written(context: typer.Context) -> dict[str, str]:
    """The options that stand on the command line: the parameter of each, and its flag."""
    written = {}
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        # Which module has this enumeration depends on the release of typer; its names do not.
        if option.name and source is not None and source.name == "COMMANDLINE":
            written[option.name] = option.opts[0]
    return written
