"""`akgnn inspect`."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from akgnn.cli.insight_lines import print_insight
from akgnn.cli.output import print_json, print_table
from akgnn.errors import AkgnnError
from akgnn.report.values import number

if TYPE_CHECKING:
    from akgnn.data.node_data import NodeData
    from akgnn.report.kernels import LearnedKernel
    from akgnn.training.run import RunResult
    from akgnn.training.starts import TriedStart


def inspect(
    run: Path = typer.Argument(help="Folder of a finished run."),
    data_root: Path | None = typer.Option(None, help="Folder of other data sets.  [$AKGNN_DATA]"),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Show what a model learned, how it errs, and which labels it doubts.

    Kernels with their frequency response, what smoothing means for this graph, scores by class,
    calibration, and the nodes most likely mislabelled.

    Example: akgnn inspect run
    """
    from akgnn.explain.insight import insight_of
    from akgnn.report.kernels import FREQUENCIES, learned_kernels
    from akgnn.report.signal_words import signal_words
    from akgnn.training.checkpoint import RunFolder
    from akgnn.training.run import load_model

    result, model = load_model(RunFolder(run))
    data, missing = _data_of(result, data_root)
    learned = learned_kernels(result, model, data)
    kernels = learned.kernels
    insight = None if data is None else insight_of(model, data)
    words = [*learned.words]
    if insight is not None:
        words += signal_words(insight.signals, insight.smoothing)
    if as_json:
        homophily = None if learned.homophily is None else asdict(learned.homophily)
        print_json(
            {
                **result.to_dict(),
                "kernel": kernels[0].kernel if kernels else None,
                "symbol": kernels[0].symbol if kernels else None,
                "frequency": FREQUENCIES,
                "layers": [_as_object(kernel) for kernel in kernels],
                "homophily": homophily,
                "homophily_missing": missing,
                "words": words,
                "insight": None if insight is None else insight.to_dict(),
            }
        )
        return

    fit, which = result.fit, result.plan.which
    trained_on = f"{result.plan.data_name}, split {result.data['split']}"
    print(f"{run}: {which.model} ({which.preset}) on {trained_on}")
    accuracy = number(fit.test_accuracy)
    print(f"test accuracy {accuracy} %, {fit.epochs} epochs, best {fit.best_epoch}\n")
    if kernels:
        _print_kernels(kernels, FREQUENCIES)
        print()
    else:
        print(f"The model {which.model!r} has no adaptive kernels.")
    for line in words:
        print(line)
    if missing is not None:
        print(f"The homophily of the training nodes is not known: {missing}")
    if fit.starts:
        print()
        _print_starts(fit.starts)
    if kernels:
        print(_explained(kernels))
    if insight is not None:
        print_insight(insight, run)


def _data_of(result: "RunResult", root: Path | None) -> tuple["NodeData | None", str | None]:
    """The data of the run, or why they cannot be had."""
    from akgnn.explain.trained_on import trained_on

    try:
        return trained_on(result, root), None
    except AkgnnError as error:
        return None, str(error)


def _as_object(kernel: "LearnedKernel") -> dict[str, Any]:
    values = asdict(kernel)
    place = values.pop("place")
    return {**{name: value or None for name, value in place.items()}, **values}


def _print_kernels(kernels: Sequence["LearnedKernel"], frequencies: Sequence[float]) -> None:
    columns = ["layer", kernels[0].symbol, "neighbours", "all-pass", "low-pass"]
    columns += [f"μ={value:g}" for value in frequencies]
    rows = [
        [
            kernel.place.text.removeprefix("layer "),
            f"{kernel.scalar:.3f}",
            "–" if kernel.neighbour_share is None else f"{kernel.neighbour_share:.2f}",
            f"{kernel.all_pass:.3f}",
            f"{kernel.low_pass:.3f}",
            *(f"{value:.2f}" for value in kernel.response),
        ]
        for kernel in kernels
    ]
    print_table(columns, rows)


def _print_starts(starts: Sequence["TriedStart"]) -> None:
    rows = [
        [
            start.start,
            str(start.epochs),
            f"{start.val_loss:.3f}",
            f"{start.val_accuracy:.1f}",
            "kept" if start.is_chosen else "",
        ]
        for start in starts
    ]
    print_table(["start", "epochs", "validation loss", "validation %", ""], rows, "lrrrl")


_SCALARS = {
    "λ": "λ = 2 weighs a node as one of its neighbours (GCN). Higher keeps more of the node's\n"
    "own signal, lower averages more.",
    "τ": "τ = 0 keeps a node's own signal; above 0 neighbours are added to it, below 0 they are\n"
    "subtracted, and at 1 or -1 they weigh together as much as the node itself.",
}


def _explained(kernels: Sequence["LearnedKernel"]) -> str:
    """How the columns and the words are to be read."""
    from akgnn.report.words import THRESHOLDS

    scalar = _SCALARS.get(kernels[0].symbol, "")
    share = (
        "Neighbours: their share of a node's new signal, from -1 (subtracted, nothing else)\n"
        "through 0 (ignored) to 1 (their plain average)."
    )
    response = (
        "The columns μ show what a layer multiplies a graph frequency by: 0 is constant along\n"
        "edges, 2 changes sign at every edge."
    )
    if kernels[0].place.way:
        response += " In- and out-neighbours are shown each alone."
    return "\n" + "\n".join(filter(None, (scalar, share, response, THRESHOLDS)))
