"""AKGNNGrand: AKGNN's steps in GRAND's order, the propagation before the transform."""

from typing import cast, final

import torch
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.ak_conv import Form
from akgnn.layers.linear import Linear, multiply
from akgnn.layers.norms import BatchNorm, InputNorm
from akgnn.models.adaptive_network import Activation, AdaptiveNetwork, AKGNNSettings, Drawing
from akgnn.ops.divided import shift
from akgnn.ops.dropout import Noise
from akgnn.settings import takes

# What goes through all layers before the next part: little enough to stay in a CPU's cache,
# channels enough to be worth the pass over the graph.
_NUMBERS_AT_ONCE, _FEWEST_CHANNELS = 2**20, 64


@final
@takes(AKGNNSettings)
class AKGNNGrand(AdaptiveNetwork):
    """K adaptive propagations of the features, a readout, a transform, a classifier.

    The steps of `AKGNN` in the order of "Graph Random Neural Networks for Semi-Supervised Learning
    on Graphs" (GRAND, NeurIPS 2020), whose kernel is the one with every λ = 2:

        H^(0) = X
        H^(k) = A*_k H^(k-1)
        Y = softmax(f_MLP(σ(READOUT(H^(0), …, H^(K)) W*)))

    It is the model `akgnn` with `order="propagate-first"`.
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
        batch_norm: bool = False,
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
        self.settings = AKGNNSettings.of_call({**locals(), "order": "propagate-first"})
        # The features are among the signals, as H^(0).
        width = self.readout.width(num_layers + 1, in_channels)
        transform = self._linear(width, hidden_channels, generator=generator, bias=transform_bias)
        self.transforms = nn.ModuleList([transform])
        self.norms = nn.ModuleList(
            BatchNorm(size) if batch_norm else nn.Identity() for size in (width, hidden_channels)
        )
        self._add_layers(hidden_channels, out_channels, generator)

    def _embed(
        self,
        x: Tensor | CSR,
        graph: Graph | Tensor,
        edge_weight: Tensor | None,
        noise: Noise | None,
    ) -> Tensor:
        """The transform of READOUT(H^(0), …, H^(K))."""
        if self._commutes(noise):
            # The same with the product X W* first: fewer channels to propagate.
            weight, bias = self._folded_transform()
            h = multiply(self.drop_input(x, noise), weight)
            h = self._mix(h, graph, edge_weight, noise)
            h = shift(h, bias) if isinstance(bias, Tensor) else h
        else:
            h = self._mix(self._dense(x), graph, edge_weight, noise)
            h = self._transform(self.drop_input(self.norms[0](h), noise))
        h = self.norms[1](self.activate(h))
        return cast(Tensor, self.drop_transform(h, noise))

    def signals(self, x: Tensor | CSR, graph: Graph | Tensor) -> list[Tensor]:
        """H^(0) … H^(K) in evaluation mode: what enters the layers, and what each makes.

        Where nothing but linear maps follows, they are shown after the transform's matrix, which
        has fewer channels than the features.
        """
        graph, _ = self._edges(graph, None, x)
        x = self._inputs(x)
        commutes = self._commutes(None)
        h = multiply(x, self._folded_transform()[0]) if commutes else self._dense(x)
        return self._propagate(h, graph, None, None)

    @property
    def _transform(self) -> Linear:
        return cast(Linear, self.transforms[0])

    def _propagate(
        self, h: Tensor, graph: Graph | Tensor, edge_weight: Tensor | None, noise: Noise | None
    ) -> list[Tensor]:
        """H^(0) … H^(K) with H^(0) = h."""
        outputs = [h]
        for layer, drop in zip(self.layers, self.drop_layers, strict=True):
            outputs.append(drop(layer(outputs[-1], graph, edge_weight), noise))
        return outputs

    def _mix(
        self, h: Tensor, graph: Graph | Tensor, edge_weight: Tensor | None, noise: Noise | None
    ) -> Tensor:
        """READOUT(H^(0), …, H^(K)) with H^(0) = h, on a CPU some channels at a time."""
        readout = self.readout
        # A mask is drawn for the whole width.
        splits = readout.is_channelwise and not self.settings.layer_dropout
        # Processes that share a graph have other numbers of rows, but must take the same steps.
        splits = splits and (isinstance(graph, Tensor) or graph.is_whole)
        if h.device.type != "cpu" or not splits or torch.compiler.is_exporting():
            return readout.reduce(self._propagate(h, graph, edge_weight, noise))
        width = max(_FEWEST_CHANNELS, _NUMBERS_AT_ONCE // h.shape[:-1].numel())
        mixed = [
            readout.reduce(self._propagate(part.contiguous(), graph, edge_weight, noise))
            for part in h.split(width, dim=-1)
        ]
        return torch.cat(mixed, dim=-1)

    def _commutes(self, noise: Noise | None) -> bool:
        """Whether nothing but linear maps lies between the features and the transform."""
        settings = self.settings
        drops = noise is not None and max(settings.input_dropout, settings.layer_dropout) > 0
        normalises = settings.batch_norm and self.training
        return self.readout.is_linear and not (drops or normalises)

    def _folded_transform(self) -> tuple[Tensor, Tensor | float]:
        """Weight and bias of the transform with the fixed normalisation in front of it."""
        linear, norm = self._transform, self.norms[0]
        bias: Tensor | float = 0.0 if linear.bias is None else linear.bias.unsqueeze(-2)
        if not isinstance(norm, BatchNorm):
            return linear.weight, bias
        scale, offset = norm.fixed
        return scale.unsqueeze(-1) * linear.weight, offset.unsqueeze(-2) @ linear.weight + bias
