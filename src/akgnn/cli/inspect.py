"""`akgnn inspect`."""

from pathlib import Path
from typing import Any

import typer

from akgnn.cli.output import print_json, print_table
from akgnn.errors import SettingsError

_FREQUENCIES = (0.0, 0.5, 1.0, 1.5, 2.0)


def inspect(
    run: Path = typer.Argument(help="Folder of a finished run."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Show the kernels that a model learned: λ, filter weights, frequency response.

    Example: akgnn inspect run
    """
    import torch

    from akgnn.layers.ak_conv import AKConv
    from akgnn.training.checkpoint import RunFolder
    from akgnn.training.run import load_model

    result, model = load_model(RunFolder(run))
    kernels = [module for module in model.modules() if isinstance(module, AKConv)]
    if not kernels:
        raise SettingsError(f"The model {result.plan.which.model!r} has no adaptive kernels.")
    frequency = torch.tensor(_FREQUENCIES)
    layers: list[dict[str, Any]] = []
    with torch.no_grad():
        for kernel in kernels:
            all_pass, low_pass = kernel.filter_weights
            layers.append(
                {
                    "lambda_max": float(kernel.scalar),
                    "self_weight": float(kernel.scalar - 1),
                    "all_pass": float(all_pass),
                    "low_pass": float(low_pass),
                    "response": kernel.frequency_response(frequency).tolist(),
                }
            )
    if as_json:
        print_json({**result.to_dict(), "frequency": _FREQUENCIES, "layers": layers})
        return

    fit, which = result.fit, result.plan.which
    print(f"{run}: {which.model} ({which.preset}) on {which.dataset}, split {result.data['split']}")
    print(f"test accuracy {fit.test_accuracy:.1f} %, {fit.epochs} epochs, best {fit.best_epoch}\n")
    names = ("lambda_max", "self_weight", "all_pass", "low_pass")
    rows = [
        [f"{number}", *(f"{layer[name]:.3f}" for name in names)]
        + [f"{value:.2f}" for value in layer["response"]]
        for number, layer in enumerate(layers, start=1)
    ]
    columns = ["layer", "λ", "self-loop", "all-pass", "low-pass"]
    print_table(columns + [f"μ={value:g}" for value in _FREQUENCIES], rows)
    print(
        "\nλ = 2 weighs a node as one of its neighbours (GCN). Higher keeps more of the node's\n"
        "own signal, lower averages more. The columns μ show what a layer multiplies a graph\n"
        "frequency by, 1 - μ / λ: 0 is constant along edges, 2 changes sign at every edge."
    )
