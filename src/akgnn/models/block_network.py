"""GCN, GraphSAGE and GAT in blocks, with a residual and a normalisation around each layer."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Literal, cast, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.graph import Graph
from akgnn.layers.blocks import Blocks, Propagate
from akgnn.layers.dropout import Dropout, DropoutKey, noise_in
from akgnn.layers.linear import Linear
from akgnn.layers.norms import Norm
from akgnn.layers.readouts import find_readout
from akgnn.models.gcn import GCNSettings
from akgnn.models.pyg_models import (
    GATSettings,
    GraphSAGESettings,
    global_noise,
    pyg_layer,
    take_out,
)
from akgnn.ops.adaptive import adaptive_propagate, neighbour_mean
from akgnn.ops.dropout import Noise
from akgnn.ops.inputs import as_graph
from akgnn.settings import Settings, count, needs, rate, takes

ModelForm = Literal["published", "blocks"]


@dataclass(frozen=True, kw_only=True)
class BlockSettings(Settings):
    """What a baseline that can be built in blocks has beside its published settings.

    Attributes:
        form: The network as it was published, or `blocks`, which the other settings here are for.
        num_layers: Number of layers; GraphSAGE and GAT have two as they were published.
        norm: What every block normalises: each channel over the nodes (`batch`), each node over its
            channels (`layer`), each node to length 1 (`length`), or nothing.
        residual: Whether every block adds a linear map of its input to what it propagates.
        input_transform: Whether a linear map comes before the first block.
        input_dropout: Rate on the features; what leaves a block has the rate `dropout`.
        readout: How the outputs of all blocks become one for the classifier; a name in `READOUTS`.
    """

    form: ModelForm = "published"
    num_layers: int = needs(count(2, most=1000), form=("blocks",))
    norm: Norm = needs("none", form=("blocks",))
    residual: bool = needs(True, form=("blocks",))
    input_transform: bool = needs(False, form=("blocks",))
    input_dropout: float = needs(rate(0.0), form=("blocks",))
    readout: str = needs("last", form=("blocks",))

    def __post_init__(self) -> None:
        super().__post_init__()
        find_readout(self.readout)


class BlockNetwork(Blocks):
    """Blocks around a published layer, a readout over them, and a linear classifier.

    From "Classic GNNs are Strong Baselines" (NeurIPS 2024), where the readout is the last block or
    the sum. A final class sets `settings`, and then calls `_add_parts`.
    """

    settings: BlockSettings

    @abstractmethod
    def _propagation(self, graph: Graph, noise: Noise | None) -> Propagate:
        """What the blocks do on a graph with their transformed signals."""

    def _add_parts(
        self,
        in_channels: int,
        width: int,
        out_channels: int,
        dropout: float,
        generator: torch.Generator | None,
    ) -> None:
        """Add blocks of this width, the classifier and the dropouts.

        The public code of that paper has PyTorch's linear layers as residuals and classifier.
        """
        settings = self.settings
        small = partial(Linear, initialisation="uniform", generator=generator)
        self._add_blocks(
            in_channels,
            width,
            partial(Linear, generator=generator),
            num_layers=settings.num_layers,
            norm=settings.norm,
            residual=settings.residual,
            input_transform=settings.input_transform,
            residual_map=small,
        )
        readout = find_readout(settings.readout)
        self.classifier = small(readout.width(settings.num_layers, width), out_channels)
        self.drop_input = Dropout(settings.input_dropout, DropoutKey.LAYER_INPUT)
        self.drop_first = Dropout(dropout, DropoutKey.LAYER_INPUT + 1)
        self.drops = nn.ModuleList(
            Dropout(dropout, DropoutKey.LAYER_INPUT + 2 + k) for k in range(settings.num_layers)
        )

    @property
    def has_relu(self) -> bool:
        """Whether σ is relu."""
        return True

    def activate(self, h: Tensor) -> Tensor:
        """The non-linearity σ."""
        return F.relu(h)

    def forward(self, x: Tensor | CSR, graph: Graph | Tensor, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes)."""
        graph, noise = as_graph(graph, x), noise_in(self, noise)
        h = self._first(self.drop_input(x, noise))
        if self.settings.input_transform:
            h = self.drop_first(h, noise)
        outputs = self._blocks(h, self._propagation(graph, noise), self.drops, noise)
        out: Tensor = self.classifier(find_readout(self.settings.readout).reduce(outputs))
        return out


