"""What a run is to be: data, model, seed and all settings, before anything is trained."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from akgnn.data.catalogue import (
    FILTERED,
    Direction,
    FeatureTransform,
    base_name,
    load_dataset,
)
from akgnn.data.node_data import NodeData
from akgnn.data.published import PYG_SOURCES
from akgnn.data.tables.recipe import FeatureRecipe
from akgnn.data.tables.settings import TableSettings
from akgnn.errors import NoEffectError, SettingsError, UnknownNameError
from akgnn.machine.device import check_defaults
from akgnn.models.registry import build_model
from akgnn.runs.presets import (
    ANY_GRAPH,
    Preset,
    check_effect,
    default_settings,
    list_presets,
    load_preset,
    preset_for_own_tables,
    without_effect,
)
from akgnn.settings import Settings, count, seed
from akgnn.training.strategies.supervised import Strategy

TABLES = "tables"
"""The name of the data where they are tables of one's own."""
MOST_MEMBERS = 200
"""The most models in an ensemble; beyond a few dozen another hardly changes the mean."""
WITHOUT_EDGES = "mlp"
"""The model that sees no edges, and so tells whether they help."""
NO_LINKS = (WITHOUT_EDGES, "unit-length")
"""Model and preset that are tried beside those of `FOR_ANY_GRAPH`, without any links."""
_NEAREST = "nearest-neighbours"
PARTS = "parts:"
"""What the name of a data set begins with that is a folder of parts."""
FOR_ANY_GRAPH = (ANY_GRAPH, "deep", "deep-short", "deep-middle", "deep-long")
"""What is tried on a graph where nobody named a preset, the one that is taken untried in front."""
# The same where the columns of a table are of several kinds.
_FOR_MIXED_COLUMNS = ("mixed-columns", "mixed-columns-no-labels", "mixed-columns-deep")


@dataclass(frozen=True, kw_only=True)
class RunSettings(Settings):
    """Which run: data, model and seed. What the preset says can be changed one by one.

    Attributes:
        dataset: Name of the data set; `tables` for tables of one's own.
        split: Such as `60/20/20` in per cent or `20-per-class`; of tables also a column that says
            train, val or test. If None the data set's own, of tables 60/20/20.
        split_seed: Seed of a random split.
        features: How features are prepared.
        direction: Whether a directed graph is made undirected or left as it is.
        model: Name of the model.
        preset: Name of the model's preset.
        seed: Seed of the initial weights and the dropout masks.
        ensemble: How many seeds, from this one on, are trained and vote as one model.
    """

    dataset: str = "cora"
    split: str | None = None
    split_seed: int = seed()
    features: FeatureTransform = "auto"
    direction: Direction = "symmetrised"
    model: str = "akgnn"
    preset: str = "paper"
    seed: int = seed()
    ensemble: int = count(1, MOST_MEMBERS)

    @property
    def seeds(self) -> str:
        """The seed, or those of an ensemble, in words."""
        last = self.seed + self.ensemble - 1
        return f"seed {self.seed}" if last == self.seed else f"seeds {self.seed} to {last}"


