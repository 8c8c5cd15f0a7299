import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from akgnn.training.metrics import accuracy, confusion_matrix, macro_f1

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
