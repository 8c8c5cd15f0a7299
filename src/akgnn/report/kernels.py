"""The kernels of a trained model, one by one: scalar, share of neighbours, filter, response."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from akgnn.data.node_data import Homophily, NodeData
from akgnn.errors import CheckpointError
from akgnn.layers.ak_conv import AKConv
from akgnn.layers.kernels import KERNELS, Kernel
from akgnn.models.akgnn_deep import DeepAKGNN
from akgnn.models.scalars import Position, positions_of_layer
from akgnn.report.words import words_of
from akgnn.runs.run import Run
from akgnn.training.ensemble import first_member

FREQUENCIES = (0.0, 0.5, 1.0, 1.5, 2.0)
_RESIDUAL = (
    "Beside its kernel each block has a linear map of a node's own signal, so the kernel alone "
    "does not say how much of that is kept."
)


@dataclass(frozen=True)
class LearnedKernel:
    """One scalar and what it makes of a signal.

    Attributes:
        symbol: How its scalar is written.
        lambda_max: λ; None for a kernel without.
        neighbour_share: What it takes from neighbours, from -1 to 1; None where it is not known
            or the graph has no edges.
        all_pass: Weight of the all-pass filter.
        low_pass: Weight of the low-pass filter; their sizes add up to 2.
        response: What it multiplies each of `FREQUENCIES` by.
    """

    position: Position
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
    """All kernels of a run, layer by layer, and sentences about what they amount to.

    `homophily` is that of the edges between training nodes; None without the data.
    """

    kernels: tuple[LearnedKernel, ...]
    homophily: Homophily | None
    words: tuple[str, ...]


def learned_kernels(run: Run, model: nn.Module, data: NodeData | None) -> LearnedKernels:
    """The kernels of a finished run; without the data, their shares are those of its record.

    Of an ensemble they are those of its first member.
    """
    model = first_member(model)
    layers = [module for module in model.modules() if isinstance(module, AKConv)]
    positions = [
        position
        for number, layer in enumerate(layers, 1)
        for position in positions_of_layer(
            number, is_directed=layer.normalisation == "directed", groups=layer.groups
        )
    ]
    num_edges = run.facts.num_edges
    shares = _shares(run, layers, len(positions), data) if num_edges else []
    homophily = None if data is None else data.train_homophily
    has_residual = isinstance(model, DeepAKGNN) and model.settings.residual
    return LearnedKernels(
        tuple(_kernels(layers, positions, shares or [None] * len(positions))),
        homophily,
        (
            *words_of(positions, shares, homophily, num_edges=num_edges),
            *([_RESIDUAL] if has_residual else []),
        ),
    )


def kernel_name(kernel: Kernel) -> str:
    """The name that settings know it by, or that of its class."""
    names = (name for name, known in KERNELS.items() if known is kernel)
    return next(names, type(kernel).__name__)


@torch.no_grad()
def _shares(
    run: Run, layers: Sequence[AKConv], expected: int, data: NodeData | None
) -> list[float]:
    """The share of each position; empty for a run from before they were kept, without its data."""
    if data is not None:
        return [v for layer in layers for v in layer.neighbour_share(data.graph).view(-1).tolist()]
    kept = list(run.result.neighbour_share)
    if kept and (len(kept) != expected or any(map(math.isnan, kept))):
        raise CheckpointError("The record is damaged: its neighbour shares do not fit the model.")
    return kept


@torch.no_grad()
def _kernels(
    layers: Sequence[AKConv], positions: Sequence[Position], shares: Sequence[float | None]
) -> Iterator[LearnedKernel]:
    frequencies = torch.tensor(FREQUENCIES)
    phis = [(layer.kernel, phi) for layer in layers for phi in layer.phi.view(-1)]
    for position, share, (kernel, phi) in zip(positions, shares, phis, strict=True):
        all_pass, low_pass = kernel.filter_weights(phi)
        lambda_max = kernel.lambda_max(phi)
        yield LearnedKernel(
            position,
            kernel_name(kernel),
            kernel.symbol,
            float(kernel.scalar(phi)),
            None if lambda_max is None else float(lambda_max),
            share,
            float(all_pass),
            float(low_pass),
            tuple(kernel.frequency_response(phi, frequencies).tolist()),
        )
