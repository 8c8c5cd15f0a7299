"""AKGNN: the network of "Adaptive Kernel Graph Neural Network" (AAAI 2022)."""

from dataclasses import dataclass
from typing import Any, Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.errors import SettingsError
from akgnn.graph import Graph
from akgnn.layers.ak_conv import AKConv, Form
from akgnn.layers.batch_norm import BatchNorm
from akgnn.layers.dropout import Dropout, keys_of
from akgnn.layers.kernels import Start, find_kernel
from akgnn.layers.linear import Initialisation, Linear, multiply
from akgnn.layers.node_dropout import NodeDropout
from akgnn.ops.adaptive_chain import adaptive_chain, added_up
from akgnn.ops.composed import Normalisation, Readout
from akgnn.ops.dropout import Noise
from akgnn.settings import Settings, count, rate

# The places where values are dropped; layer k has the number _LAYERS + k, and so on.
_INPUT, _TRANSFORM, _NODES, _LAYERS, _CLASSIFIER = 0, 1, 2, 1_000, 1_000_000

# What goes through all layers before the next part: little enough to stay in a processor's cache,
# channels enough to be worth the way through the graph.
_NUMBERS_AT_ONCE, _FEWEST_CHANNELS = 2**20, 64


@dataclass(frozen=True, kw_only=True)
class AKGNNSettings(Settings):
    """Settings of AKGNN; the defaults are the paper's.

    Attributes:
        hidden_channels: Width of the hidden signals, d^(K).
        num_layers: Number K of propagation layers.
        order: Whether the transform comes before the propagation, as in the paper, or after it,
            as in GRAND.
        node_dropout: Rate at which whole nodes are dropped from the features.
        input_dropout: Rate on what enters the transform.
        transform_dropout: Rate on what leaves the transform.
        layer_dropout: Rate on H^(1) … H^(K), after each propagation.
        classifier_dropout: Rate on what enters each layer of the classifier.
        batch_norm: Whether what enters and leaves a transform that comes last is normalised over
            the nodes.
        readout: How H^(1) … H^(K) become one; `last` leaves the readout out. Where propagation
            comes first, the features are among them as H^(0).
        kernel: How a layer weighs a node against its neighbours; a name in `KERNELS`.
        kernel_start: Where the kernel's scalar starts, λ or τ; the kernel's own start if None.
        groups: Scalars a layer, each for its own equal part of the channels.
        normalisation: Symmetric, as in the paper; by row; or by row with in- and out-neighbours
            apart, for directed graphs.
        classifier_layers: Depth of the classifier.
        activation: The non-linearity after the transform.
        initialisation: Of the weight matrices.
        transform_bias: Whether the transform X W* has a bias.
        learn_lambda: False fixes the kernel at its start, which is λ = 2 for the paper's.
        recompute: Whether the backward pass computes most of H^(1) … H^(K) again instead of keeping
            them, for less memory and more time; the results are the same. It needs one shared
            transform before the layers and the readout sum, mean or last.
        share_weights: False gives each layer its own weight matrix and non-linearity instead of
            the one shared transform (the paper's parameterisation trick).
    """

    hidden_channels: int = count(64, most=1_000_000)
    num_layers: int = count(5, most=1000)
    order: Literal["transform-first", "propagate-first"] = "transform-first"
    node_dropout: float = rate(0.0)
    input_dropout: float = rate(0.6)
    transform_dropout: float = rate(0.6)
    layer_dropout: float = rate(0.6)
    classifier_dropout: float = rate(0.6)
    batch_norm: bool = False
    readout: Literal["sum", "mean", "max", "concat", "last"] = "sum"
    kernel: str = "paper"
    kernel_start: float | None = None
    groups: int = count(1, most=1_000_000)
    normalisation: Form = "sym"
    classifier_layers: int = count(1, most=1000)
    activation: Literal["relu", "leaky_relu"] = "relu"
    initialisation: Initialisation = "glorot_normal"
    transform_bias: bool = True
    learn_lambda: bool = True
    share_weights: bool = True
    recompute: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order == "propagate-first" and not self.share_weights:
            raise SettingsError(
                "order='propagate-first' has one transform, after all layers; "
                "share_weights=False, one for each layer, needs order='transform-first'."
            )
        find_kernel(self.kernel)
        if self.groups > 1 and self.order == "propagate-first":
            # There the channels are the features, which no group of hidden channels follows.
            raise SettingsError("groups above 1 need order='transform-first'.")
        if self.hidden_channels % self.groups:
            raise SettingsError(
                f"hidden_channels={self.hidden_channels} cannot be shared out evenly among "
                f"groups={self.groups}."
            )
        if self.batch_norm and self.order == "transform-first":
            raise SettingsError("batch_norm needs order='propagate-first'.")
        if self.recompute and not self.is_chain:
            raise SettingsError(
                "recompute needs order='transform-first', share_weights=True, readout sum, mean or "
                "last, and a normalisation other than 'directed'."
            )

    @property
    def is_chain(self) -> bool:
        """Whether nothing but dropout and a sum is between the transform and the classifier."""
        return (
            self.order == "transform-first"
            and self.share_weights
            and self.readout in ("sum", "mean", "last")
            and self.normalisation != "directed"
        )


