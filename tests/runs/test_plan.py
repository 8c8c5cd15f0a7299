import pytest
import torch

from akgnn.data.tables.settings import TableSettings
from akgnn.errors import SettingsError, UnknownNameError
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.training.strategies.drop_edge import DropEdge


def test_a_plan_survives_its_record():
    which = RunSettings(dataset="csbm:homophily=0.2", split="60/20/20", split_seed=3, seed=4)
    plan = RunPlan.make(which, {"num_layers": "8", "learning_rate": "0.1"})
    assert RunPlan.from_dict(plan.to_dict()) == plan


def test_a_plan_with_another_strategy_survives_its_record():
    plan = RunPlan.make(RunSettings(model="gat"), {"strategy": "drop-edge", "keep": "0.5"})
    assert isinstance(plan.strategy(), DropEdge)
    assert RunPlan.from_dict(plan.to_dict()) == plan


@pytest.mark.parametrize("model", ["akgnn", "vbat"])
def test_a_record_without_the_strategys_name_means_that_of_the_model(model):
    plan = RunPlan.make(RunSettings(model=model))
    record = plan.to_dict()
    del record["strategy"]["strategy"]
    assert RunPlan.from_dict(record) == plan


def test_a_record_without_a_direction_means_symmetrised():
    plan = RunPlan.make(RunSettings())
    record = plan.to_dict()
    del record["run"]["direction"]
    assert RunPlan.from_dict(record) == plan


def test_tables_of_ones_own_get_the_preset_for_any_graph():
    tables = TableSettings(nodes="a/people.csv", edges="e.csv")
    plan = RunPlan.decide({"seed": 3}, tables=tables)
    assert (plan.run.dataset, plan.run.preset, plan.run.seed) == ("tables", "any-graph", 3)
    assert plan.data_name == "people"
    assert RunPlan.decide({"preset": "paper"}, tables=tables).run.preset == "paper"
    # In memory they have no name.
    assert RunPlan.decide({}, tables=TableSettings()).data_name == "tables"
    with pytest.raises(SettingsError, match="a data set or tables of your own"):
        RunPlan.decide({"dataset": "cora"}, tables=tables)


def test_the_preset_of_the_data_set_is_taken():
    which = RunSettings(dataset="pubmed", preset="authors-code")
    assert RunPlan.make(which).preset.model.num_layers == 8


def test_the_seed_decides_the_initial_weights():
    def weights(seed):
        plan = RunPlan.make(RunSettings(dataset="csbm:num_nodes=100", seed=seed))
        return next(plan.build(plan.load()).parameters())

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


def test_split_and_features_reach_the_data():
    which = RunSettings(split="20-per-class", split_seed=7, features="raw")
    data = RunPlan.make(which).load()
    assert data.split.name == "random-20-per-class-seed-7"
    assert data.x.value is None


def test_wrong_plans_are_refused():
    with pytest.raises(UnknownNameError, match="Did you mean 'akgnn'"):
        RunPlan.make(RunSettings(model="agknn"))
    with pytest.raises(SettingsError, match="direction must be one of symmetrised, kept"):
        RunSettings(direction="turned")
    with pytest.raises(SettingsError, match="seed must be an integer"):
        RunSettings(seed=0.5)


def names(plans):
    return [f"{plan.run.model} {plan.run.preset}" for plan in plans]


FOR_ANY_GRAPH = [
    "akgnn any-graph",
    "akgnn deep",
    "akgnn deep-short",
    "akgnn deep-middle",
    "akgnn deep-long",
]


def test_what_nobody_named_is_open_on_tables_and_on_graphs_of_others():
    tables = TableSettings(nodes="n.csv", edges="e.csv")
    for plan in (RunPlan.decide({}, tables=tables), RunPlan.decide({"dataset": "photo"})):
        assert names(plan.open) == [*FOR_ANY_GRAPH, "mlp unit-length"]
    assert RunPlan.decide({"dataset": "minesweeper"}).open[-1].preset.training.stop_on == "roc_auc"


@pytest.mark.parametrize(
    "run",
    [
        {},
        {"dataset": "citeseer"},
        {"dataset": "csbm:homophily=0.2"},
        {"dataset": "photo", "preset": "paper"},
        {"dataset": "photo", "model": "gcn"},
    ],
)
def test_elsewhere_nothing_is_open(run):
    plan = RunPlan.decide(run)
    assert not plan.open
    assert plan.run.preset == "paper"


def test_a_named_model_leaves_out_the_one_without_edges():
    assert names(RunPlan.decide({"dataset": "photo", "model": "akgnn"}).open) == FOR_ANY_GRAPH


def test_candidates_are_those_that_go_with_what_was_asked_for():
    plan = RunPlan.decide({"dataset": "photo"}, {"kernel": "signed", "epochs": 3})
    assert names(plan.open) == FOR_ANY_GRAPH
    assert {each.preset.training.epochs for each in plan.open} == {3}
    with pytest.raises(UnknownNameError, match="kernel_of_mine"):
        RunPlan.decide({"dataset": "photo"}, {"kernel_of_mine": 1})


