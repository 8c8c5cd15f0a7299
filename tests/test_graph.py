import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from scipy import sparse
from torch_geometric.data import Data

from akgnn import csr
from akgnn.csr import CSR
from akgnn.errors import DeviceError, GraphError
from akgnn.graph import Graph
from oracles import dense, graphs, random_graph, renormalised

TRIANGLE = torch.tensor([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]])


def test_row_i_holds_the_sources_of_edges_into_i():
    graph = Graph.from_edge_index(torch.tensor([[0, 1], [2, 2]]), num_nodes=3)
    assert torch.equal(dense(graph), torch.tensor([[0, 0, 0], [0, 0, 0], [1, 1, 0]]).double())


def test_self_loops_are_dropped():
    graph = Graph.from_edge_index(torch.tensor([[0, 0, 1], [0, 1, 0]]))
    assert graph.num_edges == 2
    assert torch.equal(graph.degree, torch.ones(2))


def test_an_unweighted_edge_said_twice_is_one_edge():
    graph = Graph.from_edge_index(torch.tensor([[0, 0, 1], [1, 1, 0]]))
    assert graph.num_edges == 2
    assert graph.edge_weight is None


def test_weights_of_repeated_edges_add_up():
    weight = torch.tensor([0.5, 0.25, 2.0])
    graph = Graph.from_edge_index(torch.tensor([[0, 0, 1], [1, 1, 0]]), weight)
    assert torch.equal(dense(graph), torch.tensor([[0, 2.0], [0.75, 0]]).double())


def test_weights_of_one_are_not_stored():
    assert Graph.from_edge_index(TRIANGLE, torch.ones(6)).edge_weight is None


def test_nodes_without_edges_count():
    graph = Graph.from_edge_index(TRIANGLE, num_nodes=5)
    assert graph.num_nodes == 5
    assert graph.degree.tolist() == [2, 2, 2, 0, 0]


def test_degrees_are_row_sums_of_the_weights():
    graph = random_graph(0, weighted=True)
    torch.testing.assert_close(graph.degree, dense(graph).sum(1))


def test_symmetry_is_known():
    assert Graph.from_edge_index(TRIANGLE).is_symmetric
    assert not Graph.from_edge_index(TRIANGLE[:, :2], num_nodes=3).is_symmetric
    one_sided = Graph.from_edge_index(TRIANGLE, torch.tensor([1.0, 2, 3, 4, 5, 6]))
    assert not one_sided.is_symmetric
    assert Graph.from_edge_index(TRIANGLE, torch.full((6,), 2.5)).is_symmetric


def symmetric_by_sorting(graph: Graph) -> bool:
    """Edges lie sorted by target, then source; turned round and sorted they must be the same."""
    source, target = graph.edge_index
    turned, order = torch.sort(source * graph.num_nodes + target)
    if not torch.equal(turned, target * graph.num_nodes + source):
        return False
    return graph.edge_weight is None or torch.equal(graph.edge_weight, graph.edge_weight[order])


@pytest.mark.parametrize("block", [1000, 2**24])
@pytest.mark.parametrize("weighted", [False, True])
def test_symmetry_of_large_graphs_is_what_sorting_finds(weighted, block, monkeypatch):
    monkeypatch.setattr(csr, "_BLOCK", block)
    half = torch.randint(2000, (2, 20_000))
    weight = torch.rand(20_000) if weighted else None
    directed = Graph.from_edge_index(half, weight, num_nodes=2000)
    undirected = directed.symmetrised()
    assert undirected.is_symmetric
    assert symmetric_by_sorting(undirected)
    for missing in torch.randint(undirected.num_edges, (20,)).tolist():
        keep = torch.arange(undirected.num_edges) != missing
        value = undirected.edge_weight
        value = None if value is None else value[keep]
        one_less = Graph.from_edge_index(undirected.edge_index[:, keep], value, num_nodes=2000)
        assert not one_less.is_symmetric
        assert not symmetric_by_sorting(one_less)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_symmetry_sees_the_last_bit_of_a_weight(dtype):
    weight = torch.tensor([0.1, 0.2, 0.3, 0.1, 0.2, 0.3], dtype=dtype)
    assert Graph.from_edge_index(TRIANGLE, weight).is_symmetric
    weight[1] = torch.nextafter(weight[1], torch.ones((), dtype=dtype))
    assert not Graph.from_edge_index(TRIANGLE, weight).is_symmetric


