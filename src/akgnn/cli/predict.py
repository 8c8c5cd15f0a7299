"""`akgnn predict`."""

import csv
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from akgnn.cli.output import print_json
from akgnn.errors import DataError, RunFolderError

if TYPE_CHECKING:
    from torch import Tensor


def predict(
    run: Path = typer.Argument(help="Folder of a finished run."),
    dataset: str | None = typer.Option(
        None, help="Another data set with the same features and classes."
    ),
    data_root: Path | None = typer.Option(None, help="Folder of other data sets.  [$AKGNN_DATA]"),
    device: str = typer.Option("auto", help="auto, cpu, cuda or cuda:1."),
    out: Path | None = typer.Option(None, help="CSV file to write.  [standard output]"),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Predict the class of every node with a trained model, as CSV.

    Example: akgnn predict run --out predictions.csv
    """
    from dataclasses import replace

    import torch

    from akgnn.training.checkpoint import RunFolder
    from akgnn.training.device import choose_device
    from akgnn.training.run import load_model

    place = choose_device(device)
    result, model = load_model(RunFolder(run))
    plan, names = result.plan, result.data["class_names"]
    if dataset is not None:
        plan = replace(plan, which=replace(plan.which, dataset=dataset, split=None))
    data = plan.load(data_root)
    if data.num_features != result.data["num_features"] or data.num_classes != len(names):
        raise DataError(
            f"The model of {run} takes {result.data['num_features']} features and {len(names)} "
            f"classes, but {data.name} has {data.num_features} and {data.num_classes}."
        )
    data = data.to(place)
    with torch.no_grad():
        probability = model.to(place)(data.x, data.graph).softmax(1).cpu()
    label = [names[index] for index in probability.argmax(1).tolist()]
    if out is not None:
        try:
            out.write_text(_as_csv(names, label, probability), encoding="utf-8", newline="")
        except OSError as error:
            raise RunFolderError(f"Cannot write {out}: {error.strerror or error}.") from error
    if as_json:
        print_json({"classes": names, "label": label, "probability": probability.tolist()})
    elif out is not None:
        print(f"{len(label)} predictions in {out}")
    else:
        sys.stdout.write(_as_csv(names, label, probability))


def _as_csv(names: list[str], label: list[str], probability: "Tensor") -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["node", "label", *(f"probability of {name}" for name in names)])
    for node, (name, row) in enumerate(zip(label, probability.tolist(), strict=True)):
        writer.writerow([node, name, *(f"{value:.6f}" for value in row)])
    return stream.getvalue()
