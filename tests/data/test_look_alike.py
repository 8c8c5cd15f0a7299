import pytest
import torch

from akgnn.csr import CSR
from akgnn.data.look_alike import look_alike


def test_sizes_are_those_asked_for():
    data = look_alike(200, 6, 10, 3, labelled=20)
    assert data.x.shape == (200, 10)
    assert data.num_classes == 3
    assert data.graph.num_edges == pytest.approx(1200, rel=0.05)
    assert (len(data.split.train), len(data.split.val), len(data.split.test)) == (10, 10, 0)


def test_sparse_features_have_as_many_entries_a_node():
    data = look_alike(50, 2, 40, 3, entries=4)
    assert isinstance(data.x, CSR)
    assert torch.equal(data.x.pattern.rowptr.diff(), torch.full((50,), 4))
    assert len(data.split.train) + len(data.split.val) == 50


def test_it_is_the_same_every_time():
    one, other = look_alike(30, 4, 5, 2), look_alike(30, 4, 5, 2)
    assert torch.equal(one.x, other.x)
    assert torch.equal(one.graph.edge_index, other.graph.edge_index)