def test_symmetry_sees_weights_that_changed_places():
    # Each direction has the same weights, at other edges.
    weight = torch.tensor([1.0, 2.0, 3.0, 2.0, 1.0, 3.0])
    assert not Graph.from_edge_index(TRIANGLE, weight).is_symmetric


def test_zero_and_minus_zero_are_one_weight():
    pattern = Graph.from_edge_index(TRIANGLE).adjacency.pattern
    value = torch.tensor([0.0, 1.0, -0.0, 1.0, 1.0, 1.0])
    assert Graph(CSR(pattern, value)).is_symmetric


def test_degrees_that_occur_are_told_once_and_by_node():
    graph = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=4)
    found, of_node = graph.degrees
    assert found.tolist() == [0, 1, 2]
    assert torch.equal(found[of_node], graph.degree)


def test_weights_of_many_blocks_give_the_same_degrees(monkeypatch):
    weight = torch.rand(300, dtype=torch.float64)
    graph = Graph.from_edge_index(torch.randint(40, (2, 300)), weight)
    expected = graph.degree
    monkeypatch.setattr(csr, "_BLOCK", 7)
    again = Graph(graph.adjacency)
    assert torch.equal(again.degree, expected)


@given(graphs(directed=True))
def test_symmetrised_is_the_larger_of_both_directions(graph):
    matrix = dense(graph)
    assert torch.equal(dense(graph.symmetrised()), torch.maximum(matrix, matrix.T))
    assert graph.symmetrised().is_symmetric


@given(graphs(directed=True))
def test_symmetry_agrees_with_the_dense_matrix(graph):
    assert graph.is_symmetric == torch.equal(dense(graph), dense(graph).T)


@given(graphs(directed=True))
def test_transpose_is_the_dense_transpose(graph):
    assert torch.equal(dense(graph.transpose), dense(graph).T)


@given(graphs(directed=True))
def test_edge_index_builds_the_same_graph_again(graph):
    again = Graph.from_edge_index(graph.edge_index, graph.edge_weight, num_nodes=graph.num_nodes)
    assert torch.equal(dense(again), dense(graph))


def test_scipy_matrix_entry_i_j_is_an_edge_from_i_to_j():
    matrix = np.array([[0, 2.5, 0], [0, 0, 1], [0, 0, 0]])
    graph = Graph.from_scipy(sparse.csr_matrix(matrix))
    assert torch.equal(dense(graph), torch.tensor(matrix.T))


def test_scipy_matrix_of_booleans_is_unweighted():
    graph = Graph.from_scipy(sparse.csr_array(np.array([[0, 1], [1, 0]], dtype=bool)))
    assert graph.edge_weight is None
    assert graph.num_edges == 2


def test_networkx_graph_keeps_node_order_and_weights():
    source = nx.Graph()
    source.add_nodes_from(["c", "a", "b"])
    source.add_edge("a", "c", weight=3.0)
    source.add_edge("a", "b")
    expected = torch.tensor([[0, 3, 0], [3, 0, 1], [0, 1, 0]]).double()
    assert torch.equal(dense(Graph.from_networkx(source)), expected)


def test_directed_networkx_graph_stays_directed():
    graph = Graph.from_networkx(nx.DiGraph([(0, 1), (1, 2)]))
    assert not graph.is_symmetric
    assert torch.equal(dense(graph), torch.tensor([[0, 0, 0], [1, 0, 0], [0, 1, 0]]).double())


def test_all_builders_agree():
    source = nx.karate_club_graph()
    expected = dense(Graph.from_networkx(source))
    matrix = nx.to_scipy_sparse_array(source, dtype=float)
    assert torch.equal(dense(Graph.from_scipy(matrix)), expected)
    coo = matrix.tocoo()
    edge_index = torch.tensor(np.stack(coo.coords), dtype=torch.int64)
    data = Data(edge_index=edge_index, edge_weight=torch.tensor(coo.data), num_nodes=34)
    assert torch.equal(dense(Graph.from_pyg(data)), expected)


def test_int32_edge_index_is_taken():
    assert torch.equal(
        dense(Graph.from_edge_index(TRIANGLE.int())), dense(Graph.from_edge_index(TRIANGLE))
    )


def test_to_the_same_device_is_the_same_graph():
    graph = random_graph(0)
    assert graph.to("cpu") is graph


