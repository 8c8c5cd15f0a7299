import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from akgnn.data.node_data import NodeData
from akgnn.data.splits import Split
from akgnn.data.tables.settings import TableSettings
from akgnn.graph import Graph
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.verdict import verdict_of

PLAN = RunPlan.make(RunSettings(preset="any-graph"))
Y = torch.tensor([0, 0, 1] * 10)
EDGES = torch.tensor([[0, 1, 2], [3, 4, 5]])
PARTS = torch.arange(30).split([12, 9, 9])
DATA = NodeData(
    "d",
    Y.float().unsqueeze(1),
    Y,
    Graph.from_edge_index(EDGES, num_nodes=30).symmetrised(),
    Split("s", *PARTS),
    ("red", "blue"),
)


def run(test=80.0, val=80.0, history=(10.0, 80.0), model=None):
    result = SimpleNamespace(
        test_accuracy=test, val_accuracy=val, history=SimpleNamespace(val_accuracy=list(history))
    )
    return SimpleNamespace(result=result, plan=PLAN, model=model, sees_links=True)


def test_the_most_frequent_class_is_named_with_its_score():
    verdict = verdict_of([run()], DATA)
    assert verdict.most_frequent == "red"
    assert verdict.test_most_frequent == pytest.approx(200 / 3)
    assert verdict.val_most_frequent == pytest.approx(200 / 3)
    assert verdict.notes == ()
    assert math.isnan(verdict.val_without_links)


def test_where_training_nodes_are_balanced_validation_tells_the_most_frequent():
    y = torch.tensor([0, 1] * 6 + [1] * 8 + [0] + [1] * 9)
    assert verdict_of([run(test=100)], replace(DATA, y=y)).most_frequent == "blue"


def test_a_result_no_better_than_that_is_said():
    (note,) = verdict_of([run(test=66.6)], DATA).notes
    assert note.startswith("This is no better than always naming 'red', which is right for 66.7 %")
    # Several seeds are judged by their mean.
    assert verdict_of([run(test=60), run(test=80)], DATA).notes == ()
    assert verdict_of([run(test=60), run(test=70)], DATA).notes != ()


def test_without_test_nodes_validation_tells():
    data = DATA.with_split(replace(DATA.split, test=DATA.split.test[:0]))
    assert verdict_of([run(test=math.nan, val=80)], data).notes == ()
    assert "no better" in verdict_of([run(test=math.nan, val=50)], data).notes[0]


def test_a_score_that_never_moved_is_no_success():
    (note,) = verdict_of([run(test=99, history=[40.0] * 10)], DATA).notes
    assert note.startswith("The model did not learn: its validation score never moved.")
    assert verdict_of([run(test=99, history=[40.0] * 9)], DATA).notes == ()


def test_links_that_do_not_help_are_said_of_tables():
    data = replace(DATA, tables=TableSettings())

    def columns_alone(x, graph):
        assert graph.num_edges == 0
        return torch.cat([1 - x, x], 1)

    verdict = verdict_of([run(model=columns_alone)], data)
    assert verdict.val_without_links == 100
    assert "Links do not help: the same model scores 100.0 % on validation" in verdict.notes[0]
    better = verdict_of([run(val=100.0, model=lambda x, graph: torch.cat([x, 1 - x], 1))], data)
    assert better.val_without_links == 0
    assert better.notes == ()


def test_a_model_that_sees_no_links_is_not_asked_without_them():
    data = replace(DATA, tables=TableSettings())
    seen = run(model=lambda x, graph: pytest.fail("it was asked"))
    seen.sees_links = False
    verdict = verdict_of([seen], data)
    assert math.isnan(verdict.val_without_links)
    assert verdict.notes == ()


def test_unbalanced_classes_ask_for_other_scores():
    y = torch.tensor([0] * 11 + [1] + [0, 1] * 9)
    data = replace(DATA, y=y)
    assert any("unbalanced" in note for note in verdict_of([run()], data).notes)
