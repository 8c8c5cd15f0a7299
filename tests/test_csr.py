import numpy as np
import pytest
import torch
from scipy import sparse as scipy_sparse

from akgnn import csr
from akgnn.csr import CSR, Pattern, check_scipy, first_not_finite
from akgnn.errors import GraphError
from oracles import random_graph, sparse


@pytest.fixture(params=[1, 2, 3, 2**24])
def _blocks(request, monkeypatch):
    """Checks that look at so many entries at a time."""
    monkeypatch.setattr(csr, "_BLOCK", request.param)


def make(rowptr, col, shape=(2, 3), value=None):
    value = None if value is None else torch.tensor(value)
    return CSR.from_arrays(torch.tensor(rowptr), torch.tensor(col), value, shape)


def test_dense_form_puts_entries_in_place():
    matrix = make([0, 2, 3], [0, 2, 1], value=[1.0, 2.0, 3.0])
    assert torch.equal(matrix.to_dense(), torch.tensor([[1.0, 0, 2], [0, 3, 0]]))


def test_entries_without_values_are_ones():
    assert torch.equal(make([0, 1, 2], [2, 0]).to_dense(), torch.tensor([[0.0, 0, 1], [1, 0, 0]]))


@pytest.mark.parametrize("value", [None, [1.0, 2.0, 3.0]])
def test_transpose_equals_the_dense_transpose(value):
    matrix = make([0, 2, 3], [0, 2, 1], value=value)
    assert torch.equal(matrix.transpose.to_dense(), matrix.to_dense().T)
    assert torch.equal(matrix.transpose.transpose.to_dense(), matrix.to_dense())


def test_small_matrices_keep_int32_indices():
    pattern = make([0, 1, 2], [2, 0]).pattern
    assert pattern.col.dtype == pattern.rowptr.dtype == torch.int32


def test_rowptr_and_col_have_a_type_each(monkeypatch):
    """As with more than 2^31 entries in fewer columns."""
    monkeypatch.setattr(csr, "_INT32_MAX", 4)
    many = make([0, 3, 5], [0, 1, 2, 0, 2])
    assert (many.pattern.rowptr.dtype, many.pattern.col.dtype) == (torch.int64, torch.int32)
    assert many.pattern.row.dtype == torch.int32
    wide = make([0, 1, 2], [2, 0], shape=(2, 5))
    assert (wide.pattern.rowptr.dtype, wide.pattern.col.dtype) == (torch.int32, torch.int64)
    assert torch.equal(many.transpose.to_dense(), many.to_dense().T)
    assert torch.equal(wide.transpose.to_dense(), wide.to_dense().T)


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize(
    "rowptr",
    [[0, 0, 4, 4, 4, 7], [0, 1, 2, 3, 4, 5], [0, 0, 0, 0, 0, 6], [0, 5, 5, 5, 6, 6], [0] * 6],
)
def test_blocks_tell_the_row_of_every_entry(rowptr):
    """Rows that are empty, longer than a block, and across its borders."""
    lengths = np.diff(rowptr)
    col = [column for length in lengths for column in range(length)]
    pattern = Pattern(torch.tensor(rowptr), torch.tensor(col, dtype=torch.int64), (5, 7))
    parts = list(pattern.blocks())
    found = torch.cat([row for _, row in parts])
    assert found.tolist() == np.repeat(np.arange(5), lengths).tolist()
    assert found.dtype == pattern.row.dtype
    assert [entry for part, _ in parts for entry in range(len(col))[part]] == list(range(len(col)))


def test_arrays_handed_over_are_checked_but_not_copied():
    rowptr, col = torch.tensor([0, 1, 2]).int(), torch.tensor([0, 1]).int()
    pattern = Pattern(rowptr, col, (2, 3), copy=False)
    assert pattern.rowptr is rowptr
    assert pattern.col is col
    with pytest.raises(GraphError, match="col mentions column 5"):
        Pattern(rowptr, col + 4, (2, 3), copy=False)


def test_a_copied_pattern_shares_nothing():
    rowptr, col = torch.tensor([0, 1, 2]).int(), torch.tensor([0, 1]).int()
    pattern = Pattern(rowptr, col, (2, 3))
    col.fill_(9)
    rowptr.fill_(9)
    assert pattern.rowptr.tolist() == [0, 1, 2]
    assert pattern.col.tolist() == [0, 1]


@pytest.mark.usefixtures("_blocks")
def test_a_well_formed_pattern_is_taken():
    pattern = random_graph(0).adjacency.pattern
    again = Pattern(pattern.rowptr, pattern.col, pattern.shape)
    assert torch.equal(again.col, pattern.col)


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize("position", [None, 0, 4, 6])
def test_the_first_number_that_is_none_is_found(position):
    values = torch.zeros(7)
    if position is not None:
        values[position:] = torch.nan
    assert first_not_finite(values) == position
    assert first_not_finite(values.view(7, 1)) == position


