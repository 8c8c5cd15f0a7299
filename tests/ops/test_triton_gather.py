"""The gather by itself: on a GPU, or elsewhere in Triton's interpreter."""

import pytest
import torch

pytest.importorskip("triton")

import triton

from akgnn import csr
from akgnn.csr import CSR, Pattern
from akgnn.graph import Graph
from akgnn.ops.triton_gather import (
    Rows,
    block_c_of,
    blocks,
    channel_grid,
    row_grid,
    row_product,
    sum_rows,
    summed_rows,
)
from oracles import dense, random_graph

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("channels", [1, 6, 20])
def test_sums_over_rows_equal_the_dense_product(channels, weighted):
    graph = random_graph(0, num_nodes=20, num_edges=60, weighted=weighted)
    matrix, x = graph.to(DEVICE).adjacency, torch.randn(20, channels, device=DEVICE)
    out = torch.full_like(x, torch.nan)
    order = torch.randperm(20).to(DEVICE)
    sum_rows[(5, triton.cdiv(channels, 8), 1)](
        x,
        out,
        Rows(order, matrix.pattern.rowptr, matrix.pattern.col, matrix.value),
        20,
        channels,
        BLOCK_R=4,
        BLOCK_E=2,
        BLOCK_C=8,
    )
    torch.testing.assert_close(out.cpu(), dense(graph).float() @ x.cpu(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("channels", [1, 5, 130])
def test_sums_of_long_rows_equal_the_dense_product(channels, weighted, monkeypatch):
    monkeypatch.setattr(csr, "LONGEST_ROW", 3)
    monkeypatch.setattr(csr, "_SEGMENT", 2)
    graph = random_graph(0, num_nodes=9, num_edges=50, weighted=weighted)
    x = torch.randn(2, 9, channels)
    rows = summed_rows(graph.to(DEVICE).adjacency, x.to(DEVICE))
    expected = dense(graph).float() @ x
    counts = graph.adjacency.pattern.rowptr.diff()
    assert (counts > 3).any()
    for row in (counts > 3).nonzero().view(-1).tolist():
        found = rows.segment_sums[:, int(rows.segment_ptr[row])].cpu()
        torch.testing.assert_close(found, expected[:, row], rtol=1e-5, atol=1e-5)


def test_short_rows_have_no_segments():
    graph = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]])).to(DEVICE)
    rows = summed_rows(graph.adjacency, torch.ones(1, 2, 4, device=DEVICE))
    assert rows.segment_sums is None
    assert rows.num_segments == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("width", "groups"), [(1, 1), (7, 1), (64, 4), (300, 1), (300, 3)])
def test_programs_cover_every_row_and_channel(width, groups, dtype):
    x = torch.ones(2, 100, width, dtype=dtype)
    sizes = blocks(x, groups)
    rows, channels, scalars = row_grid(x, groups)
    assert rows * sizes["BLOCK_R"] >= 100
    assert channels * sizes["BLOCK_C"] >= width // groups
    assert scalars == 2 * groups
    assert (channels, scalars) == channel_grid(width, 2, groups)
    assert sizes["BLOCK_C"] == block_c_of(width // groups)
    # Triton takes powers of two only.
    assert all(sizes[name].bit_count() == 1 for name in ("BLOCK_R", "BLOCK_E", "BLOCK_C"))


def few_rows(matrix, first, last):
    """Some rows of a matrix, with all its columns."""
    rowptr = matrix.pattern.rowptr[first : last + 1]
    entries = slice(int(rowptr[0]), int(rowptr[-1]))
    shape = (last - first, matrix.shape[1])
    pattern = Pattern(rowptr - rowptr[0], matrix.pattern.col[entries], shape)
    return CSR(pattern, None if matrix.value is None else matrix.value[entries])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("channels", [1, 6, 130])
def test_a_row_of_a_product_does_not_depend_on_the_others(channels, weighted, monkeypatch):
    # Some rows are long, and cut into segments.
    monkeypatch.setattr(csr, "LONGEST_ROW", 5)
    monkeypatch.setattr(csr, "_SEGMENT", 3)
    graph = random_graph(0, num_nodes=23, num_edges=90, weighted=weighted)
    matrix, h = graph.to(DEVICE).adjacency, torch.randn(23, channels, device=DEVICE)
    whole = row_product(matrix, h)
    expected = dense(graph).float() @ h.cpu()
    torch.testing.assert_close(whole.cpu(), expected, rtol=1e-5, atol=1e-5)
    for first, last in ((0, 1), (1, 9), (9, 23)):
        assert torch.equal(row_product(few_rows(matrix, first, last), h), whole[first:last])


def test_a_product_without_rows_is_empty():
    matrix = CSR(Pattern(torch.zeros(1, dtype=torch.int32), torch.empty(0).int(), (0, 4)))
    assert row_product(matrix.to(DEVICE), torch.ones(4, 3, device=DEVICE)).shape == (0, 3)
