from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from akgnn.cli.options import (
    check_range,
    decide_plan,
    given,
    hints,
    parsed_changes,
    resumed_plan,
    scale_hint,
    table_settings,
    weight_hint,
)
from akgnn.data.catalogue import load_dataset
from akgnn.data.tables.settings import TableSettings
from akgnn.errors import SettingsError, UnknownNameError
from akgnn.runs.folder import RunFolder
from akgnn.runs.plan import RunPlan, RunSettings

CONFIG = '[run]\nmodel = "gcn"\nseed = 3\n[model]\nhidden_channels = 4\n[training]\nepochs = 9\n'
TABLES = {"nodes": Path("n.csv"), "edges": Path("e.csv")}


def test_what_was_not_given_is_left_open():
    params = {"seed": 0, "force": False, "model": None, "label": "", "id_column": "key"}
    run, tables = given(SimpleNamespace(params=params))
    assert (run, tables) == ({"seed": 0}, {"label": "", "id": "key"})


def test_options_go_over_the_file_which_goes_over_the_preset(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text(CONFIG)
    plan = decide_plan({"seed": 5}, {}, file, {"epochs": "7"})
    assert (plan.run.model, plan.run.seed) == ("gcn", 5)
    assert plan.preset.model.hidden_channels == 4
    assert plan.preset.training.epochs == 7
    assert plan.tables is None


def test_tables_of_a_file_are_seen_from_the_file_and_options_from_here(tmp_path, monkeypatch):
    file = tmp_path / "there" / "a.toml"
    file.parent.mkdir()
    file.write_text('[tables]\nnodes = "n.csv"\nedges = "e.csv"\nlabel = "topic"\n')
    monkeypatch.chdir(tmp_path)
    tables = decide_plan({}, {"edges": Path("mine.csv")}, file, {}).tables
    assert tables.nodes == str(file.parent / "n.csv")
    assert tables.edges == str(tmp_path / "mine.csv")
    assert tables.label == "topic"


def test_own_tables_bring_their_whole_path_and_their_preset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = decide_plan({}, TABLES, None, {})
    assert (plan.run.dataset, plan.run.preset) == ("tables", "any-graph")
    assert plan.tables.nodes == str(tmp_path / "n.csv")
    assert plan.data_name == "n"
    assert decide_plan({"preset": "paper"}, TABLES, None, {}).run.preset == "paper"
    # A model without that preset has its first.
    assert decide_plan({"model": "sgc"}, TABLES, None, {}).run.preset == "paper"


def test_a_data_set_beside_tables_is_refused():
    with pytest.raises(SettingsError, match="not both"):
        decide_plan({"dataset": "cora"}, TABLES, None, {})


def test_edges_alone_are_refused():
    with pytest.raises(SettingsError, match="Your own tables need --nodes"):
        table_settings({"edges": "a.csv"}, {})


@pytest.mark.parametrize("config", [{}, {"edges": ""}, {"edges": []}])
def test_nodes_alone_have_no_edges(config):
    assert table_settings({"nodes": "a.csv"}, config).has_no_edges
    assert not table_settings({"nodes": "a.csv", "edges": ["b.csv"]}, config).has_no_edges


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
    plan = decide_plan(run, {"nodes": "a.csv"}, None, {})
    assert (plan.run.preset, plan.run.direction) == (preset, direction)


def test_without_tables_there_are_no_settings_of_tables():
    assert table_settings({}, {}) is None


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
    assert resumed_plan([None, free], {}, {}, {}) is None
    assert resumed_plan([None, free, folder], {}, {}, {}) == plan
    repeated = {"seed": 4}, {"nodes": Path("n.csv")}, {"epochs": str(plan.preset.training.epochs)}
    assert resumed_plan([folder], *repeated) == plan
    # Training itself refuses another run than the folder's.
    assert resumed_plan([folder], {"seed": 5}, {}, {}) == plan.with_seed(5)
    with pytest.raises(UnknownNameError, match="Unknown setting 'epoch'"):
        resumed_plan([folder], {}, {}, {"epoch": "3"})


def test_the_feature_of_the_largest_numbers_is_named():
    data = load_dataset("csbm:num_nodes=60,num_features=2")
    named = SimpleNamespace(feature_names=("age", "year"))
    years = torch.stack([torch.full((60,), 30.0), torch.full((60,), -2024.0)], 1)
    plain = TableSettings(prepare="plain")
    assert scale_hint(replace(data, x=years, tables=plain)) is None
    assert scale_hint(replace(data, x=years, recipe=named, tables=plain)) == (
        "Column 'year' holds numbers as large as 2,024; networks learn best from numbers of about "
        "1. --prepare auto scales them."
    )
    assert scale_hint(replace(data, x=years[:, :1], recipe=named, tables=plain)) is None
    # Prepared by what they are, only outliers are large, and those are brought near.
    assert scale_hint(replace(data, x=years, recipe=named, tables=TableSettings())) is None


def test_a_number_outside_its_range_is_refused_and_none_is_not():
    check_range("--seeds", None, 1, 3)
    check_range("--seeds", 3, 1, 3)
    with pytest.raises(SettingsError, match="--seeds must be from 1 to 3, got 4"):
        check_range("--seeds", 4, 1, 3)


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
    plan = decide_plan(run, TABLES, None, changes)
    assert plan.preset.model.normalisation == form
    tried = [each for each in (*plan.open, *plan.mixed) if each.run.model == "akgnn"]
    assert all(each.preset.model.normalisation == form for each in tried)
    assert len(tried) == (0 if "preset" in run else 8)


def test_a_file_or_a_model_may_decide_otherwise_about_directions(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text('[run]\ndirection = "kept"\n[model]\nnormalisation = "row"\n')
    assert decide_plan({}, TABLES, file, {}).preset.model.normalisation == "row"
    plan = decide_plan({"model": "gcn", "direction": "kept"}, TABLES, None, {})
    assert "normalisation" not in plan.preset.model.names()


@pytest.mark.parametrize(
    ("file", "tables", "is_said"),
    [
        ("e.csv", {}, True),
        (("e.csv", "f.csv"), {}, True),
        ("e.csv", {"weight": "calls"}, False),
        ("e.csv", {"source": "Weight"}, False),
        ("plain.csv", {}, False),
        ("e.jsonl", {}, False),
        ((), {}, False),
        ("", {}, False),
    ],
    ids=["one", "several", "asked for", "an end", "none", "slow to open", "no edges", "in memory"],
)
def test_weights_that_nobody_asked_for_are_mentioned(file, tables, is_said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("e.csv").write_text("source,target,Weight,calls\na,b,2,3\n")
    Path("plain.csv").write_text("source,target,calls\na,b,3\n")
    Path("e.jsonl").write_text('{"source": "a", "target": "b", "weight": 2}\n')
    data = load_dataset("csbm:num_nodes=60")
    start = {"source": "source"} if file != () else {}
    read = TableSettings(**{"nodes": "n.csv", "edges": file, **start, **tables})
    expected = "Every edge weighs 1; --weight Weight takes the weights of that column."
    hint = weight_hint(replace(data, tables=read))
    assert hint == (expected if is_said else None)
    assert hints(replace(data, tables=read)) == ([expected] if is_said else [])
    assert hints(data) == []
