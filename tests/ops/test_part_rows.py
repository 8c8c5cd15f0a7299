"""Rows that lie in several arrays."""

from itertools import pairwise

import torch
from torch import Tensor

from akgnn.distributed.division import PartDivision
from akgnn.distributed.group import Group
from akgnn.ops.divided import product
from akgnn.ops.dropout import Noise, dropout
from akgnn.ops.part_rows import PartRows
from akgnn.ops.rows import divided

SIZES = (3, 1, 4)
IDS = torch.tensor([2, 5, 7, 0, 1, 3, 4, 6])


def some_rows() -> tuple[PartRows, Tensor]:
    whole = torch.randn(8, 5, generator=torch.Generator().manual_seed(1))
    return PartRows(whole.split(SIZES), IDS.split(SIZES)), whole


def in_parts() -> divided:
    starts = torch.tensor([0, *SIZES]).cumsum(0).tolist()
    blocks = [slice(*pair) for pair in pairwise(starts)]
    return divided(IDS, PartDivision(blocks, [(0, 3)], Group()))


def test_it_has_the_form_of_all_rows_and_copies_none():
    rows, whole = some_rows()
    assert rows.shape == whole.shape
    assert rows.dtype == whole.dtype
    assert [part.data_ptr() for part in rows.parts] == [p.data_ptr() for p in whole.split(SIZES)]


def test_an_operation_that_knows_nothing_of_parts_gets_all_rows():
    rows, whole = some_rows()
    assert torch.equal(rows * 2, whole * 2)
    assert torch.equal(torch.cat([rows, whole]), torch.cat([whole, whole]))
    assert type(rows.abs()) is Tensor


def test_dropout_waits_until_a_part_is_taken_and_follows_the_ids():
    rows, whole = some_rows()
    key = Noise(3, 1).key(0)
    with in_parts():
        dropped, expected = dropout(rows, 0.5, key), dropout(whole, 0.5, key)
    assert isinstance(dropped, PartRows)
    assert torch.equal(dropped.whole(), expected)
    assert 0 < int((expected == 0).sum()) < expected.numel()
    for index, part in enumerate(expected.split(SIZES)):
        assert torch.equal(dropped.part(index), part)


def test_a_product_and_its_gradient_are_those_of_all_rows():
    rows, whole = some_rows()
    key, found = Noise(3, 1).key(0), []
    for x in (rows, whole):
        weight = torch.ones(5, 2, requires_grad=True)
        with in_parts():
            out = product(dropout(x, 0.5, key), weight)
        out.square().sum().backward()
        found.append((out.detach(), weight.grad))
    (out, grad), (expected, expected_grad) = found
    assert torch.equal(out, expected)
    assert torch.equal(grad, expected_grad)
