import pytest
import torch
from torch.autograd import gradcheck

from akgnn.csr import CSR
from akgnn.errors import DataError
from akgnn.ops.sparse_linear import sparse_linear


def features(binary=False, dtype=torch.float64):
    """A matrix with an empty row and an unused column."""
    x = torch.randn(9, 6, dtype=dtype) * (torch.rand(9, 6) < 0.4)
    x[3], x[:, 2] = 0, 0
    if binary:
        x = (x != 0).to(dtype)
    row, col = x.nonzero().unbind(1)
    rowptr = torch.zeros(10, dtype=torch.int64)
    rowptr[1:] = torch.bincount(row, minlength=9).cumsum(0)
    return x, CSR.from_arrays(rowptr, col, None if binary else x[row, col], (9, 6))


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equals_the_dense_product_and_its_gradient(binary, dtype):
    x, sparse = features(binary, dtype)
    weight = torch.randn(6, 4, dtype=dtype, requires_grad=True)
    grad = torch.randn(9, 4, dtype=dtype)
    found, expected = sparse_linear(sparse, weight), x @ weight
    torch.testing.assert_close(found, expected)
    grads = [torch.autograd.grad(out, weight, grad)[0] for out in (found, expected)]
    torch.testing.assert_close(*grads)


def test_gradcheck():
    _, sparse = features()
    weight = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda weight: sparse_linear(sparse, weight), weight)


@pytest.mark.parametrize("replicas", [(), (3,)])
def test_gradcheck_of_the_entries(replicas, monkeypatch):
    monkeypatch.setattr("akgnn.ops.sparse_linear._NUMBERS_AT_ONCE", 12)
    _, sparse = features()
    value = sparse.value.clone().requires_grad_()
    weight = torch.randn(*replicas, 6, 3, dtype=torch.float64, requires_grad=True)

    def run(value, weight):
        return sparse_linear(CSR(sparse.pattern, value), weight)

    assert gradcheck(run, (value, weight))


def test_entries_without_a_wish_get_no_gradient():
    _, sparse = features()
    weight = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    sparse_linear(sparse, weight).sum().backward()
    assert sparse.value.grad is None


def test_a_weight_that_does_not_fit_is_refused():
    with pytest.raises(DataError, match=r"must have shape \(6, out_channels\)"):
        sparse_linear(features()[1], torch.ones(5, 4))