def test_empty_rows_and_no_entries_are_allowed():
    empty = CSR(
        Pattern(torch.zeros(3, dtype=torch.int64), torch.zeros(0, dtype=torch.int64), (2, 3))
    )
    assert empty.to_dense().abs().sum() == 0
    assert empty.transpose.shape == (3, 2)


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize(
    ("rowptr", "col", "message"),
    [
        ([0, 1, 2], [0, 3], "col mentions column 3, but num_columns=3 allows 0 to 2"),
        ([0, 1, 2], [0, -1], "col mentions column -1"),
        ([0, 1], [0], "one entry more than the 2 rows"),
        ([1, 1, 2], [0, 1], "must rise from 0"),
        ([0, 2, 1], [0, 1], "must rise from 0"),
        ([0, 3, 2], [0, 1], "must rise from 0"),
        ([0, 2, 2], [1, 0], "Columns must rise within each row"),
        ([0, 2, 2], [1, 1], "Columns must rise within each row"),
        ([0, 2, 4], [0, 1, 1, 1], "Columns must rise within each row"),
        ([0, 0, 4], [0, 1, 2, 1], "Columns must rise within each row"),
        ([0.0, 1.0, 2.0], [0, 1], "rowptr must hold int32 or int64"),
        ([0, 1, 2], [0.0, 1.0], "col must hold int32 or int64"),
        ([0, 1, 2], [[0], [1]], "col must have one dimension"),
    ],
)
def test_malformed_arrays_are_refused(rowptr, col, message):
    with pytest.raises(GraphError, match=message):
        make(rowptr, col)


def test_int32_row_starts_that_wrap_around_are_refused():
    # Each step, taken in int32, is at least 0.
    rowptr = torch.tensor([0, 2**31 - 1, -(2**31), -1, 2], dtype=torch.int32)
    with pytest.raises(GraphError, match="must rise from 0"):
        Pattern(rowptr, torch.tensor([0, 1]), (4, 3))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1.0], "one number for each of the 2 entries"),
        ([1, 2], "must hold floating-point numbers"),
        ([1.0, float("nan")], "value holds nan at position 1"),
        ([float("inf"), 1.0], "value holds inf at position 0"),
    ],
)
def test_malformed_values_are_refused(value, message):
    with pytest.raises(GraphError, match=message):
        make([0, 1, 2], [0, 1], value=value)


def test_a_matrix_cannot_be_changed():
    matrix = make([0, 1, 2], [0, 1])
    with pytest.raises(AttributeError):
        matrix.value = None


def test_later_changes_to_the_given_arrays_do_not_matter():
    rowptr, col = (
        torch.tensor([0, 1, 2], dtype=torch.int32),
        torch.tensor([0, 1], dtype=torch.int32),
    )
    value = torch.tensor([1.0, 2.0])
    matrix = CSR.from_arrays(rowptr, col, value, (2, 3))
    before = matrix.to_dense()
    col.fill_(400_000_123)
    rowptr.fill_(7)
    value.fill_(float("nan"))
    assert torch.equal(matrix.to_dense(), before)


def test_values_of_another_length_are_refused_by_the_constructor_too():
    pattern = make([0, 1, 2], [0, 1]).pattern
    with pytest.raises(GraphError, match="one number for each of the 2 entries"):
        CSR(pattern, torch.ones(3))


def test_numpy_arrays_are_refused_in_words():
    with pytest.raises(GraphError, match=r"rowptr must be a torch tensor, got ndarray; torch\.as"):
        CSR.from_arrays(np.array([0, 1]), torch.tensor([0]), None, (1, 1))


def test_a_pattern_side_by_side_is_block_diagonal():
    pattern = sparse(torch.rand(4, 3) * (torch.rand(4, 3) < 0.5)).pattern
    for number in (3, 1, 2, 5):
        rowptr, col = pattern.side_by_side(number)
        found = CSR.from_arrays(rowptr, col, None, (4 * number, 3 * number)).to_dense()
        assert torch.equal(found, torch.block_diag(*[CSR(pattern).to_dense()] * number))


def test_several_rows_of_entries_are_several_matrices():
    x = torch.rand(4, 3) * (torch.rand(4, 3) < 0.5)
    matrix = sparse(x)
    both = CSR(matrix.pattern, torch.stack([matrix.value, 2 * matrix.value]))
    assert torch.equal(both.to_dense(), torch.stack([x, 2 * x]))
    assert torch.equal(both.transpose.to_dense(), torch.stack([x.T, 2 * x.T]))
    with pytest.raises(GraphError, match="one number for each of the"):
        CSR(matrix.pattern, torch.zeros(2, 1, matrix.num_entries))


@pytest.mark.parametrize(
    ("form", "damage"),
    [
        ("csr", lambda m: m.indptr.__setitem__(3, 10**6)),
        ("csr", lambda m: m.indptr.__setitem__(slice(5, 7), [9, 0])),
        ("csc", lambda m: m.indices.__setitem__(0, 10**6)),
        ("csr", lambda m: m.indices.__setitem__(0, -5)),
        ("csr", lambda m: setattr(m, "indptr", m.indptr[:5])),
        ("csr", lambda m: setattr(m, "data", m.data[:3])),
        ("bsr", lambda m: m.indptr.__setitem__(1, 10**6)),
        ("coo", lambda m: m.row.__setitem__(0, 10**6)),
    ],
)
def test_a_damaged_scipy_matrix_is_refused(form, damage):
    matrix = scipy_sparse.random(40, 40, 0.2, format=form, random_state=0)
    check_scipy("X", matrix)
    damage(matrix)
    with pytest.raises(GraphError, match=f"X is a damaged {form} matrix: ") as caught:
        check_scipy("X", matrix)
    assert "\n" not in str(caught.value)


def test_scipy_has_the_same_matrix():
    for value in (None, torch.tensor([2.0, 3.0])):
        matrix = CSR.from_arrays(torch.tensor([0, 1, 2]), torch.tensor([2, 0]), value, (2, 3))
        assert matrix.to_scipy().toarray().tolist() == matrix.to_dense().tolist()
