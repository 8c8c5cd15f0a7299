import math

import pytest
import torch

from akgnn.explain.class_scores import class_scores


def test_scores_of_classes_by_hand():
    scores = class_scores(torch.tensor([[3, 1], [2, 4]]), ("a", "b"))
    assert scores[0].precision == pytest.approx(60)
    assert scores[0].recall == pytest.approx(75)
    assert scores[0].f1 == pytest.approx(200 * 0.6 * 0.75 / 1.35)
    assert [score.support for score in scores] == [4, 6]


def test_a_class_without_test_nodes_has_no_recall():
    absent = class_scores(torch.tensor([[3, 1], [0, 0]]), ("a", "b"))[1]
    assert math.isnan(absent.recall)
    assert (absent.precision, absent.f1, absent.support) == (0, 0, 0)


def test_a_class_that_is_never_predicted_has_no_precision():
    never = class_scores(torch.tensor([[3, 0], [2, 0]]), ("a", "b"))[1]
    assert math.isnan(never.precision)
    assert (never.recall, never.f1) == (0, 0)


def test_a_class_that_is_nowhere_has_no_score():
    nowhere = class_scores(torch.tensor([[3, 0], [0, 0]]), ("a", "b"))[1]
    assert all(map(math.isnan, (nowhere.precision, nowhere.recall, nowhere.f1)))
