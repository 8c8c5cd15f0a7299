"""The kernels of a trained model, one by one: scalar, share of neighbours, filter, response."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from akgnn.data.homophily import Homophily
from akgnn.data.node_data import NodeData
from akgnn.errors import CheckpointError
from akgnn.layers.ak_conv import AKConv
from akgnn.layers.kernels import KERNELS, Kernel
from akgnn.report.words import words_of
from akgnn.training.kernel_places import Place, places_of_layer
from akgnn.training.run import RunResult

FREQUENCIES = (0.0, 0.5, 1.0, 1.5, 2.0)


@dataclass(frozen=True)
class LearnedKernel:
    """One scalar and what it makes of a signal.

    Attributes:
        place: Layer, way and group.
        kernel: Its name.
        symbol: How its scalar is written.
        scalar: λ or τ.
        lambda_max: λ; None for a kernel without.
        neighbour_share: What it takes from neighbours, from -1 to 1; None where it is not known
            or the graph has no edges.
        all_pass: Weight of the all-pass filter.
        low_pass: Weight of the low-pass filter; their sizes add up to 2.
        response: What it multiplies each of `FREQUENCIES` by.
    """

    place: Place
    kernel: str
    symbol: str
    scalar: float
    lambda_max: float | None
    neighbour_share: float | None
    all_pass: float
    low_pass: float
    response: tuple[float, ...]


@dataclass(frozen=True)
class LearnedKernels:
    """All kernels of a run, with what they amount to.

    Attributes:
        kernels: Layer by layer; empty for a model without.
        homophily: Of the edges between training nodes; None without the data.
        words: Sentences.
    """

    kernels: tuple[LearnedKernel, ...]
    homophily: Homophily | None
    words: tuple[str, ...]


def learned_kernels(run: RunResult, model: nn.Module, data: NodeData | None) -> LearnedKernels:
    """The kernels of a finished run; without the data, their shares are those of its record."""
    layers = [module for module in model.modules() if isinstance(module, AKConv)]
    places = [place for number, layer in enumerate(layers, 1) for place in _places(number, layer)]
    num_edges = run.data["num_edges"]
    shares = _shares(run, layers, len(places), data) if num_edges else []
    homophily = None if data is None else data.train_homophily
    return LearnedKernels(
        tuple(_kernels(layers, places, shares or [None] * len(places))),
        homophily,
        tuple(words_of(places, shares, homophily, num_edges=num_edges)),
    )


def kernel_name(kernel: Kernel) -> str:
    """The name that settings know it by, or that of its class."""
    names = (name for name, known in KERNELS.items() if known is kernel)
    return next(names, type(kernel).__name__)


def _places(number: int, layer: AKConv) -> list[Place]:
    is_directed = layer.normalisation == "directed"
    return places_of_layer(number, is_directed=is_directed, groups=layer.groups)


@torch.no_grad()
def _shares(
    run: RunResult, layers: Sequence[AKConv], expected: int, data: NodeData | None
) -> list[float]:
    """The share of each place; empty for a run from before they were kept, without its data."""
    if data is not None:
        return [v for layer in layers for v in layer.neighbour_share(data.graph).view(-1).tolist()]
    kept = list(run.fit.neighbour_share)
    if kept and (len(kept) != expected or any(map(math.isnan, kept))):
        raise CheckpointError("The record is damaged: its neighbour shares do not fit the model.")
    return kept


@torch.no_grad()
def _kernels(
    layers: Sequence[AKConv], places: Sequence[Place], shares: Sequence[float | None]
) -> Iterator[LearnedKernel]:
    frequencies = torch.tensor(FREQUENCIES)
    phis = [(layer.kernel, phi) for layer in layers for phi in layer.phi.view(-1)]
    for place, share, (kernel, phi) in zip(places, shares, phis, strict=True):
        all_pass, low_pass = kernel.filter_weights(phi)
        lambda_max = kernel.lambda_max(phi)
        yield LearnedKernel(
            place,
            kernel_name(kernel),
            kernel.symbol,
            float(kernel.scalar(phi)),
            None if lambda_max is None else float(lambda_max),
            share,
            float(all_pass),
            float(low_pass),
            tuple(kernel.frequency_response(phi, frequencies).tolist()),
        )
