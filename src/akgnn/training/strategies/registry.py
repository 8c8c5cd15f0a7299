"""The list of strategies, by the name that a model's entry gives."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from akgnn.settings import Settings
from akgnn.training.strategies.drop_edge import DropEdge, DropEdgeSettings
from akgnn.training.strategies.edge_augmentation import (
    EdgeAugmentation,
    EdgeAugmentationSettings,
)
from akgnn.training.strategies.layer_sampling import LayerSampling, LayerSamplingSettings
from akgnn.training.strategies.supervised import Strategy, Supervised, SupervisedSettings
from akgnn.training.strategies.virtual_adversarial import (
    VirtualAdversarial,
    VirtualAdversarialSettings,
)


@dataclass(frozen=True)
class StrategyEntry:
    """How a strategy is made, and the class of its settings."""

    build: Callable[[Any], Strategy]
    settings: type[Settings]


STRATEGIES = {
    "supervised": StrategyEntry(Supervised, SupervisedSettings),
    "drop-edge": StrategyEntry(DropEdge, DropEdgeSettings),
    "edge-augmentation": StrategyEntry(EdgeAugmentation, EdgeAugmentationSettings),
    "layer-sampling": StrategyEntry(LayerSampling, LayerSamplingSettings),
    "virtual-adversarial": StrategyEntry(VirtualAdversarial, VirtualAdversarialSettings),
}
