"""Requests: what goes over what, and which options cannot be combined."""

from dataclasses import fields
from pathlib import Path

import pytest

from akgnn.cli.request_options import parsed_changes, request_of
from akgnn.data.tables.settings import TableSettings
from akgnn.errors import SettingsError, UnknownNameError
from akgnn.runs.api import train
from akgnn.runs.config import Config
from akgnn.runs.folder import RunFolder
from akgnn.runs.outcomes import kept_plan, plan_asked, table_settings
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.request import OF_DATA, Request

CONFIG = '[run]\nmodel = "gcn"\nseed = 3\n[model]\nhidden_channels = 4\n[training]\nepochs = 9\n'
TABLES = {"nodes": Path("n.csv"), "edges": Path("e.csv")}


def test_each_option_has_a_help_and_a_meaning():
    for item in fields(Request):
        assert f"\n        {item.name}: " in Request.__doc__
        assert item.name == "callbacks" or item.metadata["help"]
    assert set(OF_DATA) < {item.name for item in fields(Request)}


def test_what_was_not_given_is_left_open():
    request = request_of({"seed": 0, "force": False, "model": None, "id": "key", "edges": []})
    assert request.values(RunSettings.names()) == {"seed": 0}
    assert request.values(TableSettings.names()) == {"id": "key"}
    assert [item.name for item in request.given()] == ["id", "seed"]


def test_words_ask_for_the_same():
    asked = Request(
        "cora", seeds=3, vote=False, settings={"epochs": 4}, force=True, track=["mlflow"], seed=0
    )
    words = ["--dataset", "cora", "--set", "epochs=4", "--seed", "0", "--seeds", "3", "--no-vote"]
    assert asked.words() == [*words, "--force", "--track", "mlflow"]
    assert Request().words() == []


def test_an_unknown_option_is_answered_with_the_likely_one():
    with pytest.raises(UnknownNameError, match=r"Unknown option 'nodse'\. Did you mean 'nodes'"):
        train(nodse="n.csv")


