from dataclasses import replace

import torch

from akgnn.data.catalogue import load_dataset
from akgnn.data.transforms import dense_features, row_normalise


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
