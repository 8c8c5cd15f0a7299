"""`akgnn report`."""

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from akgnn.cli.show import print_json
from akgnn.cli.terminal import complain, say
from akgnn.errors import RunFolderError, SettingsError

if TYPE_CHECKING:
    from akgnn.report.html import Page


def report(
    folder: Path = typer.Argument(
        metavar="DIR|RUN", help="Folder of `akgnn reproduce` or of `akgnn train --out RUN`."
    ),
    out: Path = typer.Option(Path("report.html"), help="HTML file to write."),
    specs: list[Path] = typer.Option(
        [], "--spec", metavar="FILE.toml", help="Show an experiment of your own; repeatable."
    ),
    data_root: Path | None = typer.Option(None, help="Folder of other data sets.  [$AKGNN_DATA]"),
    opens: bool = typer.Option(False, "--open", help="Open the page in a browser."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Write a page with the results of experiments or of one run; it opens offline.

    Example: akgnn report results --out report.html
    """
    from akgnn.report.html import check_out, check_packages, write

    check_packages()
    check_out(out)
    if out.suffix.lower() not in (".html", ".htm"):
        raise SettingsError(f"--out must end in .html, got {out.name!r}.")
    page = _page_of(folder, specs, data_root)
    for line in page.warnings:
        complain(line)
    write(page, out)
    if as_json:
        print_json({"out": str(out), **page.counts, "skipped": list(page.warnings)})
    else:
        say(f"{page.title}: {out}")
    if opens:
        open_page(out)


def open_page(file: Path) -> None:
    """Show a page in the browser; where there is none, a line says so."""
    try:
        is_open = webbrowser.open(file.resolve().as_uri())
    except (webbrowser.Error, OSError):
        is_open = False
    if not is_open:
        complain(f"No browser was found here; open {file} in one yourself.")


def _page_of(folder: Path, specs: list[Path], data_root: Path | None) -> "Page":
    """The page for what the folder holds."""
    from akgnn.experiments.store import RECORDS_FILE, RecordStore
    from akgnn.report.experiments_page import experiments_page
    from akgnn.report.run_page import run_page
    from akgnn.runs.folder import RUN_FILE, RunFolder

    if RecordStore(folder).exists():
        return experiments_page(folder, specs, data_root)
    if RunFolder(folder).holds_run():
        if specs:
            raise SettingsError(f"--spec goes with a folder of records; {folder} holds one run.")
        return run_page(folder, data_root)
    if any(file for kind in ("seed", "fold") for file in folder.glob(f"{kind}-*/{RUN_FILE}")):
        RunFolder(folder).read()
    raise RunFolderError(f"{folder} holds neither records ({RECORDS_FILE}) nor a run ({RUN_FILE}).")
