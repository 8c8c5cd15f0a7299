"""Options that several commands share, in addition to the options of a request."""

from pathlib import Path
from typing import Annotated, Any

import typer

from akgnn.errors import SettingsError
from akgnn.runs.request import DATA, OUTPUT, TRAINING


def option(panel: str, text: str, *names: str, **more: Any) -> Any:
    """An option in one of the groups of `akgnn.cli.help`."""
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


Device = Annotated[str, option(TRAINING, "auto, cpu, cuda or cuda:1.")]
DataRoot = Annotated[Path | None, option(DATA, "Folder of other data sets.  [$AKGNN_DATA]")]
AsJson = Annotated[bool, option(OUTPUT, "Print one JSON object.", "--json")]
RunFolderArgument = Annotated[Path, typer.Argument(help="Folder of a finished run.")]


def check_range(option: str, value: int | None, low: int, high: int) -> None:
    """Refuse a number outside a range; one that was not given is none."""
    if value is not None and not low <= value <= high:
        raise SettingsError(f"{option} must be from {low} to {high}, got {value}.")