@dataclass(frozen=True)
class RunPlan:
    """A run with all its settings decided; those of tables where the data are one's own.

    Where nobody named a preset, `open` has the plans to choose from, this one in front, and `mixed`
    those for tables whose columns are of several kinds; `candidates` and `suited_to` take them once
    the data are known. `left_out` names the presets and models that validation does not compare,
    because a setting that was named does not fit them.
    """

    run: RunSettings
    preset: Preset
    tables: TableSettings | None = None
    open: tuple["RunPlan", ...] = ()
    mixed: tuple["RunPlan", ...] = ()
    left_out: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def make(
        cls,
        run: RunSettings,
        changes: Mapping[str, Any] | None = None,
        *,
        by_kind: Mapping[str, Mapping[str, Any]] | None = None,
        tables: TableSettings | None = None,
        is_study: bool = False,
    ) -> "RunPlan":
        """Decide the settings: those of the preset, with those `by_kind`, with `changes`.

        In a study, rows of a fixed kernel may name how others learn theirs.
        """
        preset = load_preset(run.model, run.preset, base_name(run.dataset))
        preset = preset.updated(changes or {}, by_kind)
        named = {name for values in (by_kind or {}).values() for name in values}
        named |= set(changes or {})
        check_effect(run.model, preset, named, is_study=is_study)
        return cls(run, preset, tables)

    @classmethod
    def decide(
        cls,
        run: Mapping[str, Any],
        changes: Mapping[str, Any] | None = None,
        *,
        by_kind: Mapping[str, Mapping[str, Any]] | None = None,
        tables: TableSettings | None = None,
    ) -> "RunPlan":
        """Decide what was left open too: the preset suits the model, and tables of one's own.

        Args:
            run: Values of `RunSettings`.
            changes: Settings of the preset that are to be others.
            by_kind: The same by `model`, `training` and `strategy`.
            tables: Tables of one's own, in place of a data set.

        Raises:
            SettingsError: Both a data set and tables are named, or a value does not fit.
            UnknownNameError: There is no such model, preset or setting.
        """
        run = dict(run)
        if tables is not None:
            if run.get("dataset", TABLES) != TABLES:
                raise SettingsError("Name a data set or tables of your own (`nodes`), not both.")
            run["dataset"] = TABLES
        model = str(run.get("model", RunSettings().model))
        if tables is not None and tables.has_no_edges:
            run = _for_nearest_rows(run, model)
        has_choice = "deep" in list_presets(model)
        is_others = has_choice and _is_others(run.get("dataset"))
        is_open = "preset" not in run and (tables is not None or is_others)
        if not is_open:
            return cls.make(RunSettings.from_mapping(run), changes, by_kind=by_kind, tables=tables)
        changes = {**_for_direction(run, model, by_kind), **(changes or {})}

        plans = partial(_plans_of, run, changes, by_kind, tables)
        if not has_choice:
            return plans([(model, preset_for_own_tables(model))])[0]
        named = [(model, preset) for preset in FOR_ANY_GRAPH]
        found = plans([*named, *([] if "model" in run else [NO_LINKS])])
        mixed = [] if tables is None else plans([(model, name) for name in _FOR_MIXED_COLUMNS])
        return replace(found[0], open=tuple(found), mixed=tuple(mixed))

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> "RunPlan":
        """The plan of the settings that `to_dict` gave."""
        run = RunSettings.from_mapping(settings["run"])
        tables = TableSettings.from_mapping(settings["tables"]) if "tables" in settings else None
        return cls(run, default_settings(run.model).restored(settings), tables)

    @property
    def data_name(self) -> str:
        """What to call the data: by the name of the data set, or of the file of the nodes."""
        return self.run.dataset if self.tables is None else Path(self.tables.nodes).stem or TABLES

    def updated(
        self, run: Mapping[str, Any], changes: Mapping[str, Any], tables: Mapping[str, Any]
    ) -> "RunPlan":
        """The same plan with other values of the run, the preset and the tables."""
        others = None if self.tables is None else self.tables.updated(tables)
        preset = self.preset.updated(changes)
        check_effect(self.run.model, preset, changes)
        return RunPlan(self.run.updated(run), preset, others)

    def with_seed(self, seed: int) -> "RunPlan":
        """The same plan with another seed."""
        return replace(self, run=replace(self.run, seed=seed))

    def members(self) -> list["RunPlan"]:
        """The plans of the models of an ensemble; a single run is its only one."""
        first = self.run.seed
        alone = replace(self, run=replace(self.run, ensemble=1))
        return [alone.with_seed(seed) for seed in range(first, first + self.run.ensemble)]

    def suited_to(self, data: NodeData) -> "RunPlan":
        """The same plan with what was left open until the data were known.

        That is the preset, and the names of columns: so tables to predict are read alike, whatever
        the order of their columns.
        """
        return self.candidates(data)[0]

    def candidates(self, data: NodeData) -> list["RunPlan"]:
        """The plans, suited to the data, that validation may choose from; one where none is open.

        The first is `suited_to`, for where nothing is to be tried.
        """
        recipe = data.recipe if data.tables is not None and data.tables.prepare == "auto" else None
        is_mixed = recipe is not None and not recipe.is_words
        plans = (self.mixed if is_mixed else self.open) or (self,)
        base = replace(self, tables=data.tables, open=(), mixed=())
        return [
            replace(
                base,
                run=replace(self.run, model=plan.run.model, preset=plan.run.preset),
                preset=plan.preset,
                left_out=plan.left_out,
            )
            for plan in plans
        ]

    def to_dict(self) -> dict[str, Any]:
        """All settings by kind and name."""
        tables = {} if self.tables is None else {"tables": self.tables.to_dict()}
        return {"run": self.run.to_dict(), **tables, **self.preset.to_dict()}

    def in_effect(self) -> dict[str, dict[str, Any]]:
        """As `to_dict`, without settings of the preset that have no effect."""
        unused = without_effect(self.run.model, self.preset)
        kinds = {
            kind: {name: value for name, value in values.items() if name not in unused}
            for kind, values in self.preset.in_effect().items()
        }
        return {**self.to_dict(), **kinds}

    def build(self, data: NodeData) -> nn.Module:
        """The model, with the initial weights of the run's seed."""
        check_defaults()
        sizes = data.num_features, data.num_classes
        model = build_model(self.run.model, self.preset.model, *sizes, seed=self.run.seed)
        return model.to(data.y.device)

    def strategy(self) -> Strategy:
        """How the model is trained."""
        return self.preset.strategy.build()

    def load(
        self,
        data_root: Path | str | None = None,
        device: torch.device | str = "cpu",
        *,
        nodes: Any = None,
        edges: Any = None,
        folder: Path | None = None,
        recipe: FeatureRecipe | None = None,
    ) -> NodeData:
        """The data, on a device.

        Args:
            data_root: Where data sets lie that do not come with the package.
            device: Where the data are put.
            nodes: A DataFrame in place of the file of the nodes.
            edges: A DataFrame in place of the file of the edges.
            folder: An empty folder for arrays that need not fit into memory, of the graph `large`
                and of tables of edges; they are memory maps then.
            recipe: Recipe to prepare the columns of tables with; learned from them if None.
        """
        if self.run.dataset.startswith(PARTS):
            from akgnn.distributed.folder import open_parts
            from akgnn.distributed.whole import whole_data

            return whole_data(open_parts(self.run.dataset.removeprefix(PARTS))).to(device)
        names = ("split", "split_seed", "features", "direction")
        treated = {name: getattr(self.run, name) for name in names}
        if self.tables is not None:
            from akgnn.data.tables.load import read_tables

            data = read_tables(
                self.tables, nodes=nodes, edges=edges, folder=folder, recipe=recipe, **treated
            )
            data = data.to(device)
        else:
            data = load_dataset(
                self.run.dataset, data_root=data_root, device=device, folder=folder, **treated
            )
        self._check_split_seed(data)
        return self.with_inputs(data)

    def _check_split_seed(self, data: NodeData) -> None:
        """Refuse a split seed that draws nothing."""
        if self.run.split_seed and not data.split.name.endswith(f"seed-{self.run.split_seed}"):
            raise NoEffectError(
                f"`split_seed={self.run.split_seed}` has no effect on the fixed split "
                f"{data.split.name!r}; leave it out, or draw one, with `split='60/20/20'`."
            )

    def with_inputs(self, data: NodeData) -> NodeData:
        """The data with labels among the features if the strategy takes them, else without."""
        return data.with_label_inputs(self.preset.strategy.takes_labels)