@pytest.mark.gpu
def test_graph_moves_to_the_gpu_and_back():
    graph = random_graph(0, weighted=True)
    there = graph.to("cuda")
    assert there.device.type == "cuda"
    assert torch.equal(dense(there.to("cpu")), dense(graph))


@pytest.mark.parametrize(
    ("index", "num_nodes", "message"),
    [
        ([[0], [2708]], 2708, "edge_index mentions node 2708, but num_nodes=2708 allows 0 to 2707"),
        ([[-1], [0]], 3, "edge_index mentions node -1"),
        ([[0, 1]], 3, r"must have shape \(2, edges\), got \[1, 2\]"),
        ([[0.0], [1.0]], 3, "must hold int32 or int64"),
        ([[0], [1]], 0, "allows none"),
    ],
)
def test_bad_edges_are_refused(index, num_nodes, message):
    with pytest.raises(GraphError, match=message):
        Graph.from_edge_index(torch.tensor(index), num_nodes=num_nodes)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0], "one number for each of the 2 entries"),
        ([1.0, float("nan")], "edge_weight holds nan at position 1"),
        ([float("-inf"), 1.0], "edge_weight holds -inf at position 0"),
        ([1, 2], "floating-point"),
    ],
)
def test_bad_weights_are_refused(weight, message):
    with pytest.raises(GraphError, match=message):
        Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]), torch.tensor(weight))


def test_a_graph_needs_a_node():
    with pytest.raises(GraphError, match="at least one node"):
        Graph.from_edge_index(torch.zeros(2, 0, dtype=torch.int64))


def test_a_matrix_that_is_not_square_is_refused():
    with pytest.raises(GraphError, match="must be square"):
        Graph.from_scipy(sparse.csr_matrix((2, 3)))
    arrays = torch.tensor([0, 0, 1]), torch.tensor([2]), None, (2, 3)
    with pytest.raises(GraphError, match="must be square"):
        Graph(CSR.from_arrays(*arrays))


@pytest.mark.parametrize("block", [1, 2**24])
def test_an_adjacency_with_self_loops_is_refused(block, monkeypatch):
    monkeypatch.setattr(csr, "_BLOCK", block)
    arrays = torch.tensor([0, 1, 3]), torch.tensor([1, 0, 1]), None, (2, 2)
    with pytest.raises(GraphError, match="self-loops"):
        Graph(CSR.from_arrays(*arrays))
    with pytest.raises(GraphError, match="self-loops"):
        Graph(CSR.from_arrays(torch.tensor([0, 1]), torch.tensor([0]), None, (1, 1)))


def test_data_without_edges_is_refused():
    with pytest.raises(GraphError, match="has no edge_index"):
        Graph.from_pyg(Data(x=torch.ones(2, 2)))


@given(graphs())
def test_renormalised_equals_the_dense_matrix(graph):
    found = graph.renormalised.to_dense(torch.float64)
    torch.testing.assert_close(found, renormalised(graph), rtol=1e-6, atol=1e-6)


@given(graphs())
def test_largest_frequency_equals_the_dense_eigenvalue(graph):
    matrix = dense(graph)
    degree = matrix.sum(1)
    scale = torch.where(degree > 0, degree, 1) ** -0.5 * (degree > 0)
    laplacian = torch.eye(len(matrix)) - scale[:, None] * matrix * scale
    expected = float(torch.linalg.eigvalsh(laplacian)[-1])
    assert graph.largest_frequency == pytest.approx(expected, abs=1e-6)


def test_largest_frequency_of_a_large_even_ring_is_two():
    ring = torch.arange(30)
    index = torch.stack([ring, ring.roll(1)])
    assert Graph.from_edge_index(index).symmetrised().largest_frequency == pytest.approx(2)


def test_weights_that_learn_are_refused_not_ignored():
    weight = torch.ones(6, requires_grad=True)
    with pytest.raises(GraphError, match=r"pass edge_weight\.detach\(\)"):
        Graph.from_edge_index(TRIANGLE, weight)


def test_weights_that_add_up_to_infinity_are_refused():
    index = torch.tensor([[0, 0, 1, 1], [1, 1, 0, 0]])
    with pytest.raises(GraphError, match="edge_weight holds inf"):
        Graph.from_edge_index(index, torch.full((4,), 3e38))


