"""HopAKGNN: AKGNN with a transform for each hop, as in FSGNN."""

from typing import final

import torch
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.ak_conv import Form
from akgnn.layers.norms import InputNorm, rows_to_length_1
from akgnn.models.adaptive_network import Activation, AdaptiveNetwork, AKGNNSettings, Drawing
from akgnn.ops.dropout import Noise
from akgnn.settings import takes


@final
@takes(AKGNNSettings)
class HopAKGNN(AdaptiveNetwork):
    """K adaptive propagations of the features, a transform for each hop, a readout, a classifier.

    The readout of "Simplifying approach to node classification in graph neural networks" (FSGNN,
    2022) over adaptive kernels: the features are a hop of their own, each hop has its own matrix,
    is scaled to rows of length 1, and has a learned share of the whole.

        H^(0) = X
        H^(k) = A*_k H^(k-1)
        Z^(k) = softmax(β)_k · H^(k) W_k / ‖H^(k) W_k‖
        Y = softmax(f_MLP(σ(READOUT(Z^(0), …, Z^(K)))))

    It is the model `akgnn` with `order="hops"`.
    """

    # The weights of hops sum over nodes by themselves.
    is_divisible = False

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
        layer_dropout: float = 0.6,
        classifier_dropout: float = 0.6,
        readout: str = "sum",
        kernel: str = "paper",
        kernel_start: float | None = None,
        normalisation: Form = "sym",
        classifier_layers: int = 1,
        activation: Activation = "relu",
        initialisation: Drawing = "glorot_normal",
        transform_bias: bool = True,
        learn_lambda: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.settings = AKGNNSettings.of_call({**locals(), "order": "hops"})
        hops = num_layers + 1
        self.transforms = nn.ModuleList(
            self._linear(in_channels, hidden_channels, generator=generator, bias=transform_bias)
            for _ in range(hops)
        )
        self.hop_weights = nn.Parameter(torch.ones(hops))
        self._add_layers(self.readout.width(hops, hidden_channels), out_channels, generator)

    def _embed(
        self,
        x: Tensor | CSR,
        graph: Graph | Tensor,
        edge_weight: Tensor | None,
        noise: Noise | None,
    ) -> Tensor:
        """σ(READOUT(Z^(0), …, Z^(K)))."""
        shares = self.hop_weights.softmax(-1).unsqueeze(-1).unsqueeze(-1)
        mapped = [
            shares[..., k, :, :] * rows_to_length_1(transform(self.drop_input(h, noise)))
            for k, (transform, h) in enumerate(
                zip(self.transforms, self._hops(x, graph, edge_weight, noise), strict=True)
            )
        ]
        return self.activate(self.readout.reduce(mapped))

    def signals(self, x: Tensor | CSR, graph: Graph | Tensor) -> list[Tensor]:
        """H^(0) … H^(K) in evaluation mode: the features, and what each propagation makes."""
        graph, _ = self._edges(graph, None, x)
        hops = self._hops(self._inputs(x), graph, None, None)
        return [self._dense(h) for h in hops]

    def _hops(
        self,
        x: Tensor | CSR,
        graph: Graph | Tensor,
        edge_weight: Tensor | None,
        noise: Noise | None,
    ) -> list[Tensor | CSR]:
        """H^(0), sparse as it came, then H^(1) … H^(K)."""
        hops: list[Tensor | CSR] = [x]
        h = self._dense(x)
        for layer, drop in zip(self.layers, self.drop_layers, strict=True):
            h = drop(layer(h, graph, edge_weight), noise)
            hops.append(h)
        return hops
