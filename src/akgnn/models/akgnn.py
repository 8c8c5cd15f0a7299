"""AKGNN: the network of "Adaptive Kernel Graph Neural Network" (AAAI 2022)."""

from dataclasses import dataclass
from typing import Any, Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.ak_conv import AKConv
from akgnn.layers.dropout import Dropout
from akgnn.layers.linear import Initialisation, Linear
from akgnn.ops.adaptive import Normalisation
from akgnn.ops.dropout import Noise
from akgnn.settings import Settings, count, rate

# The places where values are dropped; layer k has the number _LAYERS + k, and so on.
_INPUT, _TRANSFORM, _LAYERS, _CLASSIFIER = 0, 1, 1_000, 1_000_000


@dataclass(frozen=True, kw_only=True)
class AKGNNSettings(Settings):
    """Settings of AKGNN; the defaults are the paper's.

    Attributes:
        hidden_channels: Width of the hidden signals, d^(K).
        num_layers: Number K of propagation layers.
        input_dropout: Rate on the features.
        transform_dropout: Rate on H^(0), after the transform.
        layer_dropout: Rate on H^(1) … H^(K), after each propagation.
        classifier_dropout: Rate on what enters each layer of the classifier.
        readout: How H^(1) … H^(K) become one; `last` leaves the readout out.
        normalisation: Symmetric, as in the paper, or by row.
        classifier_layers: Depth of the classifier.
        activation: The non-linearity after the transform.
        initialisation: Of the weight matrices.
        transform_bias: Whether the transform X W* has a bias.
        learn_lambda: False fixes λ at 2.
        smooth_lambda: λ = 1 + softplus(φ) instead of 1 + relu(φ).
        share_weights: False gives each layer its own weight matrix and non-linearity instead of
            the one shared transform (the paper's parameterisation trick).
    """

    hidden_channels: int = count(64, most=1_000_000)
    num_layers: int = count(5, most=1000)
    input_dropout: float = rate(0.6)
    transform_dropout: float = rate(0.6)
    layer_dropout: float = rate(0.6)
    classifier_dropout: float = rate(0.6)
    readout: Literal["sum", "mean", "max", "concat", "last"] = "sum"
    normalisation: Normalisation = "sym"
    classifier_layers: int = count(1, most=1000)
    activation: Literal["relu", "leaky_relu"] = "relu"
    initialisation: Initialisation = "glorot_normal"
    transform_bias: bool = True
    learn_lambda: bool = True
    smooth_lambda: bool = False
    share_weights: bool = True


class AKGNN(nn.Module):
    r"""A shared transform, K adaptive propagations, a sum over layers, a classifier.

    Equations 8 and 9 of the paper:

    .. math::
        H^{(0)} = \sigma(X W^*), \qquad H^{(k)} = A_k^* H^{(k-1)}, \qquad
        Y = \mathrm{softmax}(f_{MLP}(\mathrm{READOUT}(H^{(1)}, \dots, H^{(K)})))

    where A*_k is the kernel of layer k (see `AKConv`).

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

        transforms = 1 if settings.share_weights else settings.num_layers
        self.transforms = nn.ModuleList(
            linear(
                hidden_channels if k else in_channels, hidden_channels, bias=settings.transform_bias
            )
            for k in range(transforms)
        )
        self.layers = nn.ModuleList(
            AKConv(
                learn=settings.learn_lambda,
                smooth=settings.smooth_lambda,
                normalisation=settings.normalisation,
            )
            for _ in range(settings.num_layers)
        )
        width = hidden_channels * (settings.num_layers if settings.readout == "concat" else 1)
        depth = settings.classifier_layers
        self.classifier = nn.ModuleList(
            linear(
                hidden_channels if k else width, hidden_channels if k < depth - 1 else out_channels
            )
            for k in range(depth)
        )

        self.drop_input = Dropout(settings.input_dropout, _INPUT)
        self.drop_transform = Dropout(settings.transform_dropout, _TRANSFORM)
        self.drop_layers = nn.ModuleList(
            Dropout(settings.layer_dropout, _LAYERS + k) for k in range(settings.num_layers)
        )
        self.drop_classifier = nn.ModuleList(
            Dropout(settings.classifier_dropout, _CLASSIFIER + k) for k in range(depth)
        )

    @property
    def lambda_max(self) -> Tensor:
        """λ of every layer, shape (K,)."""
        return torch.stack([cast(AKConv, layer).lambda_max for layer in self.layers])

    def forward(self, x: Tensor | CSR, graph: Graph, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes).

        Args:
            x: Features, dense or sparse, one row a node.
            graph: The graph.
            noise: Seed and step of the dropout masks; needed in training mode.
        """
        return self.classify(self.embed(x, graph, noise), noise)

    def embed(self, x: Tensor | CSR, graph: Graph, noise: Noise | None = None) -> Tensor:
        """The readout over the propagated signals: what the classifier sees."""
        trick = self.settings.share_weights
        h = self.transforms[0](self.drop_input(x, noise))
        if trick:
            h = self.drop_transform(self._activate(h), noise)
        outputs = []
        for k, (layer, drop) in enumerate(zip(self.layers, self.drop_layers, strict=True)):
            if not trick and k > 0:
                h = self.transforms[k](h)
            h = layer(h, graph)
            h = drop(h if trick else self._activate(h), noise)
            outputs.append(h)
        return self._read_out(outputs)

    def classify(self, h: Tensor, noise: Noise | None = None) -> Tensor:
        """Class scores from what `embed` gives."""
        for k, (linear, drop) in enumerate(zip(self.classifier, self.drop_classifier, strict=True)):
            h = linear(drop(self._activate(h) if k else h, noise))
        return h

    def _read_out(self, outputs: list[Tensor]) -> Tensor:
        match self.settings.readout:
            case "sum":
                return sum(outputs[1:], start=outputs[0])
            case "mean":
                return sum(outputs[1:], start=outputs[0]) / len(outputs)
            case "max":
                return torch.stack(outputs).amax(0)
            case "concat":
                return torch.cat(outputs, dim=1)
            case "last":
                return outputs[-1]

    def _activate(self, h: Tensor) -> Tensor:
        return F.relu(h) if self.settings.activation == "relu" else F.leaky_relu(h)
