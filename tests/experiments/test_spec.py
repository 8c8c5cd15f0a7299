from dataclasses import replace

import pytest

from akgnn.experiments.spec import Cell, Published, Row, Spec, shown_name
from akgnn.runs.plan import RunPlan, RunSettings

ROW = Row(
    label="AKGNN",
    model="akgnn",
    preset="paper",
    changes={"epochs": 2, "learn_lambda": False},
    seeds=3,
    published={"cora": Published(84.4, 0.3)},
    about="",
)


def cell_of(row=ROW, dataset="cora", splits=False, **point):
    split = "20-per-class" if splits else None
    run = RunSettings(dataset=dataset, model=row.model, preset=row.preset, split=split)
    return Cell(row, dataset, point, RunPlan.make(run, {**row.changes, **point}), splits)


def test_a_plan_differs_from_the_template_in_its_seed_alone():
    cell = cell_of(num_layers=4)
    assert cell.plan(0) == cell.template
    assert cell.plan(7) == cell.template.with_seed(7)
    assert cell.plan(7).preset.model.num_layers == 4


def test_as_many_plans_as_the_row_says_or_as_asked_for():
    assert [plan.run.seed for plan in cell_of().plans()] == [0, 1, 2]
    assert [plan.run.seed for plan in cell_of().plans(5)] == [0, 1, 2, 3, 4]


def test_a_random_split_goes_with_its_seed():
    plans = cell_of(splits=True).plans()
    assert [(plan.run.seed, plan.run.split_seed) for plan in plans] == [(0, 0), (1, 1), (2, 2)]
    assert {plan.run.split_seed for plan in cell_of().plans()} == {0}


def test_a_cell_has_the_published_value_of_its_data_set():
    assert cell_of().published == Published(84.4, 0.3)
    assert cell_of(dataset="pubmed").published is None


def test_the_point_of_the_grid_goes_over_what_the_row_changes():
    assert cell_of(epochs=5).changes == {"epochs": 5, "learn_lambda": False}


def test_the_command_trains_the_same(capsys):
    from akgnn.cli.main import main

    command = cell_of(num_layers=1).command(2)
    assert command == (
        "akgnn train --dataset cora --model akgnn --set epochs=2 --set learn_lambda=false "
        "--set num_layers=1 --seeds 2"
    )
    assert main(command.split()[1:]) == 0


def test_the_command_names_preset_and_split():
    row = replace(ROW, preset="authors-code", changes={})
    assert cell_of(row, splits=True).command(9) == (
        "akgnn train --dataset cora --model akgnn --preset authors-code "
        "--split 20-per-class --split-seed S --seed S"
    )


@pytest.fixture
def spec():
    gcn = replace(ROW, label="GCN", model="gcn", changes={}, published={})
    cells = [
        cell_of(row, dataset, num_layers=depth)
        for row in (ROW, gcn)
        for dataset in ("pubmed", "cora")
        for depth in (1, 2)
    ]
    return Spec("mine", "Mine", "", "table", False, False, tuple(cells))


def test_rows_and_data_sets_are_listed_once_in_their_order(spec):
    assert [row.label for row in spec.rows] == ["AKGNN", "GCN"]
    assert spec.datasets == ["pubmed", "cora"]


def test_readers_see_no_sign_of_the_draw():
    assert shown_name("csbm:homophily=0.3,seed=#") == "homophily 0.3"
    assert shown_name("csbm:seed=#") == "csbm"
    assert shown_name("csbm:num_nodes=60") == "csbm:num_nodes=60"
    assert shown_name("texas") == "Texas"