class AKGNN(nn.Module):
    """A shared transform, K adaptive propagations, a sum over layers, a classifier.

    Equations 8 and 9 of the paper:

        H^(0) = σ(X W*)
        H^(k) = A*_k H^(k-1)
        Y = softmax(f_MLP(READOUT(H^(1), …, H^(K))))

    where A*_k is the kernel of layer k (see `AKConv`). With `order="propagate-first"` the same
    steps stand in GRAND's order ("Graph Random Neural Networks for Semi-Supervised Learning on
    Graphs", NeurIPS 2020), whose kernel is the one with every λ = 2:

        H^(0) = X
        H^(k) = A*_k H^(k-1)
        Y = softmax(f_MLP(σ(READOUT(H^(0), …, H^(K)) W*)))

    Args:
        in_channels: Number of features.
        hidden_channels: Width of the hidden signals.
        out_channels: Number of classes.
        generator: Source of the initial weights.
        options: The other fields of `AKGNNSettings`.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        generator: torch.Generator | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        settings = AKGNNSettings.from_mapping({"hidden_channels": hidden_channels, **options})
        self.settings = settings

        def linear(inputs: int, outputs: int, *, bias: bool = True) -> Linear:
            return Linear(
                inputs,
                outputs,
                bias=bias,
                initialisation=settings.initialisation,
                generator=generator,
            )

        propagates_first = settings.order == "propagate-first"
        signals = settings.num_layers + propagates_first
        joined = signals if settings.readout == "concat" else 1
        width = in_channels * joined if propagates_first else in_channels
        transforms = 1 if settings.share_weights else settings.num_layers
        self.transforms = nn.ModuleList(
            linear(hidden_channels if k else width, hidden_channels, bias=settings.transform_bias)
            for k in range(transforms)
        )
        self.norms = nn.ModuleList(
            BatchNorm(size) if settings.batch_norm else nn.Identity()
            for size in (width, hidden_channels)
        )
        self.layers = nn.ModuleList(
            AKConv(
                kernel=settings.kernel,
                start=settings.kernel_start,
                learn=settings.learn_lambda,
                groups=settings.groups,
                normalisation=settings.normalisation,
            )
            for _ in range(settings.num_layers)
        )
        width = hidden_channels if propagates_first else hidden_channels * joined
        depth = settings.classifier_layers
        self.classifier = nn.ModuleList(
            linear(
                hidden_channels if k else width, hidden_channels if k < depth - 1 else out_channels
            )
            for k in range(depth)
        )

        self.drop_nodes = NodeDropout(settings.node_dropout, _NODES)
        self.drop_input = Dropout(settings.input_dropout, _INPUT)
        self.drop_transform = Dropout(settings.transform_dropout, _TRANSFORM)
        self.drop_layers = nn.ModuleList(
            Dropout(settings.layer_dropout, _LAYERS + k) for k in range(settings.num_layers)
        )
        self.drop_classifier = nn.ModuleList(
            Dropout(settings.classifier_dropout, _CLASSIFIER + k) for k in range(depth)
        )

    @property
    def lambda_max(self) -> Tensor | None:
        """λ of every layer, shape (K,), or (K, ways, groups); None for a kernel without.

        Of several replicas, one such block each.
        """
        layers = [cast(AKConv, layer) for layer in self.layers]
        known = [value for value in (layer.lambda_max for layer in layers) if value is not None]
        return torch.stack(known, dim=layers[0].phi_by_way.dim() - 2) if known else None

    @property
    def kernel_starts(self) -> tuple[Start, ...]:
        """The starts that the kernel is best trained from; none where the settings name one."""
        settings = self.settings
        if settings.kernel_start is not None or not settings.learn_lambda:
            return ()
        return find_kernel(settings.kernel).learning.starts

    def restart(self, start: Start, graph: Graph) -> None:
        """Put the scalars of all layers to a start."""
        for module in self.layers:
            layer = cast(AKConv, module)
            scalar = start.scalar
            layer.restart(layer.kernel.gcn(graph.mean_degree) if scalar == "gcn" else scalar)

    def neighbour_share(self, graph: Graph) -> Tensor:
        """What each layer takes from neighbours, from -1 to 1; shape (K, ways · groups)."""
        layers = [cast(AKConv, layer) for layer in self.layers]
        first = layers[0]
        phi = torch.stack([layer.phi_by_way for layer in layers], dim=-3)
        return first.shares(phi, graph).flatten(-2)

    def signals(self, x: Tensor | CSR, graph: Graph | Tensor) -> list[Tensor]:
        """H^(0) … H^(K) in evaluation: what enters the layers, and what each makes of it.

        Where propagation comes first and nothing but linear maps follows, they are shown after the
        transform's matrix, which has fewer channels than the features.
        """
        x, transform = self.drop_nodes(x, None), cast(Linear, self.transforms[0])
        if self.settings.order == "transform-first":
            h = transform(x)
            h = self._activate(h) if self.settings.share_weights else h
        elif self._commutes(None):
            h = multiply(x, self._folded_transform()[0])
        else:
            h = x.to_dense(transform.weight.dtype) if isinstance(x, CSR) else x
        return [h, *self._propagate(h, graph, None)]

    def forward(self, x: Tensor | CSR, graph: Graph | Tensor, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes).

        Args:
            x: Features, dense or sparse, one row a node.
            graph: The graph, or PyG's `edge_index`, from which every layer builds it anew.
            noise: Seed and step of the dropout masks; needed in training mode.
        """
        return self.classify(self.embed(x, graph, noise), noise)

    def embed(self, x: Tensor | CSR, graph: Graph | Tensor, noise: Noise | None = None) -> Tensor:
        """What the classifier sees: the readout, or its transform where that comes last."""
        x = self.drop_nodes(x, noise)
        if self.settings.order == "propagate-first":
            return self._propagate_first(x, graph, noise)
        h = self.transforms[0](self.drop_input(x, noise))
        if self.settings.share_weights:
            h = self.drop_transform(self._activate(h), noise)
        if self.settings.is_chain and isinstance(graph, Graph):
            return self._chain(h, graph, noise)
        return self._read_out(self._propagate(h, graph, noise))

    def _chain(self, h: Tensor, graph: Graph, noise: Noise | None) -> Tensor:
        """READOUT(H^(1), …, H^(K)) in one operation."""
        settings = self.settings
        drops = [cast(Dropout, drop) for drop in self.drop_layers]
        return adaptive_chain(
            graph,
            h,
            [cast(AKConv, layer).weights(graph) for layer in self.layers],
            readout=cast(Readout, settings.readout),
            rate=settings.layer_dropout,
            keys=keys_of(drops, noise),
            normalisation=cast(Normalisation, settings.normalisation),
            recompute=settings.recompute,
        )

    def _propagate(self, h: Tensor, graph: Graph | Tensor, noise: Noise | None) -> list[Tensor]:
        """H^(1) … H^(K)."""
        trick = self.settings.share_weights
        outputs = []
        for k, (layer, drop) in enumerate(zip(self.layers, self.drop_layers, strict=True)):
            if not trick and k > 0:
                h = self.transforms[k](h)
            h = layer(h, graph)
            h = drop(h if trick else self._activate(h), noise)
            outputs.append(h)
        return outputs

    def _propagate_first(
        self, x: Tensor | CSR, graph: Graph | Tensor, noise: Noise | None
    ) -> Tensor:
        """The transform of the readout over H^(0) … H^(K)."""
        transform = cast(Linear, self.transforms[0])
        if self._commutes(noise):
            # The same with the product X W* first: fewer channels to propagate.
            weight, bias = self._folded_transform()
            h = multiply(self.drop_input(x, noise), weight)
            h = self._mix(h, graph, noise) + bias
        else:
            h = x.to_dense(transform.weight.dtype) if isinstance(x, CSR) else x
            if transform.weight.dim() > h.dim():
                # Features that all replicas share: each propagates its own.
                h = h.expand(len(transform.weight), -1, -1)
            h = self._mix(h, graph, noise)
            h = transform(self.drop_input(self.norms[0](h), noise))
        h = self.norms[1](self._activate(h))
        return cast(Tensor, self.drop_transform(h, noise))

    def _mix(self, h: Tensor, graph: Graph | Tensor, noise: Noise | None) -> Tensor:
        """READOUT(H^(0), …, H^(K)) with H^(0) = h, on a processor some channels at a time."""
        settings = self.settings
        is_whole = h.device.type != "cpu" or settings.readout == "concat" or settings.layer_dropout
        if is_whole or torch.compiler.is_exporting():
            return self._read_out([h, *self._propagate(h, graph, noise)])
        width = max(_FEWEST_CHANNELS, _NUMBERS_AT_ONCE // h.shape[:-1].numel())
        parts = [part.contiguous() for part in h.split(width, dim=-1)]
        mixed = [self._read_out([part, *self._propagate(part, graph, noise)]) for part in parts]
        return torch.cat(mixed, dim=-1)

    def _commutes(self, noise: Noise | None) -> bool:
        """Whether nothing but linear maps lies between the features and the transform."""
        settings = self.settings
        drops = noise is not None and max(settings.input_dropout, settings.layer_dropout) > 0
        normalises = settings.batch_norm and self.training
        return settings.readout in ("sum", "mean", "last") and not (drops or normalises)

    def _folded_transform(self) -> tuple[Tensor, Tensor | float]:
        """Weight and bias of the transform with the fixed normalisation in front of it."""
        linear, norm = cast(Linear, self.transforms[0]), self.norms[0]
        bias: Tensor | float = 0.0 if linear.bias is None else linear.bias.unsqueeze(-2)
        if not isinstance(norm, BatchNorm):
            return linear.weight, bias
        scale, shift = norm.fixed
        return scale.unsqueeze(-1) * linear.weight, shift.unsqueeze(-2) @ linear.weight + bias

    def classify(self, h: Tensor, noise: Noise | None = None) -> Tensor:
        """Class scores from what `embed` gives."""
        for k, (linear, drop) in enumerate(zip(self.classifier, self.drop_classifier, strict=True)):
            h = linear(drop(self._activate(h) if k else h, noise))
        return h

    def _read_out(self, outputs: list[Tensor]) -> Tensor:
        match self.settings.readout:
            case "sum":
                return added_up(outputs)
            case "mean":
                return added_up(outputs) / len(outputs)
            case "max":
                return torch.stack(outputs).amax(0)
            case "concat":
                return torch.cat(outputs, dim=-1)
            case "last":
                return outputs[-1]

    def _activate(self, h: Tensor) -> Tensor:
        return F.relu(h) if self.settings.activation == "relu" else F.leaky_relu(h)