def test_options_go_over_the_file_which_goes_over_the_preset(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text(CONFIG)
    plan = plan_asked(Request(seed=5, config=file, settings={"epochs": "7"}))
    assert (plan.run.model, plan.run.seed) == ("gcn", 5)
    assert plan.preset.model.hidden_channels == 4
    assert plan.preset.training.epochs == 7
    assert plan.tables is None


def test_tables_of_a_file_are_seen_from_the_file_and_options_from_here(tmp_path, monkeypatch):
    file = tmp_path / "there" / "a.toml"
    file.parent.mkdir()
    file.write_text('[tables]\nnodes = "n.csv"\nedges = "e.csv"\nlabel = "topic"\n')
    monkeypatch.chdir(tmp_path)
    tables = plan_asked(Request(edges=Path("mine.csv"), config=file)).tables
    assert tables.nodes == str(file.parent / "n.csv")
    assert tables.edges == str(tmp_path / "mine.csv")
    assert tables.label == "topic"


def test_own_tables_bring_their_whole_path_and_their_preset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = plan_asked(Request(**TABLES))
    assert (plan.run.dataset, plan.run.preset) == ("tables", "any-graph")
    assert plan.tables.nodes == str(tmp_path / "n.csv")
    assert plan.data_name == "n"
    assert plan_asked(Request(preset="paper", **TABLES)).run.preset == "paper"
    # A model without that preset has its first.
    assert plan_asked(Request(model="sgc", **TABLES)).run.preset == "paper"


def test_a_data_set_beside_tables_is_refused():
    with pytest.raises(SettingsError, match="not both"):
        plan_asked(Request(dataset="cora", **TABLES))


def test_edges_alone_are_refused():
    with pytest.raises(SettingsError, match="Your own tables need `nodes`"):
        table_settings(Request(edges="a.csv"))


@pytest.mark.parametrize("config", [{}, {"edges": ""}, {"edges": []}])
def test_nodes_alone_have_no_edges(config):
    assert table_settings(Request(nodes="a.csv"), Config(tables=config)).has_no_edges
    assert not table_settings(
        Request(nodes="a.csv", edges=["b.csv"]), Config(tables=config)
    ).has_no_edges


@pytest.mark.parametrize(
    ("run", "preset", "direction"),
    [
        ({}, "nearest-neighbours", "kept"),
        ({"direction": "symmetrised"}, "nearest-neighbours", "symmetrised"),
        ({"preset": "nearest-neighbours"}, "nearest-neighbours", "kept"),
        ({"preset": "any-graph"}, "any-graph", "symmetrised"),
        # Only akgnn has settings for nearest rows.
        ({"model": "gcn"}, "any-graph", "symmetrised"),
        ({"model": "sgc"}, "paper", "symmetrised"),
    ],
)
def test_without_edges_the_preset_is_that_of_nearest_rows(run, preset, direction):
    plan = plan_asked(Request(**run, nodes="a.csv"))
    assert (plan.run.preset, plan.run.direction) == (preset, direction)


def test_without_tables_there_are_no_settings_of_tables():
    assert table_settings(Request()) is None


def test_changes_are_pairs():
    assert parsed_changes(["a=1", "b=x=y", "c="]) == {"a": "1", "b": "x=y", "c": ""}
    for wrong in ("a", "=1", ""):
        with pytest.raises(SettingsError, match="NAME=VALUE"):
            parsed_changes([wrong])


@pytest.fixture
def begun(tmp_path):
    """A folder with a run that was begun on tables."""
    tables = TableSettings(nodes=str(tmp_path / "n.csv"), edges=str(tmp_path / "e.csv"))
    plan = RunPlan.make(RunSettings(dataset="tables", seed=4), tables=tables)
    folder = RunFolder(tmp_path / "run")
    folder.prepare()
    folder.write({"settings": plan.to_dict(), "status": "running"}, None)
    return folder, plan


def test_a_run_to_go_on_with_has_its_plan_and_options_may_repeat_it(begun, tmp_path, monkeypatch):
    folder, plan = begun
    monkeypatch.chdir(tmp_path)
    free = RunFolder(tmp_path / "free")
    assert kept_plan(Request(resume=True), [None, free]) is None
    assert kept_plan(Request(resume=True), [None, free, folder]) == plan
    epochs = {"epochs": str(plan.preset.training.epochs)}
    repeated = Request(seed=4, nodes=Path("n.csv"), settings=epochs, resume=True)
    assert kept_plan(repeated, [folder]) == plan
    # Training itself refuses another run than the folder's.
    assert kept_plan(Request(seed=5, resume=True), [folder]) == plan.with_seed(5)
    with pytest.raises(UnknownNameError, match="Unknown setting 'epoch'"):
        kept_plan(Request(settings={"epoch": "3"}, resume=True), [folder])


@pytest.mark.parametrize(
    ("run", "changes", "form"),
    [
        ({"direction": "kept"}, {}, "directed"),
        ({"direction": "kept"}, {"normalisation": "row"}, "row"),
        ({"direction": "kept", "preset": "any-graph"}, {}, "sym"),
        ({}, {}, "sym"),
    ],
)
def test_directions_that_are_kept_ask_for_a_kernel_that_knows_them(run, changes, form):
    plan = plan_asked(Request(**run, **TABLES, settings=changes))
    assert plan.preset.model.normalisation == form
    tried = [each for each in (*plan.open, *plan.mixed) if each.run.model == "akgnn"]
    assert all(each.preset.model.normalisation == form for each in tried)
    assert len(tried) == (0 if "preset" in run else 8)


def test_a_file_or_a_model_may_decide_otherwise_about_directions(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text('[run]\ndirection = "kept"\n[model]\nnormalisation = "row"\n')
    assert plan_asked(Request(**TABLES, config=file)).preset.model.normalisation == "row"
    plan = plan_asked(Request(model="gcn", direction="kept", **TABLES))
    assert "normalisation" not in plan.preset.model.names()
