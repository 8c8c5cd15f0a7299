"""The frequency response of a learned stack of kernels, beside the graph's own spectrum."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from akgnn.errors import AkgnnError
from akgnn.experiments.results import CellResult
from akgnn.experiments.spec import shown_name
from akgnn.graph import Graph
from akgnn.layers.kernels import PaperKernel, SignedKernel, SmoothKernel, find_kernel
from akgnn.layers.readouts import find_readout
from akgnn.models.adaptive_network import AKGNNSettings
from akgnn.models.scalars import positions_of, scalars_of
from akgnn.report.panels import mean_by_place, mean_lambda
from akgnn.report.spectrum import Spectrum, spectrum_of
from akgnn.runs.plan import RunPlan

Readout = Literal["mean", "mean-with-input", "last"]
Kind = Literal["lambda", "tau", "beta"]


@dataclass(frozen=True)
class Response:
    """A stack of kernels on one graph.

    Attributes:
        name: Name of the graph.
        scalars: One a layer.
        readout: `mean` over the layers, which the sum is up to a factor; the same with what enters
            the first; or the `last` alone.
        spectrum: Spectrum of the graph; None where it could not be had.
        note: Why there is no spectrum, or how it was made.
        kind: What the scalars are, and so what a layer multiplies μ by: λ, 1 - μ/λ; τ,
            (1 + τ(1 - μ)) / (1 + |τ|); or β, half the weight of the low-pass filter, which every
            kernel has, 1 - |β| + β(1 - μ).
    """

    name: str
    scalars: tuple[float, ...]
    readout: Readout
    spectrum: Spectrum | None
    note: str
    kind: Kind = "lambda"

    def drawn(self) -> dict[str, Any]:
        """What the script needs."""
        spectrum = self.spectrum
        return {
            "name": self.name,
            self.kind: list(self.scalars),
            "readout": self.readout,
            "note": self.note,
            "edges": list(spectrum.edges) if spectrum else [],
            "share": [round(value, 6) for value in spectrum.share] if spectrum else [],
        }


def responses_of(results: Sequence[CellResult], data_root: Path | None) -> list[Response]:
    """The learned stacks of every graph, one of λ and one of τ where both were measured.

    Each is that of a preset as it stands, the paper's before others, where there is one, else the
    one of the most layers.
    """
    found: dict[str, dict[Kind, list[CellResult]]] = {}
    for result in results:
        if mean_scalars(result):
            kinds = found.setdefault(result.cell.dataset, {})
            kinds.setdefault(kind_of(result.cell.template), []).append(result)
    responses = []
    for kinds in found.values():
        plan = next(iter(kinds.values()))[0].cell.plan(0)
        spectrum, note = spectrum_with_note(plan, data_root)
        for kind, here in kinds.items():
            best = max(here, key=_priority)
            name = shown_name(best.cell.dataset) + (f", {_SYMBOLS[kind]}" if len(kinds) > 1 else "")
            scalars, readout = tuple(mean_scalars(best)), readout_of(best.cell.template)
            responses.append(Response(name, scalars, readout, spectrum, note, kind))
    return responses


_SYMBOLS: dict[Kind, str] = {"lambda": "λ", "tau": "τ", "beta": "β"}


def kind_of(plan: RunPlan) -> Kind:
    """What the scalars of a model's kernels are."""
    settings = plan.preset.model
    kernel = find_kernel(settings.kernel) if isinstance(settings, AKGNNSettings) else None
    if isinstance(kernel, SignedKernel):
        return "tau"
    return "lambda" if isinstance(kernel, PaperKernel | SmoothKernel | None) else "beta"


def mean_scalars(result: CellResult) -> list[float]:
    """λ of each layer, mean over the seeds, or τ at the mean share of neighbours.

    Empty for a model without kernels or with several scalars a layer, which no one curve can show.
    """
    plan = result.cell.template
    if any(position.direction or position.group for position in positions_of(plan.preset.model)):
        return []
    if kind_of(plan) == "lambda":
        return mean_lambda(result)
    shares = mean_by_place(record.neighbour_share for record in result.finished)
    return [round(value, 4) for value in scalars_of(plan.preset.model, (), shares)]


def _priority(result: CellResult) -> tuple[bool, bool, int]:
    plan = result.cell.template
    is_preset = RunPlan.make(plan.run) == plan
    return is_preset, plan.run.preset == "paper", len(mean_scalars(result))


def readout_of(plan: RunPlan) -> Readout:
    """How the model's layers become one, as far as a frequency response can tell."""
    settings = plan.preset.model
    if find_readout(getattr(settings, "readout", "sum")).chain == "last":
        return "last"
    first = getattr(settings, "order", "transform-first") == "propagate-first"
    return "mean-with-input" if first else "mean"


def spectrum_with_note(
    source: Graph | RunPlan, data_root: Path | None = None
) -> tuple[Spectrum | None, str]:
    """The spectrum of a graph or of a plan's, and how it was made, or why there is none."""
    try:
        graph = source.load(data_root).graph if isinstance(source, RunPlan) else source
        spectrum = spectrum_of(graph)
    except AkgnnError as error:
        return None, f"No spectrum: {error}"
    how = "all frequencies computed" if spectrum.is_exact else "density estimated from moments"
    return spectrum, f"{graph.num_nodes} nodes, {how}."
