"""The frequency response of a learned stack of kernels, beside the graph's own spectrum."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from akgnn.errors import AkgnnError, GraphError
from akgnn.experiments.results import CellResult
from akgnn.experiments.spec import shown_name
from akgnn.explain.signals import adjacency_of, normalised
from akgnn.graph import Graph
from akgnn.layers.kernels import PaperKernel, SignedKernel, SmoothKernel, find_kernel
from akgnn.layers.readouts import find_readout
from akgnn.models.adaptive_network import AKGNNSettings
from akgnn.models.scalars import positions_of, scalars_of
from akgnn.report.panels import mean_by_place, mean_lambda
from akgnn.runs.plan import RunPlan

Readout = Literal["mean", "mean-with-input", "last"]
Kind = Literal["lambda", "tau", "beta"]
# Up to here all eigenvalues are computed: 4000 nodes take some ten seconds on one core.
MOST_NODES = 4000
# Above so many entries a spectrum would take minutes. The trace of a matrix of n rows has from v
# vectors an error of the size of 1 / √(n v), and this many moments still tell the bins apart.
_MANY_ENTRIES, _FEW_MOMENTS = 2_000_000, 240
# Odd, so that one bin has its middle at 1, where many graphs have most of their frequencies.
_BINS = 81


@dataclass(frozen=True)
class Spectrum:
    """How many of a graph's frequencies lie where between 0 and 2, as a histogram.

    A frequency μ is an eigenvalue of the normalised Laplacian I - D^-1/2 A D^-1/2. An isolated node
    has μ = 0: every kernel leaves it as it is.

    Attributes:
        edges: Where the bins begin and end, from 0 to 2, all of one width.
        share: Part of all frequencies in each bin; adds up to 1.
        is_exact: Whether all frequencies were computed, or their density estimated.
    """

    edges: tuple[float, ...]
    share: tuple[float, ...]
    is_exact: bool


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
        graph: The graph, where the name says more; else the name.
    """

    name: str
    scalars: tuple[float, ...]
    readout: Readout
    spectrum: Spectrum | None
    note: str
    kind: Kind = "lambda"
    graph: str = ""

    def drawn(self) -> dict[str, Any]:
        """What the script needs, beside the spectrum, which several may share."""
        return {
            "name": self.name,
            "graph": self.graph or self.name,
            self.kind: list(self.scalars),
            "readout": self.readout,
            "note": self.note,
        }

    def shares(self) -> list[float]:
        """The shares of the spectrum for the script; empty where there is none."""
        return [round(value, 5) for value in self.spectrum.share] if self.spectrum else []


def responses_of(results: Sequence[CellResult], data_root: Path | None) -> list[Response]:
    """The learned stacks of every graph, one of λ and one of τ where both were measured.

    Each is that of a preset as it stands, the paper's before others, where there is one, else the
    one of the most layers. Rows that choose among others have no stack of their own.
    """
    found: dict[str, dict[Kind, list[CellResult]]] = {}
    for result in results:
        if not result.cell.among and mean_scalars(result):
            kinds = found.setdefault(result.cell.dataset, {})
            kinds.setdefault(kind_of(result.cell.template), []).append(result)
    responses = []
    for kinds in found.values():
        plan = next(iter(kinds.values()))[0].cell.plan(0)
        spectrum, note = spectrum_with_note(plan, data_root)
        for kind, here in kinds.items():
            best = max(here, key=_priority)
            graph = shown_name(best.cell.dataset)
            name = f"{graph}, {_SYMBOLS[kind]}" if len(kinds) > 1 else graph
            scalars, readout = tuple(mean_scalars(best)), readout_of(best.cell.template)
            responses.append(Response(name, scalars, readout, spectrum, note, kind, graph))
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


