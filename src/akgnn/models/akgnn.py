"""AKGNN: the network of "Adaptive Kernel Graph Neural Network" (AAAI 2022)."""

from collections.abc import Sequence
from functools import partial
from itertools import chain, islice, pairwise
from typing import cast, final

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.ak_conv import AKConv, Form
from akgnn.layers.dropout import Dropout, mask_keys
from akgnn.layers.linear import Linear, multiply
from akgnn.layers.norms import InputNorm
from akgnn.models.adaptive_network import Activation, AdaptiveNetwork, AKGNNSettings, Drawing
from akgnn.ops.adaptive_chain import adaptive_chain
from akgnn.ops.divided import shift
from akgnn.ops.dropout import Noise
from akgnn.ops.inputs import Normalisation, Weight
from akgnn.ops.rows import at_channels, remembering
from akgnn.ops.slices import for_all_channels
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
        initialisation: Drawing = "glorot_normal",
        transform_bias: bool = True,
        learn_lambda: bool = True,
        share_weights: bool = True,
        recompute: bool = False,
        channels_at_once: int = 0,
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
            return self._chain(h, graph, noise, self._layer_weights(graph))
        return self.readout.reduce(self._propagate(h, graph, edge_weight, noise))

    def transformed(self, x: Tensor | CSR) -> Tensor:
        """X W* in evaluation mode: what the first non-linearity is given."""
        return cast(Tensor, self.transforms[0](self._inputs(x)))

    def _embed_at(
        self,
        x: Tensor | CSR,
        graph: Graph | Tensor,
        edge_weight: Tensor | None,
        noise: Noise | None,
        nodes: Tensor | None,
    ) -> Tensor:
        """READOUT(H^(1), …, H^(K)) of this process's channels; a few at a time, if so set."""
        settings, own = self.settings, self._own_channels
        if not isinstance(graph, Graph) or (own is None and not settings.channels_at_once):
            return super()._embed_at(x, graph, edge_weight, noise, nodes)
        own = slice(0, settings.hidden_channels) if own is None else own
        width = settings.channels_at_once or own.stop - own.start
        slices = [
            slice(first, min(first + width, own.stop))
            for first in range(own.start, own.stop, width)
        ]
        weights = self._layer_weights(graph)

        def embedded(part: slice) -> Tensor:
            h = self._sliced(x, graph, noise, weights, part)
            return h if nodes is None else h.index_select(-2, nodes)

        if not (settings.channels_at_once and torch.is_grad_enabled()):
            return torch.cat([embedded(part) for part in slices], dim=-1)
        # Nothing but what comes out is kept for the backward pass.
        again = partial(checkpoint, use_reentrant=False, preserve_rng_state=False)
        return torch.cat([again(remembering(embedded), part) for part in slices], dim=-1)

    def _sliced(
        self,
        x: Tensor | CSR,
        graph: Graph,
        noise: Noise | None,
        weights: Sequence[Sequence[Weight]],
        part: slice,
    ) -> Tensor:
        """READOUT(H^(1), …, H^(K)) of some channels; `weights` of each layer are for all groups."""
        settings, transform = self.settings, cast(Linear, self.transforms[0])
        h = multiply(self.drop_input(x, noise), transform.weight[..., part])
        if transform.bias is not None:
            h = shift(h, transform.bias[..., part].unsqueeze(-2).to(h.dtype))
        if settings.groups > 1:
            each = settings.hidden_channels // settings.groups
            groups = slice(part.start // each, part.stop // each)
            weights = [
                [w[..., groups] if isinstance(w, Tensor) else w for w in layer] for layer in weights
            ]
        with at_channels(part.start, settings.hidden_channels):
            h = self.drop_transform(self.activate(h), noise)
            return self._chain(h, graph, noise, weights)

    @property
    def channel_dimensions(self) -> dict[str, int]:
        """Parameters that have numbers of each channel, and the dimension that counts channels."""
        names = {"transforms.0.weight": -1, "transforms.0.bias": -1, "classifier.0.weight": -2}
        known = dict(self.named_parameters())
        return {name: dimension for name, dimension in names.items() if name in known}

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

    def _layer_weights(self, graph: Graph) -> list[tuple[Weight, ...]]:
        """What each layer weighs a node and its neighbours with."""
        weights = [cast(AKConv, layer).weights(graph) for layer in self.layers]
        served = iter(for_all_channels(list(chain.from_iterable(weights))))
        return [tuple(islice(served, len(layer))) for layer in weights]

    def _chain(
        self, h: Tensor, graph: Graph, noise: Noise | None, weights: Sequence[Sequence[Weight]]
    ) -> Tensor:
        """READOUT(H^(1), …, H^(K)) in one operation, where nothing but dropout is in between."""
        settings, readout = self.settings, self.readout.chain
        assert readout is not None
        return adaptive_chain(
            graph,
            h,
            weights,
            readout=readout,
            rate=settings.layer_dropout,
            keys=mask_keys([cast(Dropout, drop) for drop in self.drop_layers], noise),
            normalisation=cast(Normalisation, settings.normalisation),
            recompute=settings.recompute,
        )
