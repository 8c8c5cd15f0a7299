"""`akgnn export`."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from akgnn.cli.output import print_json
from akgnn.errors import SettingsError

if TYPE_CHECKING:
    from akgnn.export.export import Format


def export(
    run: Path = typer.Argument(help="Folder of a finished run."),
    out: Path = typer.Option(..., help="File to write: NAME.pt2, or NAME.onnx with --onnx."),
    dynamic: bool = typer.Option(
        False, "--dynamic", help="A program of x and edge_index, for any graph.  [its own graph]"
    ),
    onnx: bool = typer.Option(False, "--onnx", help="The same as an ONNX file."),
    data_root: Path | None = typer.Option(None, help="Folder of other data sets.  [$AKGNN_DATA]"),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Write a trained model to a file that runs without akgnn, and check its answers.

    Example: akgnn export run --out model.pt2
    """
    suffix = ".onnx" if onnx else ".pt2"
    if out.suffix != suffix:
        raise SettingsError(f"--out must end in {suffix}{' with --onnx' * onnx}, got {out.name!r}.")
    from akgnn.export.export import export_model
    from akgnn.training.checkpoint import RunFolder
    from akgnn.training.run import load_model

    result, model = load_model(RunFolder(run))
    name = result.plan.which.model
    form: Format = "onnx" if onnx else "dynamic" if dynamic else "graph"
    done = export_model(model, result.plan.load(data_root), out, form)
    if as_json:
        print_json(
            {
                "file": str(done.file),
                "model": name,
                "inputs": done.inputs,
                "graphs": done.graphs,
                "difference": done.difference,
            }
        )
        return
    print(f"{out}: {name} as a function of {', '.join(done.inputs)}")
    graphs = "its own graph" if done.graphs == 1 else f"{done.graphs} graphs"
    print(f"On {graphs} its scores are the model's, up to {done.difference:.1e} of the largest.")
