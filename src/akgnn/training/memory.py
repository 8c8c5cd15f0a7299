"""How much memory a training run needs, told before it starts.

The rules count what stands in memory at the fullest moment, where the backward pass begins: signals
that the forward pass kept, gradients on their way, and what the product with the adjacency makes
for each edge. tests/training/test_memory.py holds them to measured peaks: 0.9 to 1.6 times as much.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, sqrt
from typing import Any

from akgnn.csr import CSR
from akgnn.data.large import LargeGraphSettings
from akgnn.data.node_data import NodeData
from akgnn.models.akgnn import AKGNNSettings
from akgnn.models.appnp import APPNPSettings
from akgnn.models.gcn import GCNSettings
from akgnn.models.mlp import MLPSettings
from akgnn.models.sgc import SGCSettings, SSGCSettings
from akgnn.ops.composed import MOST_ENTRIES_KEPT
from akgnn.settings import Settings
from akgnn.training.presets import Preset
from akgnn.training.strategies.consistency import ConsistencySettings
from akgnn.training.strategies.supervised import SupervisedSettings

_FLOAT, _INDEX, _LABEL = 4, 4, 8
# A weight, its gradient, Adam's two means, the best weights and the initial ones.
_COPIES_OF_WEIGHTS = 6
# What one propagation keeps for each node: 1 / c, its square root, and a / c.
_SCALINGS = 3
# For each edge: the entry of the kernel, made from two factors, and the row it stands in.
_EDGE = 3
# For each entry of sparse features: its value in both orders and where it stands in them; and what
# its masks are made from, which stays.
_ENTRY, _MASKED_ENTRY = 7, 4


@dataclass(frozen=True)
class Sizes:
    """The sizes of a data set that memory depends on.

    Attributes:
        nodes: Number of nodes.
        edges: Number of stored directions.
        features: Number of features.
        classes: Number of classes.
        entries: Stored entries of sparse features; None where they are dense.
    """

    nodes: int
    edges: int
    features: int
    classes: int
    entries: int | None = None

    @classmethod
    def of(cls, data: NodeData) -> "Sizes":
        """The sizes of these data."""
        entries = data.x.num_entries if isinstance(data.x, CSR) else None
        graph = data.graph
        return cls(graph.num_nodes, graph.num_edges, data.num_features, data.num_classes, entries)

    @classmethod
    def expected(cls, settings: LargeGraphSettings) -> "Sizes":
        """The sizes of a graph that is still to be built."""
        edges = round(settings.num_nodes * settings.degree)
        return cls(settings.num_nodes, edges, settings.num_features, settings.num_classes)

    @property
    def copied_features(self) -> int:
        """Channels of a copy of the features, such as dropout makes; sparse ones count apart."""
        return self.features if self.entries is None else 0


@dataclass(frozen=True)
class Needs:
    """What a model holds at the fullest moment of training, as counts of numbers.

    Attributes:
        per_node: Channels of all signals together.
        per_edge: Numbers for each edge.
        weights: Learned numbers.
    """

    per_node: int
    per_edge: int
    weights: int


def training_bytes(preset: Preset, sizes: Sizes) -> int | None:
    """The most memory that training takes beside the data; None where no rule is known."""
    rule, strategy = _RULES.get(type(preset.model)), preset.strategy.settings
    if rule is None or not isinstance(strategy, SupervisedSettings | ConsistencySettings):
        return None
    needs = rule(preset.model, sizes)
    passes = strategy.passes if isinstance(strategy, ConsistencySettings) else 1
    signals = passes * needs.per_node * sizes.nodes + needs.per_edge * sizes.edges
    entries = sizes.entries or 0
    # Sparse features are turned round at the end of the backward pass, when the signals are gone.
    numbers = max(signals + passes * entries, (passes + _ENTRY) * entries)
    numbers += _MASKED_ENTRY * entries
    return _FLOAT * (numbers + _COPIES_OF_WEIGHTS * needs.weights)


def data_bytes(sizes: Sizes) -> int:
    """What a generated graph takes with its dense features, labels and split."""
    per_node = _FLOAT * sizes.features + _INDEX + 2 * _LABEL
    return per_node * sizes.nodes + _INDEX * sizes.edges


def _akgnn(settings: AKGNNSettings, sizes: Sizes) -> Needs:
    width = sizes.features if _propagates_features(settings) else settings.hidden_channels
    per_node = _layer_signals(settings) * width + _other_channels(settings, sizes, width)
    return Needs(per_node, _per_edge(settings.num_layers, sizes), _akgnn_weights(settings, sizes))


def _per_edge(propagations: int, sizes: Sizes) -> int:
    """Numbers for each edge: those of one propagation; on small graphs the others keep one each."""
    return _EDGE + (propagations - 1 if sizes.edges <= MOST_ENTRIES_KEPT else 0)


def _propagates_features(settings: AKGNNSettings) -> bool:
    """Whether features go through the layers, because the transform cannot be done before."""
    is_linear = settings.readout in ("sum", "mean", "last") and not settings.batch_norm
    drops = max(settings.input_dropout, settings.layer_dropout) > 0
    return settings.order == "propagate-first" and (drops or not is_linear)


def _layer_signals(settings: AKGNNSettings) -> int:
    """How many signals the layers and the readout keep."""
    # For the gradient of λ a layer keeps what comes in and what goes out; without dropout the one
    # is what went out of the layer before. Its own transform keeps two more.
    drops = settings.layer_dropout > 0
    layer = 1 + (drops and settings.learn_lambda) + 2 * (not settings.share_weights)
    layer += {"concat": 2, "max": 4}.get(settings.readout, 0)
    signals = settings.num_layers * layer + (settings.normalisation == "directed")
    if settings.recompute:
        # What enters each part of √K layers, and one part at a time.
        part = ceil(sqrt(settings.num_layers))
        signals = ceil(settings.num_layers / part) + part * layer
    if settings.groups > 1:
        # A scaling has a number for each channel then.
        signals += _SCALINGS * (settings.num_layers + 1)
    return signals


def _other_channels(settings: AKGNNSettings, sizes: Sizes, width: int) -> int:
    """Channels of what is kept before and after the layers, and of gradients on their way."""
    hidden = settings.hidden_channels
    copies = (settings.input_dropout > 0) + (settings.node_dropout > 0)
    channels = 3 * sizes.classes + _SCALINGS * settings.num_layers
    channels += 2 * (settings.classifier_layers - 1) * hidden
    if settings.order == "transform-first":
        drops = settings.transform_dropout > 0
        return channels + copies * sizes.copied_features + (3 + drops) * hidden
    norms = 2 * settings.batch_norm
    return channels + (1 + copies + norms) * width + (3 + norms) * hidden


def _akgnn_weights(settings: AKGNNSettings, sizes: Sizes) -> int:
    hidden, depth = settings.hidden_channels, settings.num_layers
    propagates_first = settings.order == "propagate-first"
    joined = depth + propagates_first if settings.readout == "concat" else 1
    features = sizes.features * (joined if propagates_first else 1)
    inner = 0 if settings.share_weights else depth - 1
    # The classifier, from the readout to the classes.
    widths = [hidden] * settings.classifier_layers + [sizes.classes]
    widths[0] *= 1 if propagates_first else joined
    classifier = sum(before * after for before, after in pairwise(widths))
    return features * hidden + inner * hidden * hidden + classifier


def _gcn(settings: GCNSettings, sizes: Sizes) -> Needs:
    needs = _layers(settings.hidden_channels, settings.num_layers, settings.dropout, sizes)
    return Needs(
        needs.per_node + _SCALINGS * settings.num_layers,
        _per_edge(settings.num_layers, sizes),
        needs.weights,
    )


def _mlp(settings: MLPSettings, sizes: Sizes) -> Needs:
    return _layers(settings.hidden_channels, settings.num_layers, settings.dropout, sizes)


def _layers(hidden: int, depth: int, dropout: float, sizes: Sizes) -> Needs:
    """Linear layers with a non-linearity between: each keeps its result, and that after dropout."""
    drops = dropout > 0
    per_node = drops * sizes.copied_features + (1 + drops) * (depth - 1) * hidden
    per_node += 3 * sizes.classes
    if depth == 1:
        return Needs(per_node, 0, sizes.features * sizes.classes)
    # Gradients on their way.
    per_node += (2 - drops) * hidden
    weights = hidden * (sizes.features + (depth - 2) * hidden + sizes.classes)
    return Needs(per_node, 0, weights)


def _appnp(settings: APPNPSettings, sizes: Sizes) -> Needs:
    needs = _layers(settings.hidden_channels, 2, settings.dropout, sizes)
    depth = settings.num_layers
    if not settings.edge_dropout:
        per_edge = _per_edge(depth, sizes)
        return Needs(needs.per_node + _SCALINGS * depth, per_edge, needs.weights)
    # Every step keeps the entries of its own Â; a node has one on the diagonal.
    entries = depth + _ENTRY + _MASKED_ENTRY
    return Needs(needs.per_node + entries, entries, needs.weights)


def _sgc(settings: SGCSettings | SSGCSettings, sizes: Sizes) -> Needs:
    per_node = (3 + isinstance(settings, SSGCSettings)) * sizes.classes
    per_node += _SCALINGS * settings.num_layers
    per_edge = _per_edge(settings.num_layers, sizes)
    return Needs(per_node, per_edge, sizes.features * sizes.classes)


_RULES: Mapping[type[Settings], Callable[[Any, Sizes], Needs]] = {
    AKGNNSettings: _akgnn,
    APPNPSettings: _appnp,
    GCNSettings: _gcn,
    MLPSettings: _mlp,
    SGCSettings: _sgc,
    SSGCSettings: _sgc,
}
