import math
from dataclasses import replace

from akgnn.trackers.rows import epoch_row, result_row, settings_row
from akgnn.training.history import History
from akgnn.training.kernel_places import Place
from akgnn.training.plan import RunPlan, RunSettings
from akgnn.training.train_runs import train_run


def test_an_epoch_has_one_number_for_each_name():
    history = History()
    row = {"train_loss": 1.0, "train_accuracy": 2.0, "val_loss": 3.0, "val_accuracy": 4.0}
    history.append(**row, lambda_max=[2.0, 1.5], val_roc_auc=5.0, start=1)
    history.append(
        **{**row, "val_loss": 6.0}, lambda_max=[2.5, float("inf")], val_roc_auc=7.0, start=1
    )
    assert epoch_row(history, 2, [Place(1, "in", 2), Place(1, "out", 2)]) == {
        "loss/train": 1.0,
        "accuracy/train": 2.0,
        "loss/validation": 6.0,
        "accuracy/validation": 4.0,
        "roc_auc/validation": 7.0,
        "lambda_max/layer 1 in group 2": 2.5,
        "start": 1,
    }
    assert epoch_row(history, 1, [Place(1), Place(2)])["loss/validation"] == 3.0


def test_settings_and_results_are_plain_values():
    which = RunSettings(dataset="csbm:num_nodes=150", model="mlp", seed=3)
    plan = RunPlan.make(which, {"epochs": 2, "hidden_channels": 8})
    settings = settings_row(plan)
    assert settings["run.seed"] == 3
    assert settings["run.split"] == "none"
    assert settings["training.decay_biases"] is False
    assert settings["model.hidden_channels"] == 8
    result = train_run(plan, plan.load())
    row = result_row(result)
    assert row["test_accuracy"] == result.fit.test_accuracy
    # Without test nodes there are no such scores.
    without = replace(result, fit=replace(result.fit, test_roc_auc=math.nan))
    assert set(row) - set(result_row(without)) == {"test_roc_auc"}
