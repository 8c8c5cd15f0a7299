"""`akgnn init`."""

from pathlib import Path

import typer

from akgnn.cli.names import dataset_names, model_names, preset_names
from akgnn.cli.terminal import say
from akgnn.errors import SettingsError
from akgnn.files import exists, write_file


def init(
    file: Path = typer.Argument(Path("akgnn.toml"), help="File to write."),
    nodes: str = typer.Option("nodes.csv", help="Table of the nodes, as seen from the file."),
    edges: str = typer.Option("edges.csv", help="Table of the edges, likewise; '' for none."),
    label: str = typer.Option("label", help="Column of the classes."),
    dataset: str | None = typer.Option(
        None, help="A data set instead of tables.", autocompletion=dataset_names
    ),
    model: str = typer.Option(
        "akgnn", help="Model; `akgnn models` lists them.", autocompletion=model_names
    ),
    preset: str | None = typer.Option(
        None,
        help="Settings by name.  [any-graph; paper for a data set]",
        autocompletion=preset_names,
    ),
    force: bool = typer.Option(False, "--force", help="Write over a file that is there."),
) -> None:
    """Write a settings file with every setting and what it means, for `akgnn train --config`.

    Example: akgnn init --nodes papers.csv --edges links.csv --label topic
    """
    from akgnn.data.catalogue import check_dataset
    from akgnn.data.tables.settings import TableSettings
    from akgnn.runs.config import config_text
    from akgnn.runs.plan import RunPlan

    if dataset is not None:
        check_dataset(dataset)
    tables = TableSettings(nodes=nodes, edges=edges or (), label=label) if dataset is None else None
    named = {"dataset": dataset, "model": model, "preset": preset}
    run = {name: value for name, value in named.items() if value is not None}
    head = "# Settings of a run: akgnn train --config FILE\n\n"
    text = head + config_text(RunPlan.decide(run, tables=tables))
    if exists(file) and not force:
        raise SettingsError(f"{file} is there already; --force writes over it.")
    write_file(file, text.encode())
    say(f"Written: {file}. Change what you like, then: akgnn train --config {file}")
