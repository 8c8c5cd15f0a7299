"""What a run is to be: data, model, seed and all settings, before anything is trained."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.data.catalogue import Direction, FeatureTransform, load_dataset
from akgnn.data.node_data import NodeData
from akgnn.data.tables.settings import TableSettings
from akgnn.data.transforms import rows_to_1
from akgnn.models.registry import build_model
from akgnn.settings import Settings, seed
from akgnn.training.presets import Preset, default_settings, load_preset
from akgnn.training.strategies.supervised import Strategy

# What the record of tables says where each node's features were divided by their sum.
ROWS_TO_1 = "sum to 1"


@dataclass(frozen=True, kw_only=True)
class RunSettings(Settings):
    """Which run: data, model and seed. What the preset says can be changed one by one.

    Attributes:
        dataset: Name of the data set; `tables` for tables of one's own.
        split: Such as `60/20/20` in per cent or `20-per-class`; of tables also a column that says
            train, val or test. If None the data set's own, of tables 60/20/20.
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
        tables: Where the data are one's own: files and columns.
    """

    which: RunSettings
    preset: Preset
    tables: TableSettings | None = None

    @classmethod
    def make(
        cls,
        which: RunSettings,
        changes: Mapping[str, Any] | None = None,
        *,
        by_kind: Mapping[str, Mapping[str, Any]] | None = None,
        tables: TableSettings | None = None,
    ) -> "RunPlan":
        """Decide the settings: those of the preset, with those `by_kind`, with `changes`."""
        dataset = which.dataset.partition(":")[0]
        preset = load_preset(which.model, which.preset, dataset).updated_by_kind(by_kind or {})
        return cls(which, preset.updated(changes or {}), tables)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "RunPlan":
        """Read the settings that a run folder keeps."""
        kept = _renamed(record["settings"])
        which = RunSettings.from_mapping(kept["run"])
        tables = TableSettings.from_mapping(kept["tables"]) if "tables" in kept else None
        return cls(which, default_settings(which.model).updated_by_kind(kept), tables)

    @property
    def data_name(self) -> str:
        """What to call the data: by the name of the data set, or of the file of the nodes."""
        return self.which.dataset if self.tables is None else Path(self.tables.nodes).stem

    def with_seed(self, seed: int) -> "RunPlan":
        """The same plan with another seed."""
        return replace(self, which=replace(self.which, seed=seed))

    def with_columns_of(self, data: NodeData) -> "RunPlan":
        """The same plan with the names of the columns that were found in the tables.

        So tables to predict are read alike, whatever the order of their columns.
        """
        return self if data.tables is None else replace(self, tables=data.tables)

    def to_dict(self) -> dict[str, Any]:
        """All settings by kind and name."""
        tables = {} if self.tables is None else {"tables": self.tables.to_dict()}
        return {"run": self.which.to_dict(), **tables, **self.preset.to_dict()}

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
        if self.tables is not None:
            return _load_tables(self.tables, which).to(device)
        return load_dataset(
            which.dataset,
            split=which.split,
            split_seed=which.split_seed,
            features=which.features,
            direction=which.direction,
            data_root=data_root,
            device=device,
        )


def _load_tables(tables: TableSettings, which: RunSettings) -> NodeData:
    from akgnn.data.tables.load import load_tables

    options: dict[str, Any] = {"split": which.split, "split_seed": which.split_seed}
    loaded = load_tables(tables, direction=which.direction, **options)
    data = replace(loaded.data, ids=loaded.ids, recipe=loaded.recipe, tables=loaded.settings)
    if not _takes_shares(data.x, which.features):
        return data
    source = {**data.source, "rows": ROWS_TO_1}
    return replace(data, x=rows_to_1(data.x), source=source)


def _takes_shares(x: Tensor | CSR, features: FeatureTransform) -> bool:
    """Whether rows are to sum to 1; left to the data, counts of words and the like are."""
    if features != "auto":
        return features == "row-normalised"
    return isinstance(x, CSR) and (x.value is None or not bool((x.value < 0).any()))


def _renamed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings under today's names: what is now `kernel` was once `smooth_lambda`."""
    model = dict(settings["model"])
    if model.pop("smooth_lambda", False):
        model["kernel"] = "smooth"
    return {**settings, "model": model}
