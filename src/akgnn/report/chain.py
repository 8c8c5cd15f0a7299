"""A trained AKGNN as the numbers with which a page can run it.

After its shared transform AKGNN is linear up to the classifier, so what has to be in the page is
the signal that enters the layers, the graph, one scalar a layer and group, and the classifier.
Where the readout is a weighted sum of signals and layers have one scalar each, the first matrix of
the classifier goes in front of the layers, which leaves fewer channels:

    READOUT(H^(1), …, H^(K)) W = READOUT(H^(1) W, …, H^(K) W),   H^(k) W = A*_k (H^(k-1) W)

The page runs it by `assets/atlas-model.js`; `chain_scores` is the same here.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.graph import Graph
from akgnn.layers.ak_conv import AKConv
from akgnn.layers.kernels import Kernel, LambdaKernel, SignedKernel
from akgnn.layers.linear import Linear
from akgnn.layers.norms import BatchNorm
from akgnn.layers.readouts import find_readout
from akgnn.models.adaptive_network import AdaptiveNetwork
from akgnn.models.akgnn import AKGNN
from akgnn.models.akgnn_grand import AKGNNGrand
from akgnn.ops.adaptive import adaptive_propagate
from akgnn.ops.inputs import Normalisation
from akgnn.report.response import Kind
from akgnn.training.ensemble import Ensemble

_READOUTS = ("sum", "mean", "last", "max", "concat")
# Numbers of the signal that enters the layers; more would take a page too long.
MOST_NUMBERS = 2_500_000

Scalars = Sequence[Sequence[float]]
"""A row for each layer with a number for each group of channels."""


@dataclass(frozen=True)
class HeadLayer:
    """A layer of the classifier; without a weight what enters it has been multiplied already."""

    weight: Tensor | None
    bias: Tensor


@dataclass(frozen=True)
class Source:
    """What the signal of a chain is made of: σ(before) weight.

    Attributes:
        before: What the non-linearity is given, shape (nodes, channels).
        weight: Of the classifier, where that goes in front of the layers.
        rank: In how many directions `before` can vary.
    """

    before: Tensor
    weight: Tensor | None
    rank: int


@dataclass(frozen=True)
class Chain:
    """What a page needs to run a model.

    Attributes:
        kind: How scalars become weights: the self-loop weighs λ - 1 and an edge 1; or 1 and
            τ / mean degree; or 1 - |β| and β / mean degree, for every other kernel.
        follows_degree: Whether that mean degree changes when an edge is taken out.
        scalars: As learned, a row for each layer with a number for each group of channels.
        form: Symmetric or by row.
        readout: Name of the readout.
        reads_input: Whether what enters the layers is among what is read out.
        signal: What enters the layers, shape (nodes, channels).
        head: What comes after the readout, with a non-linearity between two layers.
        slope: Of the non-linearity below 0.
        source: What the signal is made of, where that varies in fewer directions, no more than
            there are features.
    """

    kind: Kind
    follows_degree: bool
    scalars: tuple[tuple[float, ...], ...]
    form: Normalisation
    readout: str
    reads_input: bool
    signal: Tensor
    head: tuple[HeadLayer, ...]
    slope: float
    source: Source | None = None

    @property
    def carried(self) -> Tensor:
        """What a page carries of the signal, shape (nodes, channels before or after)."""
        return self.signal if self.source is None else self.source.before

    @property
    def rank(self) -> int:
        """In how many directions that can vary."""
        return self.signal.size(1) if self.source is None else self.source.rank

    def signal_of(self, carried: Tensor) -> Tensor:
        """The signal of what a page carries."""
        if self.source is None:
            return carried
        h = F.leaky_relu(carried, self.slope)
        return h if self.source.weight is None else h @ self.source.weight.to(h)


@torch.no_grad()
def chain_of(model: nn.Module, data: NodeData) -> Chain | str:
    """The model as numbers, or one sentence on why a page cannot run it."""
    why = _obstacle(model, data)
    if why:
        return why
    assert isinstance(model, AdaptiveNetwork)
    layers = [layer for layer in model.layers if isinstance(layer, AKConv)]
    kind, follows_degree = kind_of_kernel(layers[0].kernel, layers[0].phi, data.graph.mean_degree)
    if kind is None:
        return "Its kernel follows the mean degree in a way of its own, which the page cannot."
    signal, head, weight = _folded(model, data)
    if signal.numel() > MOST_NUMBERS:
        return f"It has {signal.size(1)} channels a node, too many numbers for a page."
    if not bool(signal.isfinite().all()):
        return "What enters its layers is not finite."
    settings = model.settings
    return Chain(
        kind=kind,
        follows_degree=follows_degree,
        scalars=tuple(_scalars(layer, kind, data) for layer in layers),
        form="sym" if settings.normalisation == "sym" else "row",
        readout=settings.readout,
        reads_input=isinstance(model, AKGNNGrand),
        signal=signal,
        head=tuple(head),
        slope=0.0 if settings.activation == "relu" else 0.01,
        source=Source(model.transformed(data.x), weight, data.num_features)
        if isinstance(model, AKGNN) and data.num_features < signal.size(1)
        else None,
    )


@torch.no_grad()
def chain_scores(chain: Chain, graph: Graph, scalars: Scalars, signal: Tensor) -> Tensor:
    """Class scores by the formula of the page, shape (nodes, classes).

    Args:
        chain: The model; its own signal is not looked at.
        graph: The graph.
        scalars: What takes the place of the learned ones; infinite for a limit.
        signal: What enters the layers, of the shape and meaning of the chain's.
    """
    h, signals = signal, [signal]
    for layer in scalars:
        pairs = [_weights(chain.kind, scalar, graph.mean_degree) for scalar in layer]
        own, others = torch.tensor(pairs, dtype=h.dtype).T
        h = adaptive_propagate(graph, h, own, others, normalisation=chain.form)
        signals.append(h)
    h = find_readout(chain.readout).reduce(signals if chain.reads_input else signals[1:])
    for number, each in enumerate(chain.head):
        h = F.leaky_relu(h, chain.slope) if number else h
        h = (h if each.weight is None else h @ each.weight.to(h)) + each.bias.to(h)
    return h


def _weights(kind: Kind, scalar: float, mean_degree: float) -> tuple[float, float]:
    """The weight of a node itself and that of an edge."""
    if kind == "lambda":
        return (scalar - 1, 1.0) if math.isfinite(scalar) else (1.0, 0.0)
    if kind == "tau":
        finite = math.isfinite(scalar)
        return (1.0, scalar / mean_degree) if finite else (0.0, math.copysign(1.0, scalar))
    return 1 - abs(scalar), scalar / mean_degree


def _obstacle(model: nn.Module, data: NodeData) -> str:
    """Why a page cannot run this model; empty where nothing forbids it."""
    if isinstance(model, Ensemble):
        return "This is an ensemble of several models."
    if not isinstance(model, AdaptiveNetwork):
        return "This model has no kernels with a scalar."
    if not isinstance(model, AKGNN | AKGNNGrand):
        return "This model has a transform of its own in every layer, so it is no linear chain."
    settings = model.settings
    reasons = {
        "Every layer has its own matrix and non-linearity, so it is no linear chain.": (
            not settings.share_weights
        ),
        "It tells in- and out-neighbours apart.": settings.normalisation == "directed",
        f"The page does not know its readout, {settings.readout}.": (
            settings.readout not in _READOUTS
        ),
        "Its features are propagated before the transform, and its readout is no sum.": (
            isinstance(model, AKGNNGrand) and not model.readout.is_linear
        ),
        "It sees the labels of training nodes, each of which is hidden while it is predicted.": (
            data.has_label_inputs
        ),
        "The graph has no edges, so they change nothing.": data.graph.num_edges == 0,
    }
    return next((why for why, applies in reasons.items() if applies), "")


def kind_of_kernel(kernel: Kernel, phi: Tensor, mean_degree: float) -> tuple[Kind | None, bool]:
    """How a kernel's weights are to be computed, and whether they follow the mean degree.

    Only the ratio of the two weights matters. That of a kernel of one's own is looked at for two
    mean degrees: it stays, or it falls as they grow, or it is nothing that a page knows.
    """
    if isinstance(kernel, LambdaKernel):
        return "lambda", False
    if isinstance(kernel, SignedKernel):
        return "tau", True
    phi = phi.detach().double().view(-1)
    (a, w), (b, v) = (
        [torch.as_tensor(x, dtype=torch.float64) for x in kernel.weights(phi, degree)]
        for degree in (mean_degree, 2 * mean_degree)
    )
    if torch.allclose(w * b, v * a):
        return "beta", False
    return ("beta", True) if torch.allclose(w * b, 2 * v * a) else (None, False)


def _scalars(layer: AKConv, kind: Kind, data: NodeData) -> tuple[float, ...]:
    values = layer.neighbour_share(data.graph) if kind == "beta" else layer.scalar
    return tuple(values.detach().view(-1).tolist())


def _folded(
    model: AdaptiveNetwork, data: NodeData
) -> tuple[Tensor, list[HeadLayer], Tensor | None]:
    """What enters the layers, what comes after the readout, and what of that went in front."""
    folded = None
    signal = model.signals(data.x, data.graph)[0].double()
    classifier = [_pair(linear) for linear in cast(Sequence[Linear], model.classifier)]
    if isinstance(model, AKGNNGrand):
        bias = _transform_bias(model)
        weight, last = classifier[0]
        if isinstance(model.norms[1], BatchNorm):
            scale, shift = (t.double() for t in model.norms[1].fixed)
            classifier[0] = scale[:, None] * weight, shift @ weight + last
        head = [HeadLayer(None, bias)]
    elif model.readout.is_linear and model.settings.groups == 1:
        weight, bias = classifier.pop(0)
        signal, head, folded = signal @ weight, [HeadLayer(None, bias)], weight.float()
    else:
        head = []
    return signal.float(), head + [HeadLayer(w.float(), b) for w, b in classifier], folded


def _pair(linear: Linear) -> tuple[Tensor, Tensor]:
    weight = linear.weight.double()
    bias = weight.new_zeros(weight.size(1)) if linear.bias is None else linear.bias.double()
    return weight, bias


def _transform_bias(model: AKGNNGrand) -> Tensor:
    """What is added to the propagated product, with the normalisation in front of the transform."""
    weight, bias = _pair(cast(Any, model.transforms[0]))
    norm = model.norms[0]
    return norm.fixed[1].double() @ weight + bias if isinstance(norm, BatchNorm) else bias
