"""DeepAKGNN: AKGNN in blocks, each with its own transform, normalisation and residual."""

from functools import partial
from typing import final

import torch
from torch import Tensor

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.ak_conv import Form
from akgnn.layers.blocks import Blocks
from akgnn.layers.norms import InputNorm, Norm
from akgnn.models.adaptive_network import Activation, AdaptiveNetwork, AKGNNSettings, Drawing
from akgnn.ops.dropout import Noise
from akgnn.settings import takes


@final
@takes(AKGNNSettings)
class DeepAKGNN(AdaptiveNetwork, Blocks):
    """A linear map, K blocks around adaptive propagations, a readout over blocks, a classifier.

        H^(0) = X W_0
        H^(k) = σ(norm(A*_k H^(k-1) W_k + H^(k-1) U_k))
        Y = softmax(f_MLP(READOUT(H^(1), …, H^(K))))

    with dropout on every H^(k). The paper's network has one shared transform, so that λ alone sets
    what a layer keeps of a node; here W_k and U_k share that task. It is the model `akgnn` with
    `order="blocks"`.
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
        layer_dropout: float = 0.6,
        classifier_dropout: float = 0.6,
        readout: str = "sum",
        kernel: str = "paper",
        kernel_start: float | None = None,
        groups: int = 1,
        normalisation: Form = "sym",
        classifier_layers: int = 1,
        activation: Activation = "relu",
        initialisation: Drawing = "glorot_normal",
        transform_bias: bool = True,
        learn_lambda: bool = True,
        norm: Norm = "none",
        residual: bool = True,
        input_transform: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.settings = AKGNNSettings.of_call({**locals(), "order": "blocks"})
        self._add_blocks(
            in_channels,
            hidden_channels,
            partial(self._linear, generator=generator),
            num_layers=num_layers,
            norm=norm,
            residual=residual,
            input_transform=input_transform,
            input_bias=transform_bias,
            residual_map=partial(self._linear, generator=generator, is_residual=True),
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
        h = self._first(self.drop_input(x, noise))
        return self.readout.reduce(self._outputs(h, graph, edge_weight, noise))

    def signals(self, x: Tensor | CSR, graph: Graph | Tensor) -> list[Tensor]:
        """H^(0) … H^(K) in evaluation mode: what enters the blocks, and what each makes."""
        graph, _ = self._edges(graph, None, x)
        h = self._first(self._inputs(x))
        first = h.to_dense() if isinstance(h, CSR) else h
        return [first, *self._outputs(h, graph, None, None)]

    def _outputs(
        self,
        h: Tensor | CSR,
        graph: Graph | Tensor,
        edge_weight: Tensor | None,
        noise: Noise | None,
    ) -> list[Tensor]:
        """H^(1) … H^(K)."""

        def propagate(k: int, transformed: Tensor) -> Tensor:
            mixed: Tensor = self.layers[k](transformed, graph, edge_weight)
            return mixed

        return self._blocks(h, propagate, self.drop_layers, noise)
