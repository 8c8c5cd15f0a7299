"""The page of one run: its curves, its kernels, its mistakes, its settings."""

from pathlib import Path
from statistics import fmean
from typing import Any

from akgnn.data.catalogue import graph_name
from akgnn.data.node_data import NodeData
from akgnn.errors import CheckpointError
from akgnn.explain.insight import Insight, insight_of
from akgnn.explain.trained_on import trained_on
from akgnn.report.figures import Figure
from akgnn.report.kernels import LearnedKernel, LearnedKernels, learned_kernels
from akgnn.report.page import Page
from akgnn.report.panel import Panel
from akgnn.report.reliability_figure import reliability_figure
from akgnn.report.response import Kind, Response, kind_of, readout_of, spectrum_with_note
from akgnn.report.signal_words import FREQUENCIES_EXPLAINED, signal_words
from akgnn.report.words import THRESHOLDS
from akgnn.training.checkpoint import RunFolder
from akgnn.training.kernel_places import Place, by_layer, places_of
from akgnn.training.record import reading, text
from akgnn.training.run import RunResult, load_model

_LISTED = 12


def run_page(folder: Path, data_root: Path | None = None) -> Page:
    """The page of a finished run."""
    run_folder = RunFolder(folder)
    run, model = load_model(run_folder)
    if not 1 <= run.fit.best_epoch <= len(run.fit.history):
        raise CheckpointError(f"The record in {folder} is damaged: its epochs do not fit together.")
    with reading(folder):
        versions = {text(key): text(v) for key, v in run_folder.read()["versions"].items()}
    data = trained_on(run, data_root)
    insight = insight_of(model, data)
    learned = learned_kernels(run, model, data)
    which = run.plan.which
    shown: dict[str, Any] = {
        "run": run,
        "which": which,
        "graph": graph_name(run.plan.data_name),
        "class_names": data.class_names,
        "insight": insight,
        "signal_words": signal_words(insight.signals, insight.smoothing),
        "frequencies_explained": FREQUENCIES_EXPLAINED,
        "settings": {kind: values for kind, values in run.plan.to_dict().items() if values},
        "versions": versions,
        "learned": learned,
        "thresholds": THRESHOLDS,
    }
    counts = {"dataset": which.dataset, "model": which.model, "seed": which.seed}
    title = f"{which.model} on {graph_name(run.plan.data_name)}, seed {which.seed}"
    return Page(
        title,
        "run.html",
        shown,
        figures=(*_figures(run), *_reliability(insight)),
        responses=_responses(run, learned, data),
        warnings=(),
        counts=counts,
    )


def _reliability(insight: Insight) -> tuple[Figure, ...]:
    return (reliability_figure(insight.reliability),) if insight.num_test else ()


def _figures(run: RunResult) -> tuple[Figure, ...]:
    loss = Figure("loss", "run-loss", "Loss by epoch", _LOSS, (_loss_panel(run),))
    history = run.fit.history
    if run.fit.lambda_max:
        panel = _kernel_panel(run, "λ", history.lambda_max)
        return loss, Figure("lambda", "run-lambda", "λ by epoch", _LAMBDA, (panel,))
    if history.neighbour_share and run.data["num_edges"]:
        panel = _kernel_panel(run, "Share of neighbours", history.neighbour_share)
        title = "Share of neighbours by epoch"
        return loss, Figure("share", "run-share", title, _SHARE, (panel,))
    return (loss,)


_LOSS = (
    "Cross-entropy without dropout, measured after every epoch. The upright line marks the epoch "
    "that validation chose."
)
_LAMBDA = "At λ = 2 a node weighs as much as one of its neighbours."
_SHARE = (
    "The part of a node's new signal that each layer takes from its neighbours: below 0 they are "
    "subtracted, at 0 ignored, at 1 nothing else is left."
)


def _listed(run: RunResult) -> list[int]:
    """A dozen epochs for a table, the chosen one among them; from 0 on."""
    last = max(len(run.fit.history) - 1, 0)
    return sorted({*(last * k // _LISTED for k in range(_LISTED + 1)), run.fit.best_epoch - 1})


def _loss_panel(run: RunResult) -> Panel:
    history, best = run.fit.history, run.fit.best_epoch
    train, val = history.train_loss, history.val_loss
    return Panel(
        title="",
        summary=f"The training loss goes from {train[0]:.2f} to {train[-1]:.2f} over {len(train)} "
        f"epochs, the validation loss from {val[0]:.2f} to {val[-1]:.2f}; validation chose epoch "
        f"{best}, with a loss of {run.fit.val_loss:.2f}.",
        columns=("epoch", "training loss", "validation loss"),
        rows=[(f"{k + 1}", f"{train[k]:.3f}", f"{val[k]:.3f}") for k in _listed(run)],
        drawn={"train": _short(train), "val": _short(val), "best": best},
    )


def _kernel_panel(run: RunResult, what: str, epochs: list[list[float]]) -> Panel:
    """λ or share of each layer by epoch; of several groups the mean."""
    best, places = run.fit.best_epoch, places_of(run.plan)
    number = len(epochs[0])
    # Models of one's own may have kernels that their settings do not tell.
    fits = len(places) == number
    names = by_layer(places if fits else [Place(layer) for layer in range(1, number + 1)])
    rows = [[fmean(row[k] for k in group) for group in names.values()] for row in epochs]
    chosen = ", ".join(f"{value:.2f}" for value in rows[best - 1])
    several = any(len(group) > 1 for group in names.values())
    whose = "layers, mean over their groups," if several else "layers"
    return Panel(
        title="",
        summary=f"{what} of the {whose} at epoch {best}, which validation chose: {chosen}.",
        columns=("epoch", *names),
        rows=[(f"{k + 1}", *(f"{value:.2f}" for value in rows[k])) for k in _listed(run)],
        drawn={
            "layers": [_short(layer) for layer in zip(*rows, strict=True)],
            "names": list(names),
            "best": best,
        },
    )


def _short(column: Any) -> list[float]:
    return [float(f"{value:.4g}") for value in column]


def _responses(run: RunResult, learned: LearnedKernels, data: NodeData) -> tuple[Response, ...]:
    """The response of the model's kernels, one for each group of channels.

    In- and out-neighbours have no frequencies in common, so there is none where they are apart, nor
    where the graph has no edges.
    """
    kernels = learned.kernels
    if not kernels or kernels[0].place.way or not data.graph.num_edges:
        return ()
    spectrum, note = spectrum_with_note(data.graph)
    name, readout = graph_name(run.plan.data_name), readout_of(run.plan)
    kind = kind_of(run.plan)
    return tuple(
        Response(
            f"group {group}" if group else name,
            tuple(_scalar(kernel, kind) for kernel in kernels if kernel.place.group == group),
            readout,
            spectrum,
            note,
            kind,
        )
        for group in dict.fromkeys(kernel.place.group for kernel in kernels)
    )


def _scalar(kernel: LearnedKernel, kind: Kind) -> float:
    return kernel.low_pass / 2 if kind == "beta" else kernel.scalar
