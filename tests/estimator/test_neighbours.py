import numpy as np
import pytest

from akgnn.data.neighbours import Neighbours, nearest_rows
from akgnn.errors import SettingsError
from akgnn.estimator.neighbours import ByMetric


def test_the_metric_decides():
    rows = np.array([[1.0, 0], [10, 0], [0, 1], [0.5, 1]])
    assert Neighbours.build(rows, 1, ByMetric("euclidean")).nearest[0] == [3]
    assert Neighbours.build(rows, 1, ByMetric("cosine")).nearest[0] == [1]
    with pytest.raises(SettingsError, match="precomputed"):
        ByMetric("precomputed")


def test_the_plain_search_agrees_with_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    rows, new = rng.standard_normal((200, 5)), rng.standard_normal((40, 5))
    for asked in (None, new):
        ours = nearest_rows(rows, asked, 7)
        assert np.array_equal(ours, ByMetric("euclidean")(rows, asked, 7))
