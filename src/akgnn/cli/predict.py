"""`akgnn predict`."""

import csv
import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from akgnn.cli.output import print_json
from akgnn.errors import DataError, SettingsError

if TYPE_CHECKING:
    from torch import Tensor

    from akgnn.csr import CSR
    from akgnn.graph import Graph
    from akgnn.training.run import RunResult


def predict(
    run: Path = typer.Argument(help="Folder of a finished run."),
    dataset: str | None = typer.Option(
        None, help="Another data set with the same features and classes."
    ),
    nodes: Path | None = typer.Option(
        None, help="Table of the nodes to predict, with the columns of training."
    ),
    edges: Path | None = typer.Option(
        None, help="Table of their edges, among each other and to nodes of training."
    ),
    unknown_ids: str | None = typer.Option(
        None, help="Edges to ids without a node: refuse or drop.  [as in training]"
    ),
    data_root: Path | None = typer.Option(None, help="Folder of other data sets.  [$AKGNN_DATA]"),
    device: str = typer.Option("auto", help="auto, cpu, cuda or cuda:1."),
    out: Path | None = typer.Option(None, help="CSV file to write.  [standard output]"),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Predict the class of every node with a trained model, as CSV.

    Nodes need not have been there in training. Without tables those of training are predicted.

    Example: akgnn predict run --nodes new.csv --edges new-links.csv --out predictions.csv
    """
    import torch

    from akgnn.training.atomic_write import atomic_write
    from akgnn.training.checkpoint import RunFolder
    from akgnn.training.device import choose_device
    from akgnn.training.run import load_model

    if nodes is None and edges is not None:
        raise SettingsError("--edges needs --nodes, the table of the nodes to predict.")
    if nodes is not None and dataset is not None:
        raise SettingsError("Name a data set or tables of your own (--nodes), not both.")
    place = choose_device(device)
    result, model = load_model(RunFolder(run))
    if nodes is not None:
        asked = _from_tables(run, result, nodes, edges, unknown_ids)
    else:
        asked = _from_data(run, result, dataset, data_root)
    with torch.no_grad():
        logits = model.to(place)(asked.x.to(place), asked.graph.to(place)).cpu()
    probability = (logits if asked.rows is None else logits[asked.rows]).softmax(1)
    names = result.data["class_names"]
    label = [names[index] for index in probability.argmax(1).tolist()]
    table = _as_csv(asked, names, label, probability)
    if out is not None:
        atomic_write(out, table.encode())
    if as_json:
        ids = {} if asked.ids is None else {"id": list(asked.ids)}
        print_json({**ids, "classes": names, "label": label, "probability": probability.tolist()})
    elif out is not None:
        print(f"{len(label)} predictions in {out}")
    else:
        sys.stdout.write(table)


@dataclass(frozen=True)
class _Asked:
    """What is to be predicted: features, graph, which rows of it, and their ids if any."""

    x: "Tensor | CSR"
    graph: "Graph"
    rows: "Tensor | None" = None
    ids: Sequence[Any] | None = None


def _from_data(
    run: Path, result: "RunResult", dataset: str | None, data_root: Path | None
) -> _Asked:
    plan, names = result.plan, result.data["class_names"]
    if dataset is not None:
        which = replace(plan.which, dataset=dataset, split=None)
        plan = replace(plan, which=which, tables=None)
    data = plan.load(data_root)
    if data.num_features != result.data["num_features"] or data.num_classes != len(names):
        raise DataError(
            f"The model of {run} takes {result.data['num_features']} features and {len(names)} "
            f"classes, but {data.name} has {data.num_features} and {data.num_classes}."
        )
    ids = None if data.ids is None else _plain(data.ids)
    return _Asked(data.x, data.graph, ids=ids)


def _from_tables(
    run: Path, result: "RunResult", nodes: Path, edges: Path | None, unknown_ids: str | None
) -> _Asked:
    from akgnn.data.tables.load import load_for_prediction
    from akgnn.data.tables.recipe import FeatureRecipe
    from akgnn.data.transforms import rows_to_1
    from akgnn.training.plan import ROWS_TO_1

    settings, kept = result.plan.tables, result.data.get("recipe")
    if settings is None or kept is None:
        raise SettingsError(
            f"The run in {run} was trained on {result.plan.which.dataset}, not on tables: it knows "
            "no columns by which to read --nodes."
        )
    if unknown_ids is not None:
        settings = settings.updated({"unknown_ids": unknown_ids})
    files = settings.nodes, settings.edges
    loaded = load_for_prediction(
        settings,
        FeatureRecipe.from_dict(kept),
        nodes=nodes,
        edges=edges,
        known=lambda: files,
        direction=result.plan.which.direction,
    )
    x = rows_to_1(loaded.x) if result.data["source"].get("rows") == ROWS_TO_1 else loaded.x
    return _Asked(x, loaded.graph, loaded.rows, _plain(loaded.ids))


def _plain(ids: Any) -> list[Any]:
    """Ids as Python's own numbers and texts."""
    return ids.to_pylist() if hasattr(ids, "to_pylist") else list(ids)


def _as_csv(asked: _Asked, names: list[str], label: list[str], probability: "Tensor") -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    first = "node" if asked.ids is None else "id"
    writer.writerow([first, "label", *(f"probability of {name}" for name in names)])
    nodes: Sequence[Any] = range(len(label)) if asked.ids is None else asked.ids
    for node, name, row in zip(nodes, label, probability.tolist(), strict=True):
        writer.writerow([node, name, *(f"{value:.6f}" for value in row)])
    return stream.getvalue()
