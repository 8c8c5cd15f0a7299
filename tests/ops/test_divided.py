"""Each op against torch's own, on rows in parts."""

import pytest
import torch
import torch.nn.functional as F

from akgnn.distributed.division import PartDivision
from akgnn.distributed.group import Group
from akgnn.ops.divided import (
    _matmul,
    batch_norm,
    layer_norm,
    node_count,
    node_mean,
    node_sum,
    product,
    shift,
)
from akgnn.ops.rows import divided

# One part has no rows, another one row.
BLOCKS = [slice(0, 5), slice(5, 5), slice(5, 6), slice(6, 40)]


def drawn(*shape):
    values = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    return values.requires_grad_()


def both(function, *tensors):
    """Results and gradients, with the rows whole and in parts."""
    results = []
    for is_divided in (False, True):
        copies = [t.detach().clone().requires_grad_(t.requires_grad) for t in tensors]
        if is_divided:
            with divided(torch.arange(40), PartDivision(BLOCKS, [(0, 4)], Group())):
                out = function(*copies)
                (out * out.detach().cos()).sum().backward()
        else:
            out = function(*copies)
            (out * out.detach().cos()).sum().backward()
        results.append([out.detach(), *(t.grad for t in copies if t.requires_grad), *copies])
    return results


CASES = {
    "product": (product, drawn(40, 3), drawn(3, 5)),
    "shift": (shift, drawn(40, 3), drawn(1, 3)),
    "layer norm": (lambda h, w, b: layer_norm(h, w, b, 1e-5), drawn(40, 3), drawn(3), drawn(3)),
    "batch norm": (
        lambda h, m, v, w, b: batch_norm(h, m, v, w, b, 0.1, 1e-5),
        drawn(40, 3),
        torch.zeros(3, dtype=torch.float64),
        torch.ones(3, dtype=torch.float64),
        drawn(3),
        drawn(3),
    ),
    "sum": (node_sum, drawn(2, 40)),
    "mean": (node_mean, drawn(40)),
}


@pytest.mark.parametrize("name", CASES)
def test_parts_give_what_the_whole_gives(name):
    whole, in_parts = both(*CASES[name])
    torch.testing.assert_close(in_parts, whole, rtol=1e-12, atol=1e-12)


def test_nodes_are_counted_over_all_parts():
    with divided(torch.arange(40), PartDivision(BLOCKS, [(0, 4)], Group())):
        assert float(node_count(torch.zeros(3, 40))) == 40


@pytest.mark.parametrize("features", [7, 300, 1433])
@pytest.mark.parametrize("rows", [1, 5, 11, 40, 5000])
def test_the_number_of_threads_changes_no_bit_of_a_product(rows, features):
    """Neither of a few rows, nor of sums over many features, nor of gradients over many rows."""
    x = torch.randn(rows, features, requires_grad=True)
    weight = torch.randn(features, 16, requires_grad=True)
    division = PartDivision([slice(0, rows)], [(0, 1)], Group())
    threads, results = torch.get_num_threads(), []
    try:
        for number in (1, 2, 3):
            torch.set_num_threads(number)
            with divided(torch.arange(rows), division):
                out = product(x, weight)
                results.append([out, *torch.autograd.grad(out, (x, weight), out.detach().cos())])
    finally:
        torch.set_num_threads(threads)
    for others in results[1:]:
        assert all(torch.equal(*pair) for pair in zip(results[0], others, strict=True))


@pytest.mark.parametrize("terms", [255, 256, 257, 1024, 1100])
@pytest.mark.parametrize("rows", [1, 3, 70])
def test_a_product_of_many_terms_is_the_product(rows, terms, monkeypatch):
    # A few blocks of terms at a time.
    monkeypatch.setattr("akgnn.ops.divided._NUMBERS_AT_ONCE", 1000)
    a, b = drawn(rows, terms).detach(), drawn(terms, 5).detach()
    torch.testing.assert_close(_matmul(a, b), a @ b, rtol=1e-12, atol=1e-12)


def test_the_mean_is_torchs_where_nothing_is_divided():
    logits = torch.randn(6, 3)
    y = torch.tensor([0, 1, 2, 0, 1, 2])
    losses = F.cross_entropy(logits, y, reduction="none")
    assert torch.equal(node_mean(losses), losses.mean())