def _plans_of(
    run: Mapping[str, Any],
    changes: Mapping[str, Any],
    by_kind: Mapping[str, Mapping[str, Any]] | None,
    tables: TableSettings | None,
    named: Sequence[tuple[str, str]],
) -> list[RunPlan]:
    """A plan of each model and preset that goes with what was asked for; the first has to.

    It says which others were left out.
    """
    plans: list[RunPlan] = []
    left_out: list[str] = []
    for model, preset in named:
        asked = RunSettings.from_mapping({**run, "model": model, "preset": preset})
        try:
            plans.append(RunPlan.make(asked, changes, by_kind=by_kind, tables=tables))
        except (SettingsError, UnknownNameError) as error:
            if not plans:
                raise
            # A number of channels, say, may suit one preset alone; that hides nothing.
            if isinstance(error, NoEffectError | UnknownNameError):
                left_out.append(preset if model == plans[0].run.model else model)
    return [replace(plans[0], left_out=tuple(left_out)), *plans[1:]]


def _is_others(dataset: str | None) -> bool:
    """Whether it is a graph that others published and the paper does not have."""
    name = base_name(dataset or "")
    return name in FILTERED or name in PYG_SOURCES


def _for_direction(
    run: Mapping[str, Any], model: str, by_kind: Mapping[str, Mapping[str, Any]] | None
) -> dict[str, Any]:
    """What directions that are kept ask of the preset: in- and out-neighbours apart."""
    named = (by_kind or {}).get("model", {})
    has_form = "normalisation" in default_settings(model).model.names()
    if run.get("direction") != "kept" or not has_form or "normalisation" in named:
        return {}
    return {"normalisation": "directed"}


def _for_nearest_rows(run: dict[str, Any], model: str) -> dict[str, Any]:
    """Values of a run on rows that are linked to their nearest rows, with what was left open.

    Its preset takes in from the nearest rows of a row, and not from those that it is near to.
    """
    if "preset" not in run and _NEAREST in list_presets(model):
        run = {**run, "preset": _NEAREST}
    return {"direction": "kept", **run} if run.get("preset") == _NEAREST else run
