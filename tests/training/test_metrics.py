import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu
from sklearn.calibration import calibration_curve
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

from akgnn.training.metrics import (
    accuracy,
    balanced_accuracy,
    calibration_error,
    confusion_matrix,
    cross_entropy,
    logits_roc_auc,
    macro_f1,
    roc_auc,
)

PREDICTED = torch.tensor([0, 0, 1, 1, 2, 2])
Y = torch.tensor([0, 1, 1, 1, 2, 0])


def test_accuracy_is_in_per_cent():
    assert accuracy(PREDICTED, Y) == pytest.approx(100 * 4 / 6)


def test_confusion_counts_pairs():
    assert confusion_matrix(PREDICTED, Y, 3).tolist() == [[1, 0, 1], [1, 2, 0], [0, 0, 1]]


def test_macro_f1_by_hand():
    # Class 0: 1 of 2 found, 1 of 2 right. Class 1: 2 of 3, 2 of 2. Class 2: 1 of 1, 1 of 2.
    expected = 100 * (1 / 2 + 4 / 5 + 2 / 3) / 3
    assert macro_f1(PREDICTED, Y, 3) == pytest.approx(expected)


def test_classes_that_do_not_occur_do_not_count():
    assert macro_f1(PREDICTED, Y, 5) == pytest.approx(macro_f1(PREDICTED, Y, 3))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_a_perfect_prediction_scores_100(labels):
    y = torch.tensor(labels)
    assert accuracy(y, y) == 100
    assert macro_f1(y, y, 4) == pytest.approx(100)


def test_no_nodes_have_no_score():
    nothing = torch.zeros(0, dtype=torch.int64)
    assert math.isnan(accuracy(nothing, nothing))
    assert math.isnan(macro_f1(nothing, nothing, 3))
    assert math.isnan(balanced_accuracy(nothing, nothing, 3))
    assert math.isnan(calibration_error(torch.zeros(0, 3), nothing))
    assert math.isnan(logits_roc_auc(torch.zeros(0, 3), nothing))


def test_roc_auc_by_hand():
    score, y = torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1])
    # Of the four pairs only 0.35 against 0.4 is lost.
    assert roc_auc(score, y) == 75
    assert roc_auc(-score, y) == 25
    assert roc_auc(y.double(), y) == 100


def test_an_equal_score_is_half_a_pair():
    y = torch.tensor([0, 1, 1])
    assert roc_auc(torch.tensor([1.0, 1.0, 2.0]), y) == 75
    assert roc_auc(torch.zeros(3), y) == 50


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 1)), max_size=30))
def test_roc_auc_is_the_share_of_pairs_won(nodes):
    score = torch.tensor([float(value) for value, _ in nodes])
    y = torch.tensor([label for _, label in nodes], dtype=torch.int64)
    ones = [value for value, label in nodes if label == 1]
    zeros = [value for value, label in nodes if label == 0]
    won = sum((one > zero) + (one == zero) / 2 for one in ones for zero in zeros)
    if ones and zeros:
        assert roc_auc(score, y) == 100 * won / (len(ones) * len(zeros))
    else:
        assert math.isnan(roc_auc(score, y))


def test_roc_auc_is_the_rank_statistic_of_mann_and_whitney():
    score, y = torch.randn(1000).round(decimals=1), torch.randint(2, (1000,))
    ones, zeros = score[y == 1].numpy(), score[y == 0].numpy()
    expected = 100 * mannwhitneyu(ones, zeros).statistic / (len(ones) * len(zeros))
    assert roc_auc(score, y) == pytest.approx(expected, abs=1e-10)


def test_a_score_that_is_not_a_number_has_no_rank():
    assert math.isnan(roc_auc(torch.tensor([1.0, math.nan, 0.0]), torch.tensor([1, 0, 0])))


def test_roc_auc_of_the_logits_of_two_classes():
    logits, y = torch.tensor([[2.0, 1.0], [5.0, 7.0]]), torch.tensor([0, 1])
    assert logits_roc_auc(logits, y) == 100
    assert logits_roc_auc(logits, 1 - y) == 0


LOGITS = 3 * torch.randn(500, 4, generator=torch.Generator().manual_seed(1))
LABELS = (LOGITS + 4 * torch.randn(500, 4, generator=torch.Generator().manual_seed(2))).argmax(1)


def test_roc_auc_of_more_classes_is_scikit_learns():
    expected = roc_auc_score(LABELS, LOGITS.double().softmax(1), multi_class="ovr")
    assert logits_roc_auc(LOGITS, LABELS) == pytest.approx(100 * expected, abs=1e-10)


def test_roc_auc_leaves_out_classes_that_do_not_occur():
    kept = LABELS < 3
    probability = LOGITS.double().softmax(1)[kept]
    areas = [roc_auc(probability[:, k], (LABELS[kept] == k).long()) for k in range(3)]
    assert logits_roc_auc(LOGITS[kept], LABELS[kept]) == pytest.approx(sum(areas) / 3)
    assert math.isnan(logits_roc_auc(LOGITS, torch.zeros_like(LABELS)))


def test_balanced_accuracy_and_log_loss_are_scikit_learns():
    predicted = LOGITS.argmax(1)
    expected = 100 * balanced_accuracy_score(LABELS, predicted)
    assert balanced_accuracy(predicted, LABELS, 4) == pytest.approx(expected)
    assert balanced_accuracy(predicted, LABELS, 6) == pytest.approx(expected)
    loss = log_loss(LABELS, LOGITS.double().softmax(1))
    assert float(cross_entropy(LOGITS, LABELS)) == pytest.approx(loss, rel=1e-5)


def test_the_calibration_error_is_that_of_scikit_learns_curve():
    probability, predicted = LOGITS.double().softmax(1).max(1)
    probability, right = probability.numpy(), (predicted == LABELS).long().numpy()
    true, said = calibration_curve(right, probability, n_bins=15, strategy="uniform")
    inner = np.linspace(0, 1, 16)[1:-1]
    counts = np.bincount(np.searchsorted(inner, probability), minlength=15)
    expected = (np.abs(true - said) * counts[counts > 0]).sum() / len(right)
    assert calibration_error(LOGITS, LABELS) == pytest.approx(100 * expected)


def test_the_calibration_error_by_hand():
    # Four nodes at probability 0.8, of which half are right.
    logits = torch.tensor([[math.log(4.0), 0.0]]).repeat(4, 1)
    assert calibration_error(logits, torch.tensor([0, 0, 1, 1])) == pytest.approx(30)
    assert calibration_error(100 * torch.eye(3), torch.arange(3)) == pytest.approx(0, abs=1e-9)


def test_the_cross_entropy_of_replicas_is_that_of_each():
    logits, y = torch.randn(3, 10, 4), torch.arange(10) % 4
    expected = [torch.nn.functional.cross_entropy(each, y) for each in logits]
    torch.testing.assert_close(cross_entropy(logits, y), torch.stack(expected))
    assert torch.equal(cross_entropy(logits[1], y), expected[1])


def test_the_cross_entropy_weighs_classes_and_divides_by_nodes():
    logits, y, weight = torch.randn(2, 10, 3), torch.arange(10) % 3, torch.tensor([2.0, 0.0, 0.5])
    losses = -logits.log_softmax(2)[:, torch.arange(10), y] * weight[y]
    torch.testing.assert_close(cross_entropy(logits, y, weight), losses.mean(1))
    torch.testing.assert_close(cross_entropy(logits[0], y, weight), losses[0].mean())
