import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from akgnn.csr import CSR, Pattern
from akgnn.errors import DataError, GraphError
from akgnn.graph import Graph
from akgnn.ops.products import matmul, neighbour_sum, neighbour_sum_reference, sparse_linear
from oracles import dense, graphs, random_graph

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 2e-2}
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_neighbour_sum_equals_the_dense_product_and_its_gradient(device, dtype, weighted, directed):
    graph = random_graph(1, weighted=weighted, directed=directed)
    matrix = dense(graph)
    h = torch.randn(graph.num_nodes, 7, dtype=torch.float64).to(dtype)
    grad = torch.randn(graph.num_nodes, 7, dtype=torch.float64).to(dtype)
    signal = h.to(device).requires_grad_()
    out = neighbour_sum(graph.to(device), signal)
    out.backward(grad.to(device))
    close = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    torch.testing.assert_close(out.cpu().double(), matrix @ h.double(), **close)
    torch.testing.assert_close(signal.grad.cpu().double(), matrix.T @ grad.double(), **close)


@given(graphs(directed=True), st.integers(1, 5))
def test_any_graph_in_float32(graph, channels):
    h = torch.randn(graph.num_nodes, channels)
    wanted = (dense(graph) @ h.double()).float()
    torch.testing.assert_close(neighbour_sum(graph, h), wanted)
    torch.testing.assert_close(neighbour_sum_reference(graph, h), wanted)


@pytest.mark.parametrize("rowptr", [torch.int32, torch.int64])
@pytest.mark.parametrize("col", [torch.int32, torch.int64])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_widths_of_indices_give_the_same(rowptr, col, dtype, weighted):
    matrix = random_graph(2, weighted=weighted).adjacency
    # Patterns narrow their indices by themselves; over 2^31 edges would keep int64.
    pattern = Pattern(matrix.pattern.rowptr, matrix.pattern.col, matrix.shape)
    object.__setattr__(pattern, "rowptr", pattern.rowptr.to(rowptr))
    object.__setattr__(pattern, "col", pattern.col.to(col))
    h = torch.randn(matrix.shape[1], 4, dtype=dtype)
    wide = CSR(pattern, matrix.value)
    torch.testing.assert_close(matmul(wide, h), (matrix.to_dense(dtype) @ h))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_graph_without_edges_gives_zeros(dtype):
    graph = Graph.from_edge_index(torch.zeros(2, 0, dtype=torch.int64), num_nodes=3)
    out = neighbour_sum(graph, torch.ones(3, 2, dtype=dtype))
    assert torch.equal(out, torch.zeros(3, 2, dtype=dtype))


def test_a_signal_that_is_not_contiguous_is_taken():
    graph = random_graph(3)
    h = torch.randn(5, graph.num_nodes).T
    torch.testing.assert_close(neighbour_sum(graph, h), neighbour_sum(graph, h.contiguous()))


@pytest.mark.parametrize(
    ("h", "message"),
    [
        (torch.ones(3, 2), r"must have shape \(12, channels\)"),
        (torch.ones(12), r"must have shape \(12, channels\)"),
        (torch.ones(12, 2, dtype=torch.int64), "must be floating-point"),
        (torch.ones(12, 2, device="meta"), "lies on the device meta"),
    ],
)
def test_a_signal_that_does_not_fit_is_refused(h, message):
    with pytest.raises(GraphError, match=message):
        neighbour_sum(random_graph(0), h)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_replicas_are_summed_each_for_itself(dtype, weighted):
    graph = random_graph(2, weighted=weighted)
    h = torch.randn(3, 12, 4, dtype=dtype, requires_grad=True)
    out = neighbour_sum(graph, h)
    out.square().sum().backward()
    for number in range(3):
        alone = h[number].detach().clone().requires_grad_()
        neighbour_sum(graph, alone).square().sum().backward()
        torch.testing.assert_close(out[number], neighbour_sum(graph, alone))
        torch.testing.assert_close(h.grad[number], alone.grad)


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
def test_sparse_linear_equals_the_dense_product_and_its_gradient(binary, dtype):
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
    monkeypatch.setattr("akgnn.ops.products._NUMBERS_AT_ONCE", 12)
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
