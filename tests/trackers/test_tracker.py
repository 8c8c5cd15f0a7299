import math

from akgnn.models.scalars import Position
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.trackers.tracker import epoch_row, result_row, settings_row
from akgnn.training.history import History
from akgnn.training.result import FitResult


def test_an_epoch_has_one_number_for_each_name():
    history = History()
    row = {"train_loss": 1.0, "train_accuracy": 2.0, "val_loss": 3.0, "val_accuracy": 4.0}
    history.append(**row, lambda_max=[2.0, 1.5], val_roc_auc=5.0, start=1)
    history.append(
        **{**row, "val_loss": 6.0}, lambda_max=[2.5, float("inf")], val_roc_auc=7.0, start=1
    )
    assert epoch_row(history, 2, [Position(1, "in", 2), Position(1, "out", 2)]) == {
        "loss/train": 1.0,
        "accuracy/train": 2.0,
        "loss/validation": 6.0,
        "accuracy/validation": 4.0,
        "roc_auc/validation": 7.0,
        "lambda_max/layer 1 in group 2": 2.5,
        "start": 1,
    }
    assert epoch_row(history, 1, [Position(1), Position(2)])["loss/validation"] == 3.0


def test_settings_are_plain_values():
    which = RunSettings(dataset="csbm:num_nodes=150", model="mlp", seed=3)
    settings = settings_row(RunPlan.make(which, {"hidden_channels": 8}))
    assert settings["run.seed"] == 3
    assert settings["run.split"] == "none"
    assert settings["training.decay_biases"] is False
    assert settings["model.hidden_channels"] == 8


def test_results_are_the_scores_that_there_are():
    scores = {"test_accuracy": math.nan, "val_accuracy": 60.0, "val_loss": 0.5}
    result = FitResult(scores, 2, 5, 1.0, (), (), (), History())
    # Without test nodes there are no such scores.
    assert result_row(result) == {
        "val_accuracy": 60.0,
        "val_loss": 0.5,
        "best_epoch": 2.0,
        "epochs": 5.0,
    }
