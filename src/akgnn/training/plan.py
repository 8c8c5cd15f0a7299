"""What a run is to be: data, model, seed and all settings, before anything is trained."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from akgnn.data.catalogue import Direction, FeatureTransform, load_dataset
from akgnn.data.node_data import NodeData
from akgnn.models.registry import build_model
from akgnn.settings import Settings, seed
from akgnn.training.presets import Preset, default_settings, load_preset
from akgnn.training.strategies.supervised import Strategy


@dataclass(frozen=True, kw_only=True)
class RunSettings(Settings):
    """Which run: data, model and seed. What the preset says can be changed one by one.

    Attributes:
        dataset: Name of the data set.
        split: As `load_dataset` reads it; the data set's own if None.
        split_seed: Of a random split.
        features: How features are prepared.
        direction: Whether a directed graph is made undirected or left as it is.
        model: Name of the model.
        preset: Name of the model's preset.
        seed: Of the initial weights and the dropout masks.
    """

    dataset: str = "cora"
    split: str | None = None
    split_seed: int = seed()
    features: FeatureTransform = "auto"
    direction: Direction = "symmetrised"
    model: str = "akgnn"
    preset: str = "paper"
    seed: int = seed()


@dataclass(frozen=True)
class RunPlan:
    """A run with all its settings decided.

    Attributes:
        which: Data, model and seed.
        preset: Settings of the model, of training and of its strategy.
    """

    which: RunSettings
    preset: Preset

    @classmethod
    def make(cls, which: RunSettings, changes: Mapping[str, Any] | None = None) -> "RunPlan":
        """Decide the settings: those of the preset, with `changes`."""
        dataset = which.dataset.partition(":")[0]
        return cls(which, load_preset(which.model, which.preset, dataset).updated(changes or {}))

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "RunPlan":
        """Read the settings that a run folder keeps."""
        kept = _renamed(record["settings"])
        which = RunSettings.from_mapping(kept["run"])
        return cls(which, default_settings(which.model).updated_by_kind(kept))

    def with_seed(self, seed: int) -> "RunPlan":
        """The same plan with another seed."""
        return replace(self, which=replace(self.which, seed=seed))

    def to_dict(self) -> dict[str, Any]:
        """All settings by kind and name."""
        return {"run": self.which.to_dict(), **self.preset.to_dict()}

    def build(self, data: NodeData) -> nn.Module:
        """The model, with the initial weights of the run's seed."""
        which = self.which
        model = build_model(
            which.model, self.preset.model, data.num_features, data.num_classes, seed=which.seed
        )
        return model.to(data.y.device)

    def strategy(self) -> Strategy:
        """How the model is trained."""
        return self.preset.strategy.build()

    def load(self, data_root: Path | None = None, device: torch.device | str = "cpu") -> NodeData:
        """The data, on a device."""
        which = self.which
        return load_dataset(
            which.dataset,
            split=which.split,
            split_seed=which.split_seed,
            features=which.features,
            direction=which.direction,
            data_root=data_root,
            device=device,
        )


def _renamed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings under today's names: what is now `kernel` was once `smooth_lambda`."""
    model = dict(settings["model"])
    if model.pop("smooth_lambda", False):
        model["kernel"] = "smooth"
    return {**settings, "model": model}
