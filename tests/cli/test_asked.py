import pytest

from akgnn.cli.asked import Asked, own_preset, parsed_changes
from akgnn.errors import SettingsError

CONFIG = '[run]\nmodel = "gcn"\nseed = 3\n[model]\nhidden_channels = 4\n[training]\nepochs = 9\n'
TABLES = {"nodes": "n.csv", "edges": "e.csv", "label": None}


def test_options_go_over_the_file_which_goes_over_the_preset(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text(CONFIG)
    plan = Asked({"seed": 5}, {}, file, {"epochs": "7"}).plan()
    assert (plan.which.model, plan.which.seed) == ("gcn", 5)
    assert plan.preset.model.hidden_channels == 4
    assert plan.preset.training.epochs == 7
    assert plan.tables is None


def test_own_tables_bring_their_whole_path_and_their_preset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = Asked({}, TABLES).plan()
    assert (plan.which.dataset, plan.which.preset) == ("tables", "any-graph")
    assert plan.tables.nodes == str(tmp_path / "n.csv")
    assert plan.data_name == "n"
    assert Asked({"preset": "paper"}, TABLES).plan().which.preset == "paper"


def test_another_model_may_be_named():
    asked = Asked({"seed": 2})
    assert asked.naming(model="sgc").plan().which.model == "sgc"
    assert asked.plan().which.model == "akgnn"


def test_a_data_set_beside_tables_is_refused():
    with pytest.raises(SettingsError, match="not both"):
        Asked({"dataset": "cora"}, TABLES).plan()


def test_models_without_the_preset_have_their_first():
    assert own_preset("akgnn") == "any-graph"
    assert own_preset("sgc") == "paper"


def test_changes_are_pairs():
    assert parsed_changes(["a=1", "b=x=y"]) == {"a": "1", "b": "x=y"}
    with pytest.raises(SettingsError, match="NAME=VALUE"):
        parsed_changes(["a"])
