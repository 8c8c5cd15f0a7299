"""What options say of a run, and the plan that follows."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from akgnn.cli.own_tables import table_settings
from akgnn.errors import SettingsError

if TYPE_CHECKING:
    import torch

    from akgnn.data.node_data import NodeData
    from akgnn.training.checkpoint import RunFolder
    from akgnn.training.plan import RunPlan

_ANY_GRAPH = "any-graph"


@dataclass(frozen=True)
class Asked:
    """What the options say of a run.

    Attributes:
        run: Values of `RunSettings`.
        tables: Values of `TableSettings`; None where an option was not given.
        config: A settings file, over which the options go.
        changes: Settings of the preset.
    """

    run: dict[str, Any]
    tables: dict[str, Any] = field(default_factory=dict)
    config: Path | None = None
    changes: dict[str, str] = field(default_factory=dict)

    def naming(self, **run: str) -> "Asked":
        """The same with other values of `RunSettings`."""
        return replace(self, run={**self.run, **run})

    def plan(self) -> "RunPlan":
        """The plan of a new run."""
        from akgnn.training.config_file import Config, read_config
        from akgnn.training.plan import RunPlan, RunSettings

        file = Config() if self.config is None else read_config(self.config)
        tables = table_settings(self.tables, file.tables)
        run = {**file.run, **self.run}
        if tables is not None:
            if run.get("dataset", "tables") != "tables":
                raise SettingsError("Name a data set or tables of your own (--nodes), not both.")
            run["dataset"] = "tables"
            run.setdefault("preset", own_preset(run.get("model", RunSettings().model)))
        which = RunSettings.from_mapping(run)
        return RunPlan.make(which, self.changes, by_kind=file.preset, tables=tables)

    def plan_for(self, folders: Sequence["RunFolder | None"], resume: bool) -> "RunPlan":
        """The plan for these folders. A run to go on with brings its own, which may be repeated."""
        from akgnn.training.plan import RunPlan
        from akgnn.training.run import plan_of

        for folder in folders:
            if folder is not None and not resume:
                folder.check_free()
            elif folder is not None and folder.holds_run():
                kept = plan_of(folder, folder.read())
                tables = kept.tables
                if tables is not None:
                    tables = table_settings(self.tables, tables.to_dict())
                preset = kept.preset.updated(self.changes)
                return RunPlan(kept.which.updated(self.run), preset, tables)
        return self.plan()


def own_preset(model: str) -> str:
    """The preset for a graph of which nothing is known, where the model has one."""
    from akgnn.training.presets import list_presets

    presets = list_presets(model)
    return _ANY_GRAPH if _ANY_GRAPH in presets else next(iter(presets))


def load_data(
    plan: "RunPlan", data_root: Path | None, device: "torch.device", force: bool
) -> "NodeData":
    """The data on their device, if training is to fit beside them."""
    from akgnn.data.catalogue import large_settings
    from akgnn.training.memory import Sizes
    from akgnn.training.memory_check import check_memory, memory_errors_explained

    large = large_settings(plan.which.dataset)
    if large is not None and not force:
        check_memory(plan.preset, Sizes.expected(large), device, is_loaded=False)
    with memory_errors_explained(plan.preset, device):
        data = plan.load(data_root, device)
    if not force:
        check_memory(plan.preset, Sizes.of(data), device)
    return data


def parsed_changes(changes: list[str]) -> dict[str, str]:
    """What `--set` says, given as NAME=VALUE each."""
    pairs = [change.partition("=") for change in changes]
    for name, equals, _ in pairs:
        if not (name and equals):
            raise SettingsError(f"Write --set NAME=VALUE, such as num_layers=8; got {name!r}.")
    return {name: value for name, _, value in pairs}
