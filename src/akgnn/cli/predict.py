"""`akgnn predict`."""

import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from akgnn.cli import options
from akgnn.cli.names import dataset_names
from akgnn.cli.show import print_json
from akgnn.cli.terminal import complain, say
from akgnn.errors import AloneWarning, DataError, SettingsError


def predict(
    run: options.RunFolderArgument,
    dataset: Annotated[
        str | None,
        typer.Option(
            help="Another data set with the same features and classes.",
            autocompletion=dataset_names,
        ),
    ] = None,
    nodes: Annotated[
        Path | None,
        typer.Option(help="Table of the nodes to predict, with the columns of training."),
    ] = None,
    edges: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="<path>",
            help="Table of their edges, among each other and to nodes of training; repeatable.",
        ),
    ] = None,
    unknown_ids: Annotated[
        str | None,
        typer.Option(help="Edges to ids without a node: refuse or drop.  [as in training]"),
    ] = None,
    data_root: options.DataRoot = None,
    device: options.Device = "auto",
    out: Annotated[Path | None, typer.Option(help="CSV file to write.  [standard output]")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Predict the class of every node with a trained model, as CSV.

    Nodes need not have been there in training. Without tables those of training are predicted.

    Example: akgnn predict run --nodes new.csv --edges new-links.csv --out predictions.csv
    """
    # Another ending would have the next reader take it for another format.
    if out is not None and out.suffix.lower() not in ("", ".csv", ".txt"):
        raise SettingsError(f"Predictions are CSV: --out must end in .csv, got {out.name!r}.")
    from akgnn.runs.load import load_run

    with warnings.catch_warnings():
        # Said below, in the words of this command.
        warnings.simplefilter("ignore", AloneWarning)
        predictions = load_run(run).predict(
            nodes,
            edges,
            dataset=dataset,
            unknown_ids=unknown_ids,
            data_root=data_root,
            device=device,
        )
    if predictions.num_alone:
        complain(
            f"{predictions.num_alone} of {len(predictions)} nodes have no edge and are judged by "
            "their columns alone; --edges names a table of edges."
        )
    text = predictions.to_csv(out)
    if as_json:
        print_json(predictions.to_dict())
    elif out is not None:
        say(f"{len(predictions)} predictions in {out}")
    else:
        _print_csv(text)


def _print_csv(text: str) -> None:
    """Print a table, in which no letter may become another."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError as error:
        letter = text[error.start]
        raise DataError(
            f"The predictions hold {letter!r}, which standard output lacks in {encoding}; write "
            "them to a file with --out, or print --json."
        ) from error
    sys.stdout.write(text)
