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
