"""DeepAKGNN: AKGNN in blocks, each with its own transform, normalisation and residual."""

from typing import cast, final

import torch
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.ak_conv import Form
from akgnn.layers.linear import Initialisation
from akgnn.layers.norms import BatchNorm, LayerNorm
from akgnn.models.adaptive_network import Activation, AdaptiveNetwork, AKGNNSettings, Norm
from akgnn.ops.dropout import Noise
from akgnn.settings import takes


@final
@takes(AKGNNSettings)
class DeepAKGNN(AdaptiveNetwork):
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
        initialisation: Initialisation = "glorot_normal",
        transform_bias: bool = True,
        learn_lambda: bool = True,
        norm: Norm = "none",
        residual: bool = True,
        input_transform: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.settings = AKGNNSettings.of_call({**locals(), "order": "blocks"})
        width = hidden_channels if input_transform else in_channels
        inputs = [width, *[hidden_channels] * (num_layers - 1)]
        self.input_transform = (
            self._linear(in_channels, width, generator=generator, bias=transform_bias)
            if input_transform
            else None
        )
        # One bias a block is enough.
        self.transforms = nn.ModuleList(
            self._linear(each, hidden_channels, generator=generator, bias=not residual)
            for each in inputs
        )
        self.residuals = nn.ModuleList(
            self._linear(each, hidden_channels, generator=generator) for each in inputs if residual
        )
        self.norms = nn.ModuleList(_NORMS[norm](hidden_channels) for _ in inputs)
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
        return self.readout.reduce(self._blocks(h, graph, edge_weight, noise))

    def signals(self, x: Tensor | CSR, graph: Graph | Tensor) -> list[Tensor]:
        """H^(0) … H^(K) in evaluation mode: what enters the blocks, and what each makes."""
        graph, _ = self._edges(graph, None, x)
        h = self._first(self.drop_nodes(x))
        first = h.to_dense() if isinstance(h, CSR) else h
        return [first, *self._blocks(h, graph, None, None)]

    def _first(self, x: Tensor | CSR) -> Tensor | CSR:
        """H^(0), which without the first map is the features themselves."""
        return x if self.input_transform is None else cast(Tensor, self.input_transform(x))

    def _blocks(
        self,
        h: Tensor | CSR,
        graph: Graph | Tensor,
        edge_weight: Tensor | None,
        noise: Noise | None,
    ) -> list[Tensor]:
        """H^(1) … H^(K)."""
        outputs: list[Tensor] = []
        for k, (layer, drop) in enumerate(zip(self.layers, self.drop_layers, strict=True)):
            before = outputs[-1] if outputs else h
            mixed: Tensor = layer(self.transforms[k](before), graph, edge_weight)
            if self.settings.residual:
                mixed = mixed + self.residuals[k](before)
            outputs.append(drop(self.activate(self.norms[k](mixed)), noise))
        return outputs


_NORMS: dict[Norm, type[nn.Module]] = {
    "none": nn.Identity,
    "layer": LayerNorm,
    "batch": BatchNorm,
}
