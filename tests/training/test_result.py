import math

import pytest

from akgnn.data.catalogue import load_dataset
from akgnn.models.akgnn import AKGNN
from akgnn.training.calibration import UNCALIBRATED, Calibration
from akgnn.training.fit import fit
from akgnn.training.history import History
from akgnn.training.result import FitResult
from akgnn.training.settings import TrainSettings


def written(**others):
    """A result as the first records had it, when there were fewer scores."""
    scores = ("test_accuracy", "val_accuracy", "val_loss", "train_accuracy")
    numbers = {"best_epoch": 2, "epochs": 3, "seconds": 1.5, "lambda_max": [2.0]}
    return dict.fromkeys(scores, 50.0) | numbers | others


def test_a_result_survives_its_record():
    data = load_dataset("csbm:num_nodes=400,homophily=0.8,signal=6")
    model = AKGNN(data.num_features, 16, data.num_classes, kernel="signed")
    result = fit(model, data, TrainSettings(epochs=3, patience=10))
    assert len(result.restarts) == 3
    assert result.num_test == data.split.test.numel() > 0
    assert FitResult.from_dict(result.to_dict(), result.history) == result


def test_scores_that_a_record_has_not_are_not_numbers():
    result = FitResult.from_dict(written(test_macro_f1=None), History())
    assert result.test_accuracy == 50
    assert math.isnan(result.test_macro_f1)
    assert math.isnan(result.val_roc_auc)
    assert (result.neighbour_share, result.restarts) == ((), ())


def test_a_record_with_a_temperature_alone_has_it_for_all_nodes():
    assert FitResult.from_dict(written(), History()).calibration == UNCALIBRATED
    result = FitResult.from_dict(written(temperature=0.67), History())
    assert result.calibration == Calibration(temperature=0.67)
    assert "temperature" not in result.scores
    assert "temperature_power" not in FitResult.from_dict(result.to_dict(), History()).scores


def test_a_score_of_somebody_elses_metric_is_kept():
    result = FitResult.from_dict(written(test_f2=12.5), History())
    assert result.test_f2 == result.to_dict()["test_f2"] == 12.5


def test_a_record_without_its_number_of_test_nodes_has_no_interval():
    before = FitResult.from_dict(written(), History())
    assert (before.num_test, before.to_dict()["num_test"]) == (0, 0)
    assert all(map(math.isnan, before.test_accuracy_ci95))
    result = FitResult.from_dict(written(num_test=100), History())
    assert result.test_accuracy_ci95 == pytest.approx((40.38, 59.62), abs=0.01)
    assert result.to_dict()["test_accuracy_ci95"] == list(result.test_accuracy_ci95)
    assert "num_test" not in result.metrics


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 1.5},
        {"test_accuracy": "high"},
        {"lambda_max": 2.0},
        {"starts": [{"start": "1"}]},
        {"temperature": 0.0},
        {"temperature_power": 1.5},
        {"typical_size": -1.0},
        {"uniform_share": 2.0},
        {"num_test": 1.5},
        {"num_test": -1},
        {"num_test": 10**400},
    ],
    ids=str,
)
def test_a_result_of_other_types_is_refused(wrong):
    with pytest.raises((ValueError, KeyError)):
        FitResult.from_dict(written(**wrong), History())
