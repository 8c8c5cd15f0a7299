import os
import re
import tomllib

import pytest

from akgnn.data.tables.settings import TableSettings
from akgnn.errors import SettingsError
from akgnn.models.registry import MODELS
from akgnn.runs.config import config_text, line_of, meanings, read_config, settings_toml
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.presets import list_presets


@pytest.fixture
def read(tmp_path):
    def read(text):
        file = tmp_path / "settings.toml"
        file.write_text(text)
        return read_config(file)

    return read


def test_settings_are_read_by_kind(read, tmp_path):
    config = read(
        '[run]\nmodel = "gcn"\nseed = 3\n[tables]\nnodes = "a/n.csv"\nedges = "/e.csv"\n'
        "[model]\nhidden_channels = 4\n[training]\nepochs = 7\n"
    )
    assert config.run == {"model": "gcn", "seed": 3}
    assert config.tables == {"nodes": str(tmp_path / "a/n.csv"), "edges": "/e.csv"}
    assert config.preset["model"] == {"hidden_channels": 4}
    assert config.preset["training"] == {"epochs": 7}


def test_an_empty_file_says_nothing(read):
    config = read("")
    assert not config.run
    assert not config.tables


def test_a_strategy_brings_its_own_settings(read):
    text = '[strategy]\nstrategy = "consistency"\ntemperature = 0.3\n'
    assert read(text).preset["strategy"] == {"strategy": "consistency", "temperature": 0.3}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[run]\n\nsede = 3\n", 3, "Unknown setting 'sede'"),
        ('[run]\nmodel = "agknn"\n', 2, "Did you mean 'akgnn'"),
        ('[run]\nseed = "three"\n', 2, "seed must be an integer"),
        ("[modle]\nnum_layers = 3\n", 1, "Unknown table 'modle'"),
        ("model = 3\n", 1, "as a table"),
        ("# layers\n[model]\n# more\nnum_layers = 0\n", 4, "num_layers must be from 1"),
        ("[model]\nnum_layers = [1, 2]\n", 2, "num_layers must be an integer"),
        ("[training]\nlearning_rate = -1\n", 2, "learning_rate must be above 0"),
        ('[training]\nstop_on = "los"\n', 2, "Did you mean 'loss'"),
        ('[tables]\nmissing = "guess"\n', 2, "missing must be one of"),
        ("[tables]\nnodes = 3\n", 2, "nodes must be text"),
        ("[strategy]\ntemperature = 0.3\n", 2, "Unknown setting 'temperature'"),
        ('[strategy]\nstrategy = "none"\n', 2, "Unknown strategy 'none'"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(read, text, line, message):
    with pytest.raises(SettingsError, match=rf"settings\.toml, line {line}: .*{message}"):
        read(text)


@pytest.mark.parametrize("text", ["[run", "seed = ", "a = 1\na = 2\n", "[run]\n[run]\n"])
def test_what_is_no_toml_is_refused(read, text):
    with pytest.raises(SettingsError, match="is no TOML"):
        read(text)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(SettingsError, match="cannot be read"):
        read_config(tmp_path / "none.toml")
    with pytest.raises(SettingsError, match="cannot be read"):
        read_config(tmp_path)
    binary = tmp_path / "b.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="not UTF-8"):
        read_config(binary)
    binary.write_bytes(b"#" * 2_000_000)
    with pytest.raises(SettingsError, match="too large"):
        read_config(binary)


@pytest.mark.parametrize("model", MODELS)
def test_every_setting_stands_there_with_its_meaning(model):
    preset = next(iter(list_presets(model)))
    plan = RunPlan.make(RunSettings(model=model, preset=preset))
    text = config_text(plan)
    for kind, values in plan.in_effect().items():
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
        assert RunPlan.make(plan.run.updated(config.run), by_kind=config.preset).preset == (
            plan.preset
        )
        assert config.run["seed"] == 4


def test_only_what_was_chosen_is_set():
    plan = RunPlan.make(RunSettings(dataset="tables"), tables=TableSettings(weight="w"))
    content = tomllib.loads(config_text(plan))
    assert content["tables"] == {"nodes": "", "edges": "", "weight": "w"}
    assert content["model"] == content["training"] == {}


@pytest.mark.parametrize("tables", [None, TableSettings(nodes="/n.csv", edges="/e.csv")])
def test_all_settings_of_a_plan_make_it_again(tables, read):
    which = RunSettings(dataset="cora" if tables is None else "tables", seed=4)
    plan = RunPlan.make(which, {"num_layers": 3, "strategy": "drop-edge"}, tables=tables)
    config = read(settings_toml(plan))
    again = None if tables is None else TableSettings.from_mapping(config.tables)
    made = RunPlan.make(RunSettings.from_mapping(config.run), by_kind=config.preset, tables=again)
    assert made == plan


TEXT = """title = "On the split of seeds" # split
split = { actor = "public-#", cora = 'a#"b' }

[[rows]]
label = "\\"#\\" seeds"
seeds = 3
[vary]
num_layers = [1]
"""


@pytest.mark.parametrize(
    ("row", "name", "line"),
    [
        (None, "split", 2),
        (None, "cora", 2),
        (None, "public-3", 1),
        (0, "seeds", 6),
        (0, None, 4),
        (0, "split", 2),
        (None, "vary", 7),
        (None, "num_layers", 8),
        (3, "seeds", 6),
    ],
)
def test_the_line_that_sets_a_name_is_found(row, name, line):
    table = None if row is None else "rows"
    assert line_of(TEXT, name, table, row or 0) == line


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(SettingsError, match="it is missing, or is no file"):
        read_config(tmp_path / "pipe.toml")


def test_a_number_of_many_digits_is_refused(read):
    with pytest.raises(SettingsError, match="is no TOML: Exceeds the limit"):
        read(f"[training]\nepochs = {'9' * 5000}\n")


@pytest.mark.parametrize("model", MODELS)
def test_settings_of_every_preset_are_read_as_a_settings_file(model, read):
    for name in list_presets(model):
        plan = RunPlan.decide({"model": model, "preset": name})
        config = read(settings_toml(plan))
        again = RunPlan.decide(config.run, by_kind=config.preset)
        assert again == plan, name


def test_settings_that_need_each_other_are_read_in_any_order(read):
    text = "[model]\nnorm = 'batch'\norder = 'blocks'\n"
    assert read(text).preset["model"] == {"norm": "batch", "order": "blocks"}
    with pytest.raises(SettingsError, match=r"line 3: transform_dropout=0\.9 needs order"):
        read("[model]\norder = 'blocks'\ntransform_dropout = 0.9\n")
