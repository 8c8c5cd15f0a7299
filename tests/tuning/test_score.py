import math
from dataclasses import replace

import pytest
import torch

from akgnn.data.catalogue import load_dataset
from akgnn.data.splits import Split
from akgnn.training.history import History
from akgnn.tuning.score import Score

DATA = load_dataset("csbm:num_nodes=1000,num_classes=2", split="20/40/40")


@pytest.mark.parametrize(
    ("stop_on", "column", "best"),
    [
        ("loss", "val_loss", 0.5),
        ("either", "val_loss", 0.5),
        ("accuracy", "val_accuracy", 80.0),
        ("roc_auc", "val_roc_auc", 90.0),
        ("log_loss", "val_log_loss", 0.4),
    ],
)
def test_the_score_is_what_training_stops_on(stop_on, column, best):
    score = Score.of(stop_on)
    history = History(
        val_loss=[0.5, 0.7],
        val_accuracy=[60.0, 80.0],
        scores={"val_roc_auc": [90.0, 70.0], "val_log_loss": [0.6, 0.4]},
    )
    assert score.column == column
    assert score.best(history) == best
    assert score.metric.lower_is_better == column.endswith("_loss")


def test_the_error_of_an_accuracy_is_the_binomials():
    hits = torch.rand(2000, 400, generator=torch.Generator().manual_seed(0)) < 0.8
    assert len(DATA.split.val) == 400
    expected = 100 * float(hits.double().mean(1).std())
    assert Score.of("accuracy").standard_error(80.0, DATA) == pytest.approx(expected, rel=0.05)


def test_the_error_of_a_roc_auc_is_that_of_the_smaller_class():
    y = torch.cat([torch.zeros(90), torch.ones(10)]).long()
    nodes = torch.arange(100)
    uneven = replace(
        load_dataset("csbm:num_nodes=102,num_classes=2"),
        y=torch.cat([y, torch.tensor([0, 1])]),
        split=Split("uneven", torch.tensor([100, 101]), nodes, nodes[:0]),
    )
    share = (10 * 0.9 + 1) / 12
    expected = 100 * math.sqrt(share * (1 - share) / 10)
    assert Score.of("roc_auc").standard_error(90.0, uneven) == pytest.approx(expected)


def test_all_right_is_not_certain():
    assert 0.1 < Score.of("accuracy").standard_error(100.0, DATA) < 0.5


def test_a_loss_has_no_error_of_its_own():
    assert Score.of("loss").standard_error(0.5, DATA) == 0
