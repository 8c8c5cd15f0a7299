"""The frequency response of a learned stack of kernels, beside the graph's own spectrum."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from akgnn.data.catalogue import graph_name
from akgnn.errors import AkgnnError
from akgnn.experiments.results import CellResult
from akgnn.graph import Graph
from akgnn.report.lambda_figure import mean_lambda
from akgnn.report.spectrum import Spectrum, spectrum_of
from akgnn.training.plan import RunPlan

Readout = Literal["mean", "mean-with-input", "last"]


@dataclass(frozen=True)
class Response:
    """A stack of kernels on one graph.

    Attributes:
        name: Of the graph.
        lambda_max: λ of each layer.
        readout: `mean` over the layers, which the sum is up to a factor; the same with what enters
            the first; or the `last` alone.
        spectrum: Of the graph; None where it could not be had.
        note: Why there is no spectrum, or how it was made.
    """

    name: str
    lambda_max: tuple[float, ...]
    readout: Readout
    spectrum: Spectrum | None
    note: str

    def drawn(self) -> dict[str, Any]:
        """What the script needs."""
        spectrum = self.spectrum
        return {
            "name": self.name,
            "lambda": list(self.lambda_max),
            "readout": self.readout,
            "note": self.note,
            "edges": list(spectrum.edges) if spectrum else [],
            "share": [round(value, 6) for value in spectrum.share] if spectrum else [],
        }


def responses_of(results: Sequence[CellResult], data_root: Path | None) -> list[Response]:
    """The learned stack of every graph.

    It is that of a preset as it stands, the paper's before others, where there is one, else the one
    of the most layers.
    """
    found = []
    for dataset in dict.fromkeys(result.cell.dataset for result in results):
        here = [r for r in results if r.cell.dataset == dataset and mean_lambda(r)]
        if here:
            best = max(here, key=_priority)
            found.append(_response(best, data_root))
    return found


def _priority(result: CellResult) -> tuple[bool, bool, int]:
    plan = result.cell.template
    is_preset = RunPlan.make(plan.which) == plan
    return is_preset, plan.which.preset == "paper", len(mean_lambda(result))


def _response(result: CellResult, data_root: Path | None) -> Response:
    cell = result.cell
    spectrum, note = _spectrum_of_plan(cell.plan(0), data_root)
    return Response(
        graph_name(cell.dataset),
        tuple(mean_lambda(result)),
        readout_of(cell.template),
        spectrum,
        note,
    )


def readout_of(plan: RunPlan) -> Readout:
    """How the model's layers become one, as far as a frequency response can tell."""
    settings = plan.preset.model
    if getattr(settings, "readout", "sum") == "last":
        return "last"
    first = getattr(settings, "order", "transform-first") == "propagate-first"
    return "mean-with-input" if first else "mean"


def spectrum_with_note(graph: Graph) -> tuple[Spectrum | None, str]:
    """The spectrum and how it was made, or why there is none."""
    try:
        spectrum = spectrum_of(graph)
    except AkgnnError as error:
        return None, f"No spectrum: {error}"
    how = "all frequencies computed" if spectrum.is_exact else "density estimated from moments"
    return spectrum, f"{graph.num_nodes} nodes, {how}."


def _spectrum_of_plan(plan: RunPlan, data_root: Path | None) -> tuple[Spectrum | None, str]:
    try:
        graph = plan.load(data_root).graph
    except AkgnnError as error:
        return None, f"No spectrum: {error}"
    return spectrum_with_note(graph)
