"""What all orders of AKGNN share: settings, the scalars of their kernels, and the classifier."""

from abc import ABC, abstractmethod
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from math import lcm
from typing import Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.errors import SettingsError
from akgnn.graph import Graph
from akgnn.layers.ak_conv import AKConv, Form
from akgnn.layers.dropout import Dropout, DropoutKey, NodeDropout, noise_in
from akgnn.layers.kernels import SAME_STARTS, InitialValue, find_kernel
from akgnn.layers.linear import Linear, multiply
from akgnn.layers.norms import InputNorm, Norm, rows_to_max
from akgnn.layers.readouts import Readout, find_readout
from akgnn.ops.dropout import Noise
from akgnn.ops.inputs import as_graph
from akgnn.ops.rows import at_channels, at_nodes, current_slices
from akgnn.ops.slices import channel_sum
from akgnn.settings import Settings, count, needs, rate, whole

Order = Literal["transform-first", "propagate-first", "blocks", "hops"]
Activation = Literal["relu", "leaky_relu"]
Drawing = Literal["glorot_normal", "uniform", "classic"]
CHAIN = (
    "order='transform-first', share_weights=True, readout sum, mean or last, and a normalisation "
    "other than 'directed'"
)
"""What makes layers a chain, in which no channel meets another."""


@dataclass(frozen=True, kw_only=True)
class AKGNNSettings(Settings):
    """Settings of AKGNN; the defaults are the paper's.

    Attributes:
        hidden_channels: Width of the hidden signals, d^(K).
        num_layers: Number K of propagation layers.
        order: Whether the transform comes before the propagation, as in the paper (`AKGNN`), or
            after it, as in GRAND (`AKGNNGrand`); or `hops`, after it with a transform for each
            hop, as in FSGNN (`HopAKGNN`); or `blocks`, each with a transform of its own and a
            residual around its propagation (`DeepAKGNN`).
        input_norm: `max` divides the features of each node by the largest of them: what a bag of
            words lost when its rows were divided by their sum, the number of words, is back.
        node_dropout: Rate at which whole nodes are dropped from the features.
        input_dropout: Rate on what enters the transform.
        transform_dropout: Rate on what leaves the transform.
        layer_dropout: Rate on H^(1) … H^(K), after each propagation.
        classifier_dropout: Rate on what enters each layer of the classifier.
        batch_norm: Whether what enters and leaves a transform that comes last is normalised over
            the nodes.
        readout: How H^(1) … H^(K) become one; a name in `READOUTS`. `last` leaves the readout out.
            Where propagation comes first, also by hops, the features are among them as H^(0).
        kernel: How a layer weighs a node against its neighbours; a name in `KERNELS`.
        kernel_start: Initial value of the kernel's scalar, λ or τ; the kernel's own if None.
        groups: Scalars a layer, each for its own equal part of the channels.
        normalisation: Symmetric, as in the paper; by row; or by row with in- and out-neighbours
            apart, for directed graphs.
        classifier_layers: Depth of the classifier.
        activation: The non-linearity after the transform.
        initialisation: How the weight matrices are drawn: see `Linear`. `classic` is Glorot's rule
            but for residuals and the classifier, which are `uniform`, about half as large; so the
            public code of "Classic GNNs are Strong Baselines" has it.
        transform_bias: Whether the transform X W* has a bias.
        learn_lambda: False fixes the kernel at its initial value, which is λ = 2 for the paper's.
        recompute: Whether the backward pass computes most of H^(1) … H^(K) again instead of keeping
            them, for less memory and more time; the results are the same. It needs one shared
            transform before the layers and a readout of `adaptive_chain`: sum, mean or last.
        channels_at_once: How many channels go through all layers before the next ones do, for less
            memory: signals of so many are held at a time, and computed again in the backward pass.
            0 for all. It needs what `recompute` needs, is a multiple of 4 and holds whole groups.
        share_weights: False gives each layer its own weight matrix and non-linearity instead of
            the one shared transform (the paper's parameterisation trick).
        norm: What every block normalises: each channel over the nodes (`batch`), each node over its
            channels (`layer`), each node to length 1 (`length`), or nothing.
        residual: Whether every block adds a linear map of its input to what it propagates.
        input_transform: Whether a linear map comes before the first block.
    """

    hidden_channels: int = count(64, most=1_000_000)
    num_layers: int = count(5, most=1000)
    order: Order = "transform-first"
    input_norm: InputNorm = "none"
    node_dropout: float = rate(0.0)
    input_dropout: float = rate(0.6)
    transform_dropout: float = needs(
        rate(0.6), order=("transform-first", "propagate-first"), share_weights=(True,)
    )
    layer_dropout: float = rate(0.6)
    classifier_dropout: float = rate(0.6)
    batch_norm: bool = needs(False, order=("propagate-first",))
    readout: str = "sum"
    kernel: str = "paper"
    kernel_start: float | None = None
    # In other orders channels are features, which groups of hidden channels do not follow.
    groups: int = needs(count(1, most=1_000_000), order=("transform-first", "blocks"))
    normalisation: Form = "sym"
    classifier_layers: int = count(1, most=1000)
    activation: Activation = "relu"
    initialisation: Drawing = "glorot_normal"
    transform_bias: bool = needs(True, input_transform=(True,))
    learn_lambda: bool = True
    share_weights: bool = needs(True, order=("transform-first",))
    recompute: bool = False
    channels_at_once: int = whole(0)
    norm: Norm = needs("none", order=("blocks",))
    residual: bool = needs(True, order=("blocks",))
    input_transform: bool = needs(True, order=("blocks",))

    def __post_init__(self) -> None:
        super().__post_init__()
        find_kernel(self.kernel)
        find_readout(self.readout)
        if self.hidden_channels % self.groups:
            raise SettingsError(
                f"hidden_channels={self.hidden_channels} cannot be shared out evenly among "
                f"groups={self.groups}."
            )
        if self.recompute and not self.is_chain:
            raise SettingsError(f"recompute needs {CHAIN}.")
        self._check_slices()

    def _check_slices(self) -> None:
        width = self.channels_at_once
        if not width:
            return
        if not self.is_chain:
            raise SettingsError(f"channels_at_once needs {CHAIN}.")
        if self.recompute:
            raise SettingsError(
                "channels_at_once computes signals again by itself; leave recompute out."
            )
        if width % self.channel_unit:
            raise SettingsError(
                f"channels_at_once={width} must be a multiple of 4 and hold whole groups of "
                f"{self.hidden_channels // self.groups} channels."
            )

    @property
    def channel_unit(self) -> int:
        """Channels that slices do not part: those that a word of dropout masks, and a group's."""
        return lcm(4, self.hidden_channels // self.groups if self.groups > 1 else 1)

    @property
    def is_chain(self) -> bool:
        """Whether nothing but dropout and a sum is between the transform and the classifier."""
        return (
            self.order == "transform-first"
            and self.share_weights
            and find_readout(self.readout).chain is not None
            and self.normalisation != "directed"
        )


class AdaptiveNetwork(nn.Module, ABC):
    """A network with K layers of adaptive propagation and a classifier.

    A final class sets `settings` and `transforms`, and then calls `_add_layers`.
    """

    is_stackable = True
    takes_nodes = True
    is_divisible = True
    settings: AKGNNSettings
    transforms: nn.ModuleList

    @abstractmethod
    def _embed(
        self,
        x: Tensor | CSR,
        graph: Graph | Tensor,
        edge_weight: Tensor | None,
        noise: Noise | None,
    ) -> Tensor:
        """What the classifier sees, from features whose nodes were dropped."""

    @abstractmethod
    def signals(self, x: Tensor | CSR, graph: Graph | Tensor) -> list[Tensor]:
        """H^(0) … H^(K) in evaluation mode: what enters the layers, and what each makes."""

    def embed(
        self,
        x: Tensor | CSR,
        graph: Graph | Tensor,
        noise: Noise | None = None,
        *,
        edge_weight: Tensor | None = None,
        nodes: Tensor | None = None,
    ) -> Tensor:
        """What the classifier sees, shape (nodes, channels); arguments as for `forward`."""
        noise = noise_in(self, noise)
        graph, edge_weight = self._edges(graph, edge_weight, x)
        return self._embed_at(self._inputs(x, noise), graph, edge_weight, noise, nodes)

    def _embed_at(
        self,
        x: Tensor | CSR,
        graph: Graph | Tensor,
        edge_weight: Tensor | None,
        noise: Noise | None,
        nodes: Tensor | None,
    ) -> Tensor:
        """What the classifier sees of some nodes, or of all."""
        h = self._embed(x, graph, edge_weight, noise)
        return h if nodes is None else h.index_select(-2, nodes)

    def forward(
        self,
        x: Tensor | CSR,
        graph: Graph | Tensor,
        noise: Noise | None = None,
        *,
        edge_weight: Tensor | None = None,
        nodes: Tensor | None = None,
    ) -> Tensor:
        """Class scores (logits), shape (nodes, classes).

        Args:
            x: Features, dense or sparse, one row a node.
            graph: The graph, or PyG's `edge_index`, of which a graph is built in every call.
            noise: Seed and step of the dropout masks. Without it, training draws them from torch's
                global generator and evaluation drops nothing.
            edge_weight: One number an edge of `edge_index`. A weight that learns gets a gradient.
            nodes: The nodes to classify, by their numbers, which rise; all if not given. Training
                needs the scores of labelled nodes alone, which may be few.

        Raises:
            GraphError: The graph does not fit the features or the normalisation.
            SettingsError: There is an `edge_weight` beside a `Graph`.
        """
        noise = noise_in(self, noise)
        h = self.embed(x, graph, noise, edge_weight=edge_weight, nodes=nodes)
        with nullcontext() if nodes is None else at_nodes(nodes):
            return self.classify(h, noise)

    def classify(self, h: Tensor, noise: Noise | None = None) -> Tensor:
        """Class scores from what `embed` gives."""
        noise, own = noise_in(self, noise), self._own_channels
        for k, (linear, drop) in enumerate(zip(self.classifier, self.drop_classifier, strict=True)):
            if k == 0 and own is not None:
                # Here the slices of the channels meet.
                with at_channels(own.start, self.settings.hidden_channels):
                    h = drop(h, noise)
                first = cast(Linear, linear)
                h = first.shifted(channel_sum(multiply(h, first.weight[..., own, :])))
            else:
                h = linear(drop(self.activate(h) if k else h, noise))
        return h

    @property
    def _own_channels(self) -> slice | None:
        """The channels that this process computes; None where it computes all."""
        slices, settings = current_slices(), self.settings
        return (
            None if slices is None else slices.own(settings.hidden_channels, settings.channel_unit)
        )

    @property
    def has_relu(self) -> bool:
        """Whether σ is relu."""
        return self.settings.activation == "relu"

    def activate(self, h: Tensor) -> Tensor:
        """The non-linearity σ."""
        return F.relu(h) if self.has_relu else F.leaky_relu(h)

    def _inputs(self, x: Tensor | CSR, noise: Noise | None = None) -> Tensor | CSR:
        """The features as the first layer is to see them."""
        scaled = rows_to_max(x) if self.settings.input_norm == "max" else x
        return cast(Tensor | CSR, self.drop_nodes(scaled, noise))

    def _dense(self, x: Tensor | CSR) -> Tensor:
        """Features that can be propagated; each replica propagates its own."""
        weight = cast(Tensor, self.transforms[0].weight)
        h = x.to_dense(weight.dtype) if isinstance(x, CSR) else x
        return h.expand(len(weight), -1, -1) if weight.dim() > h.dim() else h

    @property
    def readout(self) -> Readout:
        """How signals become one."""
        return find_readout(self.settings.readout)

    @property
    def lambda_max(self) -> Tensor | None:
        """λ of every layer, shape (K,), or (K, directions, groups); None for a kernel without.

        Several replicas have one such block each.
        """
        layers = self._convolutions
        values = [value for value in (layer.lambda_max for layer in layers) if value is not None]
        return torch.stack(values, dim=layers[0].phi_by_direction.dim() - 2) if values else None

    def kernel_starts(self, *, same: bool = False) -> tuple[InitialValue, ...]:
        """The initial values to train from, one after the other: the kernel's, or `SAME_STARTS`.

        There are none where the settings name one.
        """
        settings = self.settings
        if settings.kernel_start is not None or not settings.learn_lambda:
            return ()
        return SAME_STARTS if same else find_kernel(settings.kernel).learning.restarts

    def restart(self, initial: InitialValue, graph: Graph) -> None:
        """Put the scalars of all layers to an initial value."""
        for layer in self._convolutions:
            layer.restart(initial.scalar_of(layer.kernel, graph.mean_degree))

    def neighbour_share(self, graph: Graph) -> Tensor:
        """What each layer takes from neighbours, from -1 to 1; shape (K, directions · groups)."""
        layers = self._convolutions
        phi = torch.stack([layer.phi_by_direction for layer in layers], dim=-3)
        return layers[0].shares(phi, graph).flatten(-2)

    @property
    def _convolutions(self) -> list[AKConv]:
        return [cast(AKConv, layer) for layer in self.layers]

    def _linear(
        self,
        *widths: int,
        generator: torch.Generator | None,
        bias: bool = True,
        is_residual: bool = False,
    ) -> Linear:
        """A linear map from one width to another, drawn as the settings say."""
        how = self.settings.initialisation
        if how == "classic":
            how = "uniform" if is_residual else "glorot_normal"
        return Linear(*widths, bias=bias, initialisation=how, generator=generator)

    def _add_layers(
        self, in_channels: int, out_channels: int, generator: torch.Generator | None
    ) -> None:
        """Add what comes after the transforms: K layers, f_MLP of Eq. 9, and the dropouts."""
        settings = self.settings
        self.layers = nn.ModuleList(
            AKConv(
                kernel=settings.kernel,
                initial=settings.kernel_start,
                learn=settings.learn_lambda,
                groups=settings.groups,
                normalisation=settings.normalisation,
            )
            for _ in range(settings.num_layers)
        )
        between = [settings.hidden_channels] * (settings.classifier_layers - 1)
        widths = pairwise([in_channels, *between, out_channels])
        # What maps to classes is drawn as residuals are.
        self.classifier = nn.ModuleList(
            self._linear(*pair, generator=generator, is_residual=True) for pair in widths
        )
        self.drop_nodes = NodeDropout(settings.node_dropout, DropoutKey.NODES)
        self.drop_input = Dropout(settings.input_dropout, DropoutKey.INPUT)
        self.drop_transform = Dropout(settings.transform_dropout, DropoutKey.TRANSFORM)
        self.drop_layers = nn.ModuleList(
            Dropout(settings.layer_dropout, DropoutKey.LAYER + k)
            for k in range(settings.num_layers)
        )
        self.drop_classifier = nn.ModuleList(
            Dropout(settings.classifier_dropout, DropoutKey.CLASSIFIER + k)
            for k in range(settings.classifier_layers)
        )

    def _edges(
        self, graph: Graph | Tensor, edge_weight: Tensor | None, x: Tensor | CSR
    ) -> tuple[Graph | Tensor, Tensor | None]:
        """The graph of PyG's tensors, built once for all layers, or the tensors themselves.

        Layers need those where edge weights learn, and where a copy of the model for explainers
        (`akgnn.layers.explainable`) shows every message.
        """
        learns = edge_weight is not None and edge_weight.requires_grad
        shows = not all(isinstance(layer, AKConv) for layer in self.layers)
        if isinstance(graph, Tensor) and (learns or shows):
            return graph, edge_weight
        return as_graph(graph, x, edge_weight), None