def test_parallel_edges_add_up_the_same_in_both_directions():
    for _ in range(50):
        weight = torch.rand(4)
        index = torch.tensor([[0] * 4 + [1] * 4, [1] * 4 + [0] * 4])
        both = torch.cat([weight, weight[torch.randperm(4)]])
        assert Graph.from_edge_index(index, both).is_symmetric


def test_the_degree_of_a_hub_keeps_its_digits():
    leaves = torch.arange(1, 300_001)
    index = torch.stack([leaves, torch.zeros_like(leaves)])
    graph = Graph.from_edge_index(index, torch.full((300_000,), 0.1))
    assert float(graph.degree[0]) == pytest.approx(30_000, rel=1e-6)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Graph.from_edge_index(TRIANGLE.numpy()), "must be a torch tensor, got ndarray"),
        (lambda: Graph.from_edge_index(TRIANGLE, num_nodes=-1), "num_nodes must be an integer"),
        (
            lambda: Graph.from_edge_index(TRIANGLE, num_nodes=4.0),
            "num_nodes must be an integer",
        ),
        (lambda: Graph.from_scipy(sparse.coo_array(np.ones(3))), "must be square"),
        (lambda: Graph.from_scipy(sparse.csr_array(np.eye(2) * 1j)), "real numbers"),
        (lambda: Graph.from_networkx(nx.Graph([(0, 1, {"weight": "a"})])), "must hold numbers"),
    ],
)
def test_other_kinds_of_input_are_refused_in_words(build, message):
    with pytest.raises(GraphError, match=message):
        build()


def test_networkx_weights_keep_their_digits():
    graph = Graph.from_networkx(nx.Graph([(0, 1, {"weight": 0.1})]))
    assert float(graph.edge_weight[0]) == 0.1


def test_a_damaged_scipy_matrix_does_not_end_the_interpreter():
    matrix = sparse.random(9, 9, 0.5, format="csr", random_state=0)
    matrix.indptr[3] = 10**6
    with pytest.raises(GraphError, match="The adjacency matrix is a damaged csr matrix"):
        Graph.from_scipy(matrix)


def test_more_nodes_than_can_be_sorted_are_refused():
    with pytest.raises(GraphError, match="at most 3,000,000,000 nodes"):
        Graph.from_edge_index(torch.tensor([[0], [2**62]]))


@pytest.mark.parametrize(
    ("build", "value", "words"),
    [
        (Graph, None, "its adjacency as CSR, got NoneType; Graph.from_edge_index"),
        (Graph.from_edge_index, None, "edge_index must be a torch tensor, got NoneType"),
        (Graph.from_scipy, None, "A SciPy sparse matrix is expected, got NoneType"),
        (Graph.from_scipy, "a", "A SciPy sparse matrix is expected, got str"),
        (Graph.from_networkx, None, "A NetworkX graph is expected, got NoneType"),
        (Graph.from_pyg, None, "NoneType has no edge_index"),
    ],
)
def test_what_is_no_graph_is_refused(build, value, words):
    with pytest.raises(GraphError, match=words):
        build(value)


def test_an_unknown_device_is_refused():
    with pytest.raises(DeviceError, match="Device 'tpu' is unknown or not to be had here"):
        Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]])).to("tpu")


def test_in_a_notebook_a_graph_tells_its_size_and_degrees():
    index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    text = Graph.from_edge_index(index, num_nodes=5)._repr_html_()
    for told in (">5<", "2, undirected, unweighted", "0.8 on average, 2 at most", ">2<"):
        assert told in text
    text = Graph.from_edge_index(index[:, :3], torch.ones(3) * 2, num_nodes=3)._repr_html_()
    assert "3, directed, weighted" in text
    assert "in-neighbours of a node" in text
    assert "nodes without edges" in text


def test_a_huge_graph_is_shown_without_counting(monkeypatch):
    monkeypatch.setattr("akgnn.graph._QUICK", 3)
    graph = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    assert "4, unweighted" in graph._repr_html_()
    assert "is_symmetric" not in vars(graph)


def test_weights_that_add_up_beyond_all_numbers_are_told():
    ends = torch.tensor([[0, 1, 2], [1, 0, 1]])
    graph = Graph.from_edge_index(ends, torch.full((3,), 3e38))
    with pytest.raises(GraphError, match="of node 1 add up to more than"):
        _ = graph.degree
