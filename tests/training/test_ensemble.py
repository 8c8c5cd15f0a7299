import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from akgnn.data.catalogue import load_dataset
from akgnn.errors import DataError, SettingsError
from akgnn.models.registry import build_model, find_model
from akgnn.training.calibration import (
    DOUBTFUL_NODES,
    UNCALIBRATED,
    Calibration,
    calibration_of,
)
from akgnn.training.ensemble import Ensemble, ensemble_result, first_member
from akgnn.training.fit import fit
from akgnn.training.metrics import METRICS
from akgnn.training.settings import TrainSettings

DATA = load_dataset("csbm:num_nodes=120")


class Fixed(nn.Module):
    """A model that gives these scores whatever it is asked."""

    def __init__(self, scores):
        super().__init__()
        self.scores = nn.Parameter(scores)

    def forward(self, x, graph):
        return self.scores


def fixed(*shape, number=3):
    return [Fixed(torch.randn(shape, dtype=torch.float64)) for _ in range(number)]


def answer(models, temperatures):
    calibrations = [Calibration(temperature=value) for value in temperatures]
    return Ensemble(models, calibrations)(DATA.x, DATA.graph)


@pytest.fixture(scope="module")
def trained():
    """Three models of one kind, and what each came to."""
    models, results = [], []
    for seed in range(3):
        sizes = DATA.num_features, DATA.num_classes
        model = build_model("gcn", find_model("gcn").settings(), *sizes, seed=seed)
        results.append(fit(model, DATA, TrainSettings(epochs=20), seed=seed))
        models.append(model)
    return Ensemble(models, [result.calibration for result in results]).eval(), results


def test_it_is_the_mean_of_the_probabilities_each_calibrated():
    models, temperatures = fixed(5, 4), [0.5, 1.0, 3.0]
    wanted = sum(
        (model.scores / temperature).softmax(1)
        for model, temperature in zip(models, temperatures, strict=True)
    )
    assert torch.allclose(answer(models, temperatures).exp(), wanted / 3, rtol=1e-12)


def test_one_member_keeps_its_probabilities():
    (model,) = fixed(5, 4, number=1)
    assert torch.equal(answer([model], [2.0]), (model.scores / 2).log_softmax(1))


def test_the_order_of_members_does_not_matter():
    models, temperatures = fixed(5, 4), [0.5, 1.0, 3.0]
    assert torch.allclose(answer(models, temperatures), answer(models[::-1], temperatures[::-1]))


def test_sure_members_that_contradict_each_other_leave_finite_numbers_and_gradients():
    scores = torch.tensor([[1e4, 0.0, -1e4]])
    models = [Fixed(scores), Fixed(scores.flip(1))]
    found = answer(models, [1.0, 1.0])
    assert found[0].exp().tolist() == pytest.approx([0.5, 0.0, 0.5])
    found[0, 0].backward()
    assert all(bool(model.scores.grad.isfinite().all()) for model in models)


def test_members_of_other_classes_are_refused():
    with pytest.raises(DataError, match="same classes, but one has 4 and another 1"):
        answer([*fixed(5, 4), *fixed(5, 1)], [1.0] * 6)


@pytest.mark.parametrize(("models", "calibrations"), [(0, 0), (2, 1)])
def test_every_member_needs_a_calibration(models, calibrations):
    with pytest.raises(SettingsError, match=f"got {models} models and {calibrations} calib"):
        Ensemble(fixed(5, 4, number=models), [UNCALIBRATED] * calibrations)


def test_the_first_member_is_found_and_a_model_is_its_own(trained):
    ensemble, _ = trained
    first = first_member(ensemble)
    assert first is ensemble.members[0].model
    assert first_member(first) is first


def test_its_scores_are_those_of_the_mean_at_a_temperature_of_its_own(trained):
    ensemble, results = trained
    found = ensemble_result(ensemble, DATA, results)
    assert list(found.scores) == list(results[0].scores)
    logits, test, val = ensemble(DATA.x, DATA.graph).detach(), DATA.split.test, DATA.split.val
    calibrated = found.calibration.scaled(logits)
    assert found.test_log_loss == METRICS["log_loss"].function(calibrated[test], DATA.y[test])
    # As it is before it is calibrated, which a prior keeps near that and never makes worse.
    assert found.val_loss == METRICS["log_loss"].function(logits[val], DATA.y[val])
    assert found.val_log_loss < found.val_loss
    assert found.seconds == pytest.approx(math.fsum(result.seconds for result in results))
    assert found.history is results[0].history


def test_a_vote_whose_shares_were_chosen_is_less_sure(trained):
    ensemble, results = trained
    models = [member.model for member in ensemble.members]
    calibrations = [member.calibration for member in ensemble.members]
    vote = Ensemble(models, calibrations, [1 / len(models)] * len(models)).eval()
    sure, less = (ensemble_result(each, DATA, results).calibration for each in (ensemble, vote))
    logits = ensemble(DATA.x, DATA.graph).detach()
    assert less == calibration_of(
        logits[DATA.split.val], DATA.y[DATA.split.val], doubtful=DOUBTFUL_NODES
    )
    highest = [each.scaled(logits).softmax(1).max(1).values.mean() for each in (sure, less)]
    assert highest[0] > highest[1]


def test_test_labels_choose_nothing(trained):
    ensemble, results = trained
    y = DATA.y.clone()
    y[DATA.split.test] = (y[DATA.split.test] + 1) % DATA.num_classes
    one, other = (ensemble_result(ensemble, data, results) for data in (DATA, replace(DATA, y=y)))
    assert one.calibration == other.calibration
    assert one.val_log_loss == other.val_log_loss
    assert one.test_accuracy != other.test_accuracy


def test_validation_nodes_of_one_class_leave_the_temperature():
    nodes = DATA.split.val
    split = replace(DATA.split, val=nodes[DATA.y[nodes] == DATA.y[nodes[0]]])
    data = replace(DATA, split=split)
    model = build_model("mlp", find_model("mlp").settings(), data.num_features, data.num_classes)
    result = fit(model, data, TrainSettings(epochs=2))
    found = ensemble_result(Ensemble([model], [UNCALIBRATED]).eval(), data, [result])
    assert found.calibration == UNCALIBRATED
