"""The page of one run: its curves, its kernels, its mistakes, its settings."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from akgnn.data.catalogue import graph_name
from akgnn.data.node_data import NodeData
from akgnn.errors import CheckpointError
from akgnn.explain.insight import insight_of
from akgnn.models.scalars import Position, by_layer, positions_of
from akgnn.report.atlas import NO_ATLAS, atlas_of
from akgnn.report.figures import Figure
from akgnn.report.html import MOST_BYTES, Page, render
from akgnn.report.kernels import LearnedKernels, learned_kernels
from akgnn.report.panels import Panel, still_words
from akgnn.report.reliability_figure import reliability_figure
from akgnn.report.response import Response, kind_of, readout_of, spectrum_with_note
from akgnn.report.values import number
from akgnn.report.words import (
    FREQUENCIES_EXPLAINED,
    THRESHOLDS,
    ensemble_words,
    signal_words,
)
from akgnn.runs.load import load_run
from akgnn.runs.run import Run
from akgnn.training.fit import predict_logits
from akgnn.training.metrics import interval_words

MOST_CLASSES = 80
"""Of more classes the confusion matrix would be most of the page, and nobody could read it."""

_LISTED = 12
_CONFUSIONS = 40
# Bytes for what the section of the atlas says, and for what compresses less well than thought.
_SPARE = 10_000
# Where there are more layers, the bands of their groups would cover one another.
_MOST_BANDS = 6


def run_page(folder: Path, data_root: Path | None = None) -> Page:
    """The page of a finished run."""
    run = load_run(folder)
    model = run.model
    if not 1 <= run.result.best_epoch <= len(run.result.history):
        raise CheckpointError(f"The record in {folder} is damaged: its epochs do not fit together.")
    data = run.data(data_root)
    logits = predict_logits(model, data)
    insight = insight_of(model, data, calibration=run.result.calibration, logits=logits)
    learned = learned_kernels(run, model, data)
    reliability = reliability_figure(insight.reliability)
    settings = run.plan.run
    shown: dict[str, Any] = {
        "run": run,
        "which": settings,
        "graph": graph_name(run.plan.data_name),
        "class_names": data.class_names,
        "insight": insight,
        "has_matrix": data.num_classes <= MOST_CLASSES,
        "confusions": confusions_of(insight.confusion),
        "ensemble_words": ensemble_words(run),
        "signal_words": signal_words(insight.signals, insight.smoothing),
        "frequencies_explained": FREQUENCIES_EXPLAINED,
        "settings": {kind: values for kind, values in run.plan.to_dict().items() if values},
        "versions": run.versions,
        "learned": learned,
        "thresholds": THRESHOLDS,
        "interval": interval_words(run.result.test_accuracy, insight.num_test),
        "atlas": NO_ATLAS,
    }
    page = Page(
        f"{settings.model} on {shown['graph']}, {settings.seeds}",
        "run.html",
        shown,
        figures=(*_figures(run), *([reliability] if insight.num_test else [])),
        responses=_responses(run, learned, data),
        counts={name: getattr(settings, name) for name in ("dataset", "model", "seed")},
        scripts=("atlas-model.js", "atlas-map.js", "atlas.js"),
        styles=("atlas.css",),
    )
    room = MOST_BYTES - len(render(page).encode()) - _SPARE
    atlas = atlas_of(run, model, data, logits, insight.suspects, room)
    return replace(
        page,
        shown={**shown, "atlas": atlas},
        data={"atlas": atlas.drawn},
        packed={"atlas": atlas.packed},
    )


def confusions_of(table: Sequence[Sequence[int]]) -> list[tuple[int, int, int]]:
    """The mistakes that were made most often: how often, the true class, the predicted one."""
    found = [
        (count, true, predicted)
        for true, row in enumerate(table)
        for predicted, count in enumerate(row)
        if count and predicted != true
    ]
    return sorted(found, key=lambda each: -each[0])[:_CONFUSIONS]


def _figures(run: Run) -> tuple[Figure, ...]:
    loss = Figure("loss", "run-loss", "Loss by epoch", _LOSS, (_loss_panel(run),))
    history = run.result.history
    if run.result.lambda_max:
        return loss, _kernel_figure(run, "lambda", "λ", history.lambda_max)
    if history.neighbour_share and run.facts.num_edges:
        return loss, _kernel_figure(run, "share", "Share of neighbours", history.neighbour_share)
    return (loss,)


def _kernel_figure(run: Run, name: str, what: str, epochs: list[list[float]]) -> Figure:
    panel = _kernel_panel(run, what, epochs)
    about = _KERNELS[name] + _groups_note(panel)
    return Figure(name, f"run-{name}", f"{what} by epoch", about, (panel,))


_LOSS = (
    "Cross-entropy without dropout, measured after every epoch. The upright line marks the epoch "
    "that validation chose."
)
_KERNELS = {
    "lambda": "At λ = 2 a node weighs as much as one of its neighbours.",
    "share": "The part of a node's new signal that each layer takes from its neighbours: below 0 "
    "they are subtracted, at 0 ignored, at 1 nothing else is left.",
}


def _listed(run: Run) -> list[int]:
    """A dozen epochs for a table, the chosen one among them; from 0 on."""
    last = max(len(run.result.history) - 1, 0)
    return sorted({*(last * k // _LISTED for k in range(_LISTED + 1)), run.result.best_epoch - 1})


def _loss_panel(run: Run) -> Panel:
    history, best = run.result.history, run.result.best_epoch
    train, val = history.train_loss, history.val_loss
    return Panel(
        title="",
        summary=f"The training loss goes from {train[0]:.2f} to {train[-1]:.2f} over {len(train)} "
        f"epochs, the validation loss from {val[0]:.2f} to {val[-1]:.2f}; validation chose epoch "
        f"{best}, with a loss of {run.result.val_loss:.2f}.",
        columns=("epoch", "training loss", "validation loss"),
        rows=[(f"{k + 1}", f"{train[k]:.3f}", f"{val[k]:.3f}") for k in _listed(run)],
        drawn={"train": _short(train), "val": _short(val), "best": best},
    )


def _kernel_panel(run: Run, what: str, epochs: list[list[float]]) -> Panel:
    """λ or share of each layer by epoch; of several groups the mean, and a band for their range."""
    best, positions = run.result.best_epoch, positions_of(run.plan.preset.model)
    width = len(epochs[0])
    # Models of one's own may have kernels that their settings do not tell.
    fits = len(positions) == width
    names = by_layer(positions if fits else [Position(layer) for layer in range(1, width + 1)])
    rows = [[[row[k] for k in group] for group in names.values()] for row in epochs]
    layers = list(zip(*rows, strict=True))
    chosen = ", ".join(map(_with_range, rows[best - 1]))
    groups = max(map(len, names.values()))
    whose = f"layers, mean and range of their {groups} groups," if groups > 1 else "layers"
    banded = layers if groups > 1 and len(names) <= _MOST_BANDS else []
    still = still_words(list(zip(*epochs, strict=True)), len(names))
    return Panel(
        title="",
        summary=still
        or f"{what} of the {whose} at epoch {best}, which validation chose: {chosen}.",
        columns=("epoch", *names),
        rows=[(f"{k + 1}", *map(_with_range, rows[k])) for k in _listed(run)],
        drawn={}
        if still
        else {
            "layers": [_short(map(fmean, layer)) for layer in layers],
            "low": [_short(map(min, layer)) for layer in banded],
            "high": [_short(map(max, layer)) for layer in banded],
            "groups": groups,
            "names": list(names),
            "best": best,
        },
    )


def _with_range(values: Sequence[float]) -> str:
    """The mean and, of several, from where to where they go."""
    mean = number(fmean(values), 2)
    ends = f"{number(min(values), 2)} to {number(max(values), 2)}"
    return mean if len(values) == 1 else f"{mean} ({ends})"


def _groups_note(panel: Panel) -> str:
    """How lines of several groups of channels are to be read; empty where layers have one each."""
    groups = panel.drawn.get("groups", 1)
    if groups == 1:
        return ""
    bands = ", and bands run from the lowest to the highest" if panel.drawn["low"] else ""
    return f" Lines are means over the {groups} groups of channels of a layer{bands}."


def _short(column: Any) -> list[float]:
    return [float(f"{value:.4g}") for value in column]


def _responses(run: Run, learned: LearnedKernels, data: NodeData) -> tuple[Response, ...]:
    """The response of the model's kernels, one for each group of channels.

    In- and out-neighbours have no frequencies in common, so there is none where they are apart, nor
    where the graph has no edges.
    """
    kernels = learned.kernels
    if not kernels or kernels[0].position.direction or not data.graph.num_edges:
        return ()
    spectrum, note = spectrum_with_note(data.graph)
    graph, readout, kind = graph_name(run.plan.data_name), readout_of(run.plan), kind_of(run.plan)
    responses = []
    for group in dict.fromkeys(kernel.position.group for kernel in kernels):
        scalars = tuple(
            kernel.low_pass / 2 if kind == "beta" else kernel.scalar
            for kernel in kernels
            if kernel.position.group == group
        )
        name = f"group {group}" if group else graph
        responses.append(Response(name, scalars, readout, spectrum, note, kind, name))
    return tuple(responses)
