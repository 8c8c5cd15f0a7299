import pytest
import torch

from akgnn.data.label_inputs import append_labels, hide_labels, labels_in, remove_labels
from akgnn.data.transforms import csr_from_scipy, sparse_if_sparse

Y = torch.tensor([1, 0, -1, 2, 1])
NODES = torch.tensor([0, 3])
LABELS = torch.tensor([[0.0, 1, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0]])
DENSE = torch.tensor([[0.0, 2], [1, 0], [0, 0], [0, 0], [3, 4]])


def as_csr(x):
    from scipy import sparse

    return csr_from_scipy(sparse.csr_array(x.numpy()))


def dense(x):
    return x if isinstance(x, torch.Tensor) else x.to_dense()


@pytest.mark.parametrize("convert", [lambda x: x, as_csr], ids=["dense", "sparse"])
@pytest.mark.parametrize("features", [DENSE, (DENSE > 0).float(), torch.zeros(5, 2)])
def test_labels_are_appended_found_hidden_and_removed(convert, features):
    x = convert(features)
    both = append_labels(x, Y, NODES, 3)
    assert torch.equal(dense(both), torch.cat([features, LABELS], 1))
    node, label = labels_in(both, 3)
    assert (node.tolist(), label.tolist()) == ([0, 3], [1, 2])
    hidden = dense(hide_labels(both, torch.tensor([3]), 3))
    assert torch.equal(hidden[:, :2], features)
    assert hidden[:, 2:].nonzero().tolist() == [[0, 1]]
    # What was given is not changed.
    assert torch.equal(dense(both)[:, 2:], LABELS)
    again = remove_labels(both, 3)
    assert torch.equal(dense(again), features)
    assert type(again) is type(x)


def test_binary_features_are_binary_again_without_labels():
    x = sparse_if_sparse(torch.eye(30))
    assert x.value is None
    y = torch.zeros(30, dtype=torch.int64)
    both = append_labels(x, y, torch.arange(4), 2)
    assert remove_labels(both, 2).value is None