def spectrum_of(graph: Graph, *, bins: int = _BINS, most_nodes: int = MOST_NODES) -> Spectrum:
    """The spectrum of an undirected graph; a directed one counts with both directions."""
    if graph.has_negative_weights:
        raise GraphError("Negative edge weights leave no frequencies between 0 and 2.")
    adjacency = adjacency_of(graph)
    # A 1 on the diagonal where a node is isolated.
    isolated: NDArray[np.float64] = (np.asarray(adjacency.sum(1)) == 0).astype(np.float64)
    matrix = sparse.csr_array(normalised(adjacency) + sparse.diags_array(isolated))
    edges = np.linspace(0, 2, bins + 1)
    is_exact = graph.num_nodes <= most_nodes
    share = exact_shares(matrix, edges) if is_exact else _affordable_shares(matrix, edges)
    return Spectrum(tuple(edges.tolist()), tuple(share.tolist()), is_exact)


def _affordable_shares(
    matrix: "sparse.csr_array[np.float64]", edges: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Estimated shares; of a large graph from fewer vectors, of which it needs fewer."""
    if matrix.nnz <= _MANY_ENTRIES:
        return estimated_shares(matrix, edges)
    return estimated_shares(matrix, edges, moments=_FEW_MOMENTS, vectors=1)


def exact_shares(
    matrix: "sparse.csr_array[np.float64]", edges: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Shares of the frequencies by bin, from all eigenvalues of D^-1/2 A D^-1/2."""
    frequencies = 1 - np.linalg.eigvalsh(matrix.toarray())
    # Rounding may leave 0 and 2 just outside, and many graphs have a frequency on an edge.
    counts, _ = np.histogram(np.clip(np.round(frequencies, 9), 0, 2), edges)
    return counts / matrix.shape[0]


def estimated_shares(
    matrix: "sparse.csr_array[np.float64]",
    edges: NDArray[np.float64],
    *,
    moments: int = 600,
    vectors: int = 16,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Shares of the frequencies by bin, by the kernel polynomial method.

    The density of the eigenvalues x = 1 - μ of D^-1/2 A D^-1/2, which lie in [-1, 1], is

        ρ(x) = (g_0 m_0 + 2 Σ_n g_n m_n T_n(x)) / (π √(1 - x²)),    m_n = trace(T_n) / N,

    with Chebyshev's polynomials T_n and Jackson's factors g_n, which damp the ripples of a finite
    sum. The traces are means of zᵀ T_n z over random z of ±1 (Hutchinson). With x = cos θ the
    integral over a bin has a closed form. Weiße et al., "The kernel polynomial method", 2006.
    A single frequency is smeared over about π / moments.
    """
    damped = jackson(moments) * _moments(matrix, moments, vectors, np.random.default_rng(seed))
    angle = np.arccos(np.clip(1 - edges, -1, 1))
    order = np.arange(1, moments)
    below = damped[0] * angle / np.pi
    below += 2 / np.pi * np.sin(np.outer(angle, order)) @ (damped[1:] / order)
    share = np.clip(np.diff(below), 0, None)
    normalised: NDArray[np.float64] = share / share.sum()
    return normalised


def jackson(moments: int) -> NDArray[np.float64]:
    """Jackson's damping factors, which fall from g_0 = 1 towards 0."""
    n, q = np.arange(moments), np.pi / (moments + 1)
    rising = (moments - n + 1) * np.cos(q * n) + np.sin(q * n) / np.tan(q)
    factors: NDArray[np.float64] = rising / (moments + 1)
    return factors


def _moments(
    matrix: "sparse.csr_array[np.float64]", moments: int, vectors: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Estimates of trace(T_n(matrix)) / N by T_{n+1} = 2 x T_n - T_{n-1}.

    Two moments a product: T_{2n} = 2 T_n² - 1 and T_{2n+1} = 2 T_{n+1} T_n - x.
    """
    start = rng.choice([-1.0, 1.0], size=(matrix.shape[0], vectors))
    before, now = start, matrix @ start
    first = float((start * now).mean())
    found = [1.0, first]
    while len(found) < moments:
        found.append(2 * float((now * now).mean()) - 1)
        before, now = now, 2 * (matrix @ now) - before
        found.append(2 * float((now * before).mean()) - first)
    return np.array(found[:moments])
