import numpy as np
import pytest
from scipy import sparse

from akgnn.errors import DataError, SettingsError
from akgnn.estimator.inputs import Scaling, scaled


def test_columns_come_to_mean_0_and_variance_1():
    x = np.array([[1.0, 1e9], [3, 5e9], [5, 0]])
    out = Scaling.of(x).apply(x)
    assert np.allclose(out.mean(0), 0)
    assert np.allclose(out.std(0), 1)
    assert np.array_equal(Scaling.of(x).apply(sparse.csr_array(x)), out)


def test_a_column_of_one_value_becomes_0():
    # 0.1 is no binary number, so that its mean over seven rows is off by a rounding error.
    x = np.full((7, 2), [0.1, 0.0])
    assert np.allclose(Scaling.of(x).apply(x), 0, atol=1e-12)


def test_what_overflows_is_named():
    with pytest.raises(DataError, match="Column 1 of X"):
        Scaling.of(np.array([[0.0, 1e300], [1, -1e300]]))


def test_only_dense_tables_without_a_graph_are_scaled_unasked():
    x = np.array([[1.0], [5.0]])
    assert scaled(x, None, has_graph=False)[1] is not None
    assert scaled(x, None, has_graph=True) == (x, None)
    assert scaled(sparse.csr_array(x), None, has_graph=False)[1] is None
    assert scaled(x, True, has_graph=True)[0].tolist() == [[-1], [1]]
    assert scaled(x.astype(np.float32), False, has_graph=False)[0].dtype == np.float64
    with pytest.raises(SettingsError, match="fill a sparse X"):
        scaled(sparse.csr_array(x), True, has_graph=False)
