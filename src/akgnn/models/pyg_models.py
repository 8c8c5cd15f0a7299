"""GAT and GraphSAGE, on PyG's layers: imported when needed, and random only by our seeds.

PyG draws initial weights and drops values with torch's global generator. Here that generator is
seeded for the moment and put back afterwards, so that runs repeat and resume, and disturb nothing.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.errors import MissingExtraError
from akgnn.graph import Graph
from akgnn.layers.dropout import DropoutKey, input_dropouts, noise_in
from akgnn.layers.linear import multiply
from akgnn.ops.dropout import Noise
from akgnn.ops.inputs import as_graph
from akgnn.ops.sampling import sample_neighbours
from akgnn.settings import Settings, count, rate, takes


@dataclass(frozen=True, kw_only=True)
class GATSettings(Settings):
    """Settings of GAT.

    Attributes:
        hidden_channels: Width of one attention head.
        heads: Heads of the first layer, concatenated.
        output_heads: Heads of the second layer, averaged.
        dropout: Rate on the input of both layers.
        attention_dropout: Rate on the attention coefficients.
    """

    hidden_channels: int = count(8, most=1_000_000)
    heads: int = count(8, most=1_000_000)
    output_heads: int = count(1, most=1_000_000)
    dropout: float = rate(0.6)
    attention_dropout: float = rate(0.6)


@takes(GATSettings)
class GAT(nn.Module):
    """Two layers of multi-head attention over neighbours and the node itself, ELU between.

    From "Graph Attention Networks" (ICLR 2018).
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        heads: int = 8,
        output_heads: int = 1,
        dropout: float = 0.6,
        attention_dropout: float = 0.6,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.settings = GATSettings.of_call(locals())
        first, second = (in_channels, hidden_channels), (hidden_channels * heads, out_channels)
        options: dict[str, Any] = {"dropout": attention_dropout, "generator": generator}
        self.first_layer = pyg_layer("GATConv", *first, heads=heads, **options)
        self.transform = take_out(self.first_layer, "lin")
        self.second_layer = pyg_layer(
            "GATConv", *second, heads=output_heads, concat=False, **options
        )
        self.drops = input_dropouts(dropout, 2)

    def forward(self, x: Tensor | CSR, graph: Graph | Tensor, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes)."""
        edge_index, noise = as_graph(graph, x).edge_index, noise_in(self, noise)
        h = mapped(self.drops[0](x, noise), self.transform)
        with global_noise(noise, DropoutKey.ATTENTION):
            h = F.elu(self.first_layer(h, edge_index))
        h = self.drops[1](h, noise)
        with global_noise(noise, DropoutKey.ATTENTION + 1):
            out: Tensor = self.second_layer(h, edge_index)
        return out


@dataclass(frozen=True, kw_only=True)
class GraphSAGESettings(Settings):
    """Settings of GraphSAGE.

    Attributes:
        hidden_channels: Width of the hidden signals.
        dropout: Rate on the input of both layers.
        first_fan_out: The most neighbours that a node of the first layer draws in training.
        second_fan_out: The most neighbours that a node of the second layer draws in training.
    """

    hidden_channels: int = count(64, most=1_000_000)
    dropout: float = rate(0.5)
    first_fan_out: int = count(25)
    second_fan_out: int = count(10)


@takes(GraphSAGESettings)
class GraphSAGE(nn.Module):
    """Two layers of W_1 h_v + W_2 mean of h_u over sampled neighbours u of v, ReLU between.

    From "Inductive Representation Learning on Large Graphs" (NeurIPS 2017). Training draws
    neighbours anew in every step; evaluation takes all of them.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        dropout: float = 0.5,
        first_fan_out: int = 25,
        second_fan_out: int = 10,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.settings = GraphSAGESettings.of_call(locals())
        self.first_layer = pyg_layer("SAGEConv", in_channels, hidden_channels, generator=generator)
        self.neighbours = take_out(self.first_layer, "lin_l")
        self.itself = take_out(self.first_layer, "lin_r")
        self.second_layer = pyg_layer(
            "SAGEConv", hidden_channels, out_channels, generator=generator
        )
        self.drops = input_dropouts(dropout, 2)

    def forward(self, x: Tensor | CSR, graph: Graph | Tensor, noise: Noise | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes)."""
        graph, noise = as_graph(graph, x), noise_in(self, noise)
        fan_outs = (self.settings.first_fan_out, self.settings.second_fan_out)
        if noise is None:
            first = second = graph.edge_index
        else:
            first, second = (
                sample_neighbours(graph, fan_out, noise.key(DropoutKey.NEIGHBOURS + k))
                for k, fan_out in enumerate(fan_outs)
            )
        x = self.drops[0](x, noise)
        signals = mapped(x, self.neighbours), mapped(x, self.itself)
        h = F.relu(self.first_layer(signals, first) + self.neighbours.bias)
        out: Tensor = self.second_layer(self.drops[1](h, noise), second)
        return out


def pyg_layer(
    name: str, *sizes: int, generator: torch.Generator | None, **options: Any
) -> nn.Module:
    """A layer of `torch_geometric.nn`, its initial weights drawn from `generator`.

    Raises:
        MissingExtraError: PyG is not installed.
    """
    try:
        import torch_geometric.nn
    except ImportError as error:
        raise MissingExtraError(f"The layer {name}", "pyg") from error
    # On the CPU, even where the model is built on another device.
    seed = int(torch.randint(2**62, (), generator=generator, device="cpu"))
    with global_seed(seed):
        layer: nn.Module = getattr(torch_geometric.nn, name)(*sizes, **options)
    return layer


@contextmanager
def global_seed(seed: int) -> Iterator[None]:
    """Inside, torch's global generators are seeded; afterwards they are as they were."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


def global_noise(noise: Noise | None, key: int) -> AbstractContextManager[None]:
    """Inside, what PyG drops is decided by `noise`, if any, and a number in `DropoutKey`."""
    return nullcontext() if noise is None else global_seed(int(noise.key(key)))


def take_out(layer: nn.Module, name: str) -> nn.Module:
    """A layer's linear map, which is left out of it: sparse features are mapped before the layer.

    Maps commute with sums over neighbours, so the layer gives the same and sums narrower signals.
    """
    linear: nn.Module = getattr(layer, name)
    setattr(layer, name, nn.Identity())
    return linear


def mapped(x: Tensor | CSR, linear: nn.Module) -> Tensor:
    """The product of dense or sparse features with the matrix of PyG's `Linear`."""
    return multiply(x, cast(Tensor, linear.weight).T)