def test_candidates_have_the_seed_and_the_split_of_the_plan():
    data = RunPlan.make(RunSettings(dataset="csbm:num_nodes=60")).load()
    plan = RunPlan.decide({"dataset": "photo"}).with_seed(5)
    candidates = plan.candidates(data)
    assert names(candidates) == [*FOR_ANY_GRAPH, "mlp unit-length"]
    assert {each.run.seed for each in candidates} == {5}
    assert not any(each.open for each in candidates)
    assert plan.suited_to(data) == candidates[0]


@pytest.mark.parametrize(
    ("run", "changes", "message"),
    [
        ({}, {"order": "blocks", "transform_dropout": 0.9}, "transform_dropout=0.9 needs order"),
        ({}, {"order": "hops", "transform_dropout": "0.6"}, "transform_dropout=0.6 needs order"),
        ({"preset": "deep"}, {"transform_dropout": 0.9}, "Choose from activation, "),
        ({}, {"share_weights": False, "transform_dropout": 0.1}, "needs share_weights=True"),
        (
            {"preset": "deep"},
            {"input_transform": False, "transform_bias": False},
            "needs input_transform=True",
        ),
        ({"model": "gat", "preset": "tuned"}, {"output_heads": 2}, "needs form='published'"),
        ({"model": "graphsage", "preset": "tuned"}, {"first_fan_out": 2}, "form='published'"),
        ({"model": "gcn"}, {"norm": "batch"}, "norm='batch' needs form='blocks'"),
        ({"model": "dropedge"}, {"self_map": False}, "self_map=False needs form='public-code'"),
        ({"model": "vbat"}, {"steps": 3}, "steps=3 needs adversary='optimised'"),
        ({"model": "gcn"}, {"phi_learning_rate": 0.1}, "phi_learning_rate has no effect with"),
        ({"model": "mlp"}, {"phi_decays_to": "start"}, "'mlp', which has no kernel"),
        ({"model": "gprgnn"}, {"same_starts": True}, "which trains from one start"),
        ({"model": "pgso"}, {"several_starts": False}, "which trains from one start"),
        ({}, {"learn_lambda": False, "phi_warm_up": 3}, "phi_warm_up has no effect with learn"),
        ({}, {"kernel_start": 3, "same_starts": True}, "same_starts has no effect with kernel_st"),
        ({}, {"several_starts": False, "same_starts": True}, "no effect with several_starts=F"),
        ({"model": "gradient-boosting"}, {"epochs": 3}, "which is no network"),
    ],
)
def test_a_setting_that_the_model_does_not_have_is_refused(run, changes, message):
    with pytest.raises(SettingsError, match=message):
        RunPlan.decide(run, changes)
    kinds = {"training": {}, "model": {}, "strategy": {}}
    known = RunPlan.decide({"preset": "paper", **run}).preset.to_dict()
    for name, value in changes.items():
        kinds[next(kind for kind, names in known.items() if name in names)][name] = value
    with pytest.raises(SettingsError, match=message):
        RunPlan.decide(run, by_kind=kinds)


def test_settings_of_a_file_and_of_the_command_line_are_put_in_together():
    file = {"model": {"transform_dropout": 0.9}}
    run = {"preset": "deep"}
    plan = RunPlan.decide(run, {"order": "propagate-first"}, by_kind=file)
    assert plan.preset.model.transform_dropout == 0.9
    # What only blocks have was the preset's, and nobody named it.
    assert plan.preset.model.norm == "none"


def test_a_record_of_a_setting_that_the_model_did_not_have_is_read():
    settings = RunPlan.decide({"preset": "deep"}).to_dict()
    settings["model"]["transform_dropout"] = 0.9
    assert RunPlan.from_dict(settings) == RunPlan.decide({"preset": "deep"})


def test_presets_that_a_named_setting_does_not_fit_are_told():
    tables = TableSettings(nodes="nodes.csv", edges="edges.csv")
    plan = RunPlan.decide({}, {"transform_dropout": 0.3}, tables=tables)
    assert [each.run.preset for each in plan.open] == ["any-graph"]
    assert plan.left_out == ("deep", "deep-short", "deep-middle", "deep-long", "mlp")
    assert RunPlan.decide({}, tables=tables).left_out == ()


def test_one_start_may_be_asked_for_where_there_is_one():
    for changes in ({"kernel_start": 3}, {"learn_lambda": False}):
        plan = RunPlan.decide({}, {**changes, "several_starts": False})
        assert not plan.preset.training.several_starts


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"edges": (), "source": "from"}, "`source='from'` needs a table of edges"),
        ({"edges": (), "weight": "w"}, "`weight='w'` needs a table of edges"),
        ({"edges": (), "unknown_ids": "drop"}, "`unknown_ids='drop'` needs a table of edges"),
        ({"edges": "e.csv", "neighbours": 5}, "`neighbours=5` needs rows without a table of edges"),
    ],
)
def test_settings_of_tables_that_have_no_effect_are_refused(settings, words):
    with pytest.raises(SettingsError, match=words):
        TableSettings(nodes="n.csv", **settings)


@pytest.mark.parametrize("split", [None, "public"])
def test_a_split_seed_that_draws_nothing_is_refused(split):
    run = RunSettings(dataset="cora", split=split, split_seed=3)
    with pytest.raises(SettingsError, match="`split_seed=3` has no effect on the fixed split"):
        RunPlan.make(run).load()
    drawn = RunSettings(dataset="cora", split="20-per-class", split_seed=3)
    assert RunPlan.make(drawn).load().split.name.endswith("seed-3")
