from dataclasses import replace

import pytest
import torch
from scipy import sparse

from akgnn.data.catalogue import load_dataset
from akgnn.data.transforms import csr_from_scipy, dense_features, row_normalise, sparse_if_sparse
from akgnn.errors import GraphError


def test_rows_sum_to_one_and_empty_rows_stay():
    # CiteSeer has 15 nodes without any feature.
    raw = load_dataset("citeseer", features="raw")
    done = row_normalise(raw)
    totals = done.x.to_dense().sum(1)
    empty = raw.x.to_dense().sum(1) == 0
    assert int(empty.sum()) == 15
    assert not totals[empty].any()
    torch.testing.assert_close(totals[~empty], torch.ones(len(totals) - 15))
    assert done.source["features"] == "rows sum to 1"
    assert raw.x.value is None


def test_dense_and_sparse_features_are_normalised_alike():
    raw = load_dataset("cora", features="raw")
    dense = row_normalise(replace(raw, x=raw.x.to_dense()))
    torch.testing.assert_close(dense.x, row_normalise(raw).x.to_dense())
    data = load_dataset("csbm:num_nodes=80,degree=3")
    with_zero_row = replace(data, x=data.x.index_fill(0, torch.tensor([3]), 0.0))
    assert not row_normalise(with_zero_row).x[3].any()


def test_sparse_features_are_written_out():
    data = load_dataset("cora")
    assert torch.equal(dense_features(data).x, data.x.to_dense())
    assert dense_features(dense_features(data)).x.shape == data.x.shape


@pytest.mark.parametrize("value", [1.0, 2.5])
def test_features_with_many_zeros_become_sparse(value):
    x = torch.zeros(10, 20)
    x[3, 4] = x[9, 19] = value
    found = sparse_if_sparse(x)
    assert torch.equal(found.to_dense(), x)
    assert (found.value is None) == (value == 1.0)


def test_dense_features_stay_dense():
    x = torch.rand(4, 4)
    assert sparse_if_sparse(x) is x


def test_a_scipy_matrix_with_repeats_in_any_order_becomes_csr():
    matrix = sparse.coo_array(([1.0, 2, 3, 4], ([1, 0, 0, 0], [0, 2, 0, 2])), (2, 3))
    assert csr_from_scipy(matrix).to_dense().tolist() == [[3, 0, 6], [1, 0, 0]]
    assert csr_from_scipy(sparse.eye_array(3)).value is None


def test_damaged_sparse_features_are_refused():
    matrix = sparse.random(9, 9, 0.5, format="csr", random_state=0)
    matrix.indptr[3] = 10**6
    with pytest.raises(GraphError, match="The features is a damaged csr matrix"):
        csr_from_scipy(matrix)