@dataclass(frozen=True, kw_only=True)
class BlockGCNSettings(BlockSettings, GCNSettings):
    """Settings of GCN, in either form."""

    num_layers: int = count(2, most=1000)
    bias: bool = needs(True, form=("published",))


@final
@takes(BlockGCNSettings)
class BlockGCN(BlockNetwork):
    """GCN in blocks: H^(k) = relu(norm(Â H^(k-1) W_k + H^(k-1) U_k)), dropped.

    It is the model `gcn` with `form="blocks"`.
    """

    is_stackable = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 2,
        dropout: float = 0.5,
        norm: Norm = "none",
        residual: bool = True,
        input_transform: bool = False,
        input_dropout: float = 0.0,
        readout: str = "last",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.settings = BlockGCNSettings.of_call({**locals(), "form": "blocks"})
        self._add_parts(in_channels, hidden_channels, out_channels, dropout, generator)

    def _propagation(self, graph: Graph, noise: Noise | None) -> Propagate:
        return lambda k, h: adaptive_propagate(graph, h, 1.0)


@dataclass(frozen=True, kw_only=True)
class BlockGraphSAGESettings(BlockSettings, GraphSAGESettings):
    """Settings of GraphSAGE, in either form."""

    first_fan_out: int = needs(count(25), form=("published",))
    second_fan_out: int = needs(count(10), form=("published",))


@final
@takes(BlockGraphSAGESettings)
class BlockGraphSAGE(BlockNetwork):
    """GraphSAGE in blocks: H^(k) = relu(norm(D^-1 A H^(k-1) W_k + H^(k-1) U_k)), dropped.

    The mean is over all neighbours, none are sampled; U_k, the residual, is what GraphSAGE's own
    layer has for the node itself. It is the model `graphsage` with `form="blocks"`.
    """

    is_stackable = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 2,
        dropout: float = 0.5,
        norm: Norm = "none",
        residual: bool = True,
        input_transform: bool = False,
        input_dropout: float = 0.0,
        readout: str = "last",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.settings = BlockGraphSAGESettings.of_call({**locals(), "form": "blocks"})
        self._add_parts(in_channels, hidden_channels, out_channels, dropout, generator)

    def _propagation(self, graph: Graph, noise: Noise | None) -> Propagate:
        return lambda k, h: neighbour_mean(graph, h)


@dataclass(frozen=True, kw_only=True)
class BlockGATSettings(BlockSettings, GATSettings):
    """Settings of GAT, in either form; blocks are `hidden_channels` · `heads` wide."""

    output_heads: int = needs(count(1, most=1_000_000), form=("published",))


@final
@takes(BlockGATSettings)
class BlockGAT(BlockNetwork):
    """GAT in blocks: H^(k) = relu(norm(α_k(H^(k-1) W_k) + H^(k-1) U_k)), dropped.

    α_k is attention over neighbours and the node itself, its heads concatenated. It is the model
    `gat` with `form="blocks"`.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        heads: int = 8,
        dropout: float = 0.6,
        attention_dropout: float = 0.6,
        num_layers: int = 2,
        norm: Norm = "none",
        residual: bool = True,
        input_transform: bool = False,
        input_dropout: float = 0.0,
        readout: str = "last",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.settings = BlockGATSettings.of_call({**locals(), "form": "blocks"})
        self._add_parts(in_channels, hidden_channels * heads, out_channels, dropout, generator)
        self.layers = nn.ModuleList(
            _attention(hidden_channels, heads, attention_dropout, generator)
            for _ in range(num_layers)
        )

    def _propagation(self, graph: Graph, noise: Noise | None) -> Propagate:
        edge_index = graph.edge_index
        itself = torch.arange(graph.num_nodes, device=edge_index.device).expand(2, -1)
        edge_index = torch.cat([edge_index, itself], dim=1)

        def attend(k: int, h: Tensor) -> Tensor:
            with global_noise(noise, DropoutKey.BLOCK_ATTENTION + k):
                return cast(Tensor, self.layers[k](h, edge_index))

        return attend


def _attention(
    channels: int, heads: int, dropout: float, generator: torch.Generator | None
) -> nn.Module:
    """PyG's attention without its linear map, which is the block's transform, nor a bias."""
    options = {"heads": heads, "dropout": dropout, "bias": False, "add_self_loops": False}
    layer = pyg_layer("GATConv", 1, channels, generator=generator, **options)
    take_out(layer, "lin")
    return layer
