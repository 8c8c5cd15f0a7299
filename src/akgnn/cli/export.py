"""`akgnn export`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from akgnn.cli import options
from akgnn.cli.show import print_json
from akgnn.cli.terminal import say
from akgnn.errors import SettingsError

if TYPE_CHECKING:
    from akgnn.export.export import Format


def export(
    run: options.RunFolderArgument,
    out: Annotated[Path, typer.Option(help="File to write: NAME.pt2, or NAME.onnx with --onnx.")],
    dynamic: Annotated[
        bool,
        typer.Option(
            "--dynamic", help="A program of x and edge_index, for any graph.  [its own graph]"
        ),
    ] = False,
    onnx: Annotated[bool, typer.Option("--onnx", help="The same as an ONNX file.")] = False,
    data_root: options.DataRoot = None,
    as_json: options.AsJson = False,
) -> None:
    """Write a trained model to a file that runs without akgnn, and check its answers.

    Example: akgnn export run --out model.pt2
    """
    suffix = ".onnx" if onnx else ".pt2"
    if out.suffix != suffix:
        raise SettingsError(f"--out must end in {suffix}{' with --onnx' * onnx}, got {out.name!r}.")
    from akgnn.export.export import export_model
    from akgnn.runs.load import load_run

    loaded = load_run(run)
    name = loaded.plan.run.model
    form: Format = "onnx" if onnx else "dynamic" if dynamic else "graph"
    done = export_model(loaded.model, loaded.data(data_root), out, form)
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
    say(f"{out}: {name} as a function of {', '.join(done.inputs)}")
    graphs = "its own graph" if done.graphs == 1 else f"{done.graphs} graphs"
    say(f"On {graphs} its scores are the model's, up to {done.difference:.1e} of the largest.")
