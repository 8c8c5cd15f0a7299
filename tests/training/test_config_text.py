import re
import tomllib

import pytest

from akgnn.data.tables.settings import TableSettings
from akgnn.models.registry import MODELS
from akgnn.training.config_file import read_config
from akgnn.training.config_text import config_text, meanings
from akgnn.training.plan import RunPlan, RunSettings
from akgnn.training.presets import list_presets


@pytest.mark.parametrize("model", MODELS)
def test_every_setting_stands_there_with_its_meaning(model):
    preset = next(iter(list_presets(model)))
    plan = RunPlan.make(RunSettings(model=model, preset=preset))
    text = config_text(plan)
    for kind, values in plan.to_dict().items():
        for name in values:
            assert re.search(rf"^(# )?{name} = ", text, flags=re.M) or name == "strategy", kind
    for settings in (type(plan.preset.model), type(plan.preset.training)):
        assert set(meanings(settings)) == set(settings.names())


@pytest.mark.parametrize("tables", [None, TableSettings(nodes="n.csv", edges="e.csv")])
def test_the_file_makes_the_plan_it_was_written_from(tables, tmp_path):
    which = RunSettings(dataset="cora" if tables is None else "tables", seed=4)
    plan = RunPlan.make(which, tables=tables)
    file = tmp_path / "settings.toml"
    # As if someone had taken every comment sign away.
    text = re.sub(r"^# (\w+ = (?!…))", r"\1", config_text(plan), flags=re.M)
    for written in (config_text(plan), text):
        file.write_text(written)
        config = read_config(file)
        assert RunPlan.make(plan.which.updated(config.run), by_kind=config.preset).preset == (
            plan.preset
        )
        assert config.run["seed"] == 4


def test_only_what_was_chosen_is_set():
    plan = RunPlan.make(RunSettings(dataset="tables"), tables=TableSettings(weight="w"))
    content = tomllib.loads(config_text(plan))
    assert content["tables"] == {"nodes": "", "edges": "", "weight": "w"}
    assert content["model"] == content["training"] == {}
