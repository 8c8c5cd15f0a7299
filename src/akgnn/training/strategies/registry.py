"""The list of strategies, and the choice of one with its settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from akgnn.errors import SettingsError, UnknownNameError
from akgnn.settings import Settings
from akgnn.training.strategies.consistency import Consistency, ConsistencySettings
from akgnn.training.strategies.drop_edge import DropEdge, DropEdgeSettings
from akgnn.training.strategies.edge_augmentation import (
    EdgeAugmentation,
    EdgeAugmentationSettings,
)
from akgnn.training.strategies.layer_sampling import LayerSampling, LayerSamplingSettings
from akgnn.training.strategies.masked_labels import MaskedLabels, MaskedLabelsSettings
from akgnn.training.strategies.supervised import (
    Strategy,
    Supervised,
    SupervisedSettings,
    takes_labels,
)
from akgnn.training.strategies.virtual_adversarial import (
    VirtualAdversarial,
    VirtualAdversarialSettings,
)


@dataclass(frozen=True)
class StrategyEntry:
    """What is known of a strategy before it is built.

    Attributes:
        build: Makes the strategy from its settings.
        settings: The class of its settings.
    """

    build: Callable[[Any], Strategy]
    settings: type[Settings]


STRATEGIES = {
    "supervised": StrategyEntry(Supervised, SupervisedSettings),
    "consistency": StrategyEntry(Consistency, ConsistencySettings),
    "drop-edge": StrategyEntry(DropEdge, DropEdgeSettings),
    "edge-augmentation": StrategyEntry(EdgeAugmentation, EdgeAugmentationSettings),
    "layer-sampling": StrategyEntry(LayerSampling, LayerSamplingSettings),
    "masked-labels": StrategyEntry(MaskedLabels, MaskedLabelsSettings),
    "virtual-adversarial": StrategyEntry(VirtualAdversarial, VirtualAdversarialSettings),
}


def register_strategy(name: str, entry: StrategyEntry) -> None:
    """Add a strategy of one's own: presets, settings and `akgnn train --set` then know it.

    Raises:
        SettingsError: The name is taken.
    """
    if name in STRATEGIES:
        raise SettingsError(f"There is a strategy called {name!r} already.")
    STRATEGIES[name] = entry


@dataclass(frozen=True)
class StrategyChoice:
    """A strategy by its name, with its settings."""

    name: str
    settings: Settings

    @classmethod
    def of(cls, name: str) -> "StrategyChoice":
        """The strategy of this name with its default settings, or an error that lists the names."""
        if name not in STRATEGIES:
            raise UnknownNameError("strategy", name, STRATEGIES)
        return cls(name, STRATEGIES[name].settings())

    def updated(self, values: Mapping[str, Any]) -> "StrategyChoice":
        """A copy with other values; one named `strategy` chooses another, at its defaults."""
        name = values.get("strategy", self.name)
        start = self if name == self.name else StrategyChoice.of(name)
        others = {key: value for key, value in values.items() if key != "strategy"}
        return StrategyChoice(start.name, start.settings.updated(others))

    def to_dict(self) -> dict[str, Any]:
        """The name, under `strategy`, and the settings."""
        return {"strategy": self.name, **self.settings.to_dict()}

    @property
    def takes_labels(self) -> bool:
        """Whether it wants the labels of training nodes among the features."""
        return takes_labels(self.build())

    def build(self) -> Strategy:
        """The strategy itself."""
        return STRATEGIES[self.name].build(self.settings)
