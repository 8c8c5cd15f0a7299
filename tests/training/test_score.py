import pytest

from akgnn.training.history import History
from akgnn.training.score import Score


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


@pytest.mark.parametrize(
    ("stops", "column"),
    [
        (["roc_auc", "roc_auc"], "val_roc_auc"),
        (["roc_auc", "accuracy"], "val_log_loss"),
        (["accuracy", "accuracy"], "val_log_loss"),
        (["loss"], "val_log_loss"),
        (["either"], "val_log_loss"),
    ],
)
def test_a_choice_goes_by_the_calibrated_loss_or_by_what_all_stop_on(stops, column):
    assert Score.for_choice(stops).column == column


def test_the_best_is_the_lowest_loss_or_the_highest_score_and_of_equal_ones_the_first():
    values = {"a": 2.0, "b": 1.0, "c": 1.0, "d": 2.0}
    assert Score.of("loss").best_of(values, values.__getitem__) == "b"
    assert Score.of("accuracy").best_of(values, values.__getitem__) == "a"
