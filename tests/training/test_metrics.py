import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from akgnn.training.metrics import (
    accuracy,
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


def test_roc_auc_of_logits_needs_two_classes():
    logits, y = torch.tensor([[2.0, 1.0], [5.0, 7.0]]), torch.tensor([0, 1])
    assert logits_roc_auc(logits, y) == 100
    assert logits_roc_auc(logits, 1 - y) == 0
    assert math.isnan(logits_roc_auc(torch.eye(3), torch.tensor([0, 1, 1])))


def test_the_cross_entropy_of_replicas_is_that_of_each():
    logits, y = torch.randn(3, 10, 4), torch.arange(10) % 4
    expected = [torch.nn.functional.cross_entropy(each, y) for each in logits]
    torch.testing.assert_close(cross_entropy(logits, y), torch.stack(expected))
    assert torch.equal(cross_entropy(logits[1], y), expected[1])
