"""AKGNN: the network of "Adaptive Kernel Graph Neural Network" (AAAI 2022)."""

from itertools import pairwise
from typing import cast, final

import torch
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.ak_conv import AKConv, Form
from akgnn.layers.dropout import Dropout, mask_keys
from akgnn.layers.linear import Initialisation
from akgnn.layers.norms import InputNorm
from akgnn.models.adaptive_network import Activation, AdaptiveNetwork, AKGNNSettings
from akgnn.ops.adaptive_chain import adaptive_chain
from akgnn.ops.dropout import Noise
from akgnn.ops.inputs import Normalisation
from akgnn.settings import takes


@final
@takes(AKGNNSettings)
class AKGNN(AdaptiveNetwork):
    """A shared transform, K adaptive propagations, a readout over layers, a classifier.

    Equations 8 and 9 of the paper:

        H^(0) = σ(X W*)
        H^(k) = A*_k H^(k-1)
        Y = softmax(f_MLP(READOUT(H^(1), …, H^(K))))

    where A*_k is the kernel of layer k (see `AKConv`). `embed` is all up to READOUT, `classify` is
    f_MLP, and `forward` is both. The same steps with the propagation first are `AKGNNGrand`.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 5,
        input_norm: InputNorm = "none",
        node_dropout: float = 0.0,
        input_dropout: float = 0.6,
        transform_dropout: float = 0.6,
        layer_dropout: float = 0.6,
        classifier_dropout: float = 0.6,
        readout: str = "sum",
        kernel: str = "paper",
        kernel_start: float | None = None,
        groups: int = 1,
        normalisation: Form = "sym",
        classifier_layers: int = 1,
        activation: Activation = "relu",
        initialisation: Initialisation = "glorot_normal",
        transform_bias: bool = True,
        learn_lambda: bool = True,
        share_weights: bool = True,
        recompute: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.settings = AKGNNSettings.of_call(locals())
        widths = [in_channels, *[hidden_channels] * (1 if share_weights else num_layers)]
        self.transforms = nn.ModuleList(
            self._linear(*pair, generator=generator, bias=transform_bias)
            for pair in pairwise(widths)
        )
        self._add_layers(self.readout.width(num_layers, hidden_channels), out_channels, generator)

    def _embed(
        self,
        x: Tensor | CSR,
        graph: Graph | Tensor,
        edge_weight: Tensor | None,
        noise: Noise | None,
    ) -> Tensor:
        """READOUT(H^(1), …, H^(K))."""
        h = self.transforms[0](self.drop_input(x, noise))
        if self.settings.share_weights:
            h = self.drop_transform(self.activate(h), noise)
        if self.settings.is_chain and isinstance(graph, Graph):
            return self._chain(h, graph, noise)
        return self.readout.reduce(self._propagate(h, graph, edge_weight, noise))

    def transformed(self, x: Tensor | CSR) -> Tensor:
        """X W* in evaluation mode: what the first non-linearity is given."""
        return cast(Tensor, self.transforms[0](self._inputs(x)))

    def signals(self, x: Tensor | CSR, graph: Graph | Tensor) -> list[Tensor]:
        """H^(0) … H^(K) in evaluation mode: what enters the layers, and what each makes."""
        graph, _ = self._edges(graph, None, x)
        h = self.transformed(x)
        h = self.activate(h) if self.settings.share_weights else h
        return [h, *self._propagate(h, graph, None, None)]

    def _propagate(
        self, h: Tensor, graph: Graph | Tensor, edge_weight: Tensor | None, noise: Noise | None
    ) -> list[Tensor]:
        """H^(1) … H^(K); with matrices of their own, layers have non-linearities of their own."""
        shares = self.settings.share_weights
        outputs = []
        for k, (layer, drop) in enumerate(zip(self.layers, self.drop_layers, strict=True)):
            if not shares and k > 0:
                h = self.transforms[k](h)
            h = layer(h, graph, edge_weight)
            h = drop(h if shares else self.activate(h), noise)
            outputs.append(h)
        return outputs

    def _chain(self, h: Tensor, graph: Graph, noise: Noise | None) -> Tensor:
        """READOUT(H^(1), …, H^(K)) in one operation, where nothing but dropout is in between."""
        settings, chain = self.settings, self.readout.chain
        assert chain is not None
        return adaptive_chain(
            graph,
            h,
            [cast(AKConv, layer).weights(graph) for layer in self.layers],
            readout=chain,
            rate=settings.layer_dropout,
            keys=mask_keys([cast(Dropout, drop) for drop in self.drop_layers], noise),
            normalisation=cast(Normalisation, settings.normalisation),
            recompute=settings.recompute,
        )
