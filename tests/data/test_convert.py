import igraph
import networkx as nx
import numpy as np
import pytest
import torch
from scipy import sparse
from torch_geometric.data import Data

from akgnn.csr import CSR
from akgnn.data.convert import from_igraph, from_networkx, from_pyg, from_scipy
from akgnn.errors import DataError
from akgnn.graph import Graph

PAIRS = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)]
LABELS = ["b", "a", "b", "a", "b", ""]


def networkx_graph(kind=nx.Graph, names="uvwxyz"):
    graph = kind()
    for k, (name, label) in enumerate(zip(names, LABELS, strict=True)):
        graph.add_node(name, label=label, size=float(k), **({"id": "x"} if k % 2 else {}))
    graph.add_edges_from((names[i], names[j], {"weight": i + 1.0}) for i, j in PAIRS)
    return graph


def igraph_graph(directed=False):
    graph = igraph.Graph(n=6, edges=PAIRS, directed=directed)
    graph.vs["label"], graph.vs["size"] = LABELS, [float(k) for k in range(6)]
    graph.vs["id"] = [None, "x"] * 3
    graph.es["weight"] = [i + 1.0 for i, _ in PAIRS]
    return graph


def test_a_networkx_graph_keeps_its_ids_and_attributes():
    graph = networkx_graph()
    tables = from_networkx(graph, split="50/50/0")
    assert tables.ids.to_pylist() == list("uvwxyz")
    assert tables.recipe.feature_names == ["size", "id=x"]
    assert tables.class_names == ("a", "b")
    assert tables.y.tolist() == [1, 0, 1, 0, 1, -1]
    expected = Graph.from_networkx(graph)
    assert torch.equal(tables.graph.adjacency.to_dense(), expected.adjacency.to_dense())


def test_igraph_gives_what_networkx_gives():
    expected = from_networkx(networkx_graph(names=range(6)), split="50/50/0")
    found = from_igraph(igraph_graph(), split="50/50/0")
    assert found.ids.to_pylist() == expected.ids.to_pylist() == list(range(6))
    for table in ("nodes_sha256", "edges_sha256"):
        assert found.source[table] == expected.source[table]
    graph = igraph_graph()
    graph.vs["name"] = list("uvwxyz")
    assert from_igraph(graph, split="50/50/0").ids.to_pylist() == list("uvwxyz")


@pytest.mark.parametrize("direction", ["kept", "symmetrised"])
def test_directions_are_kept_on_request(direction):
    one = from_networkx(networkx_graph(nx.DiGraph), split="50/50/0", direction=direction)
    two = from_igraph(igraph_graph(directed=True), split="50/50/0", direction=direction)
    assert one.source.get("direction") == ("kept" if direction == "kept" else None)
    for graph in (one.graph, two.graph):
        assert graph.is_symmetric == (direction == "symmetrised")
        assert graph.num_edges == (6 if direction == "kept" else 12)


def test_nodes_that_are_neither_text_nor_numbers_are_written_out():
    graph = networkx_graph(names=[(k, "x") for k in range(6)])
    assert from_networkx(graph, split="50/50/0").ids.to_pylist()[0] == "(0, 'x')"


def test_attributes_of_mixed_kinds_are_refused():
    graph = networkx_graph()
    graph.nodes["u"]["size"] = "large"
    with pytest.raises(DataError, match="NetworkX graph, attribute 'size': values of one kind"):
        from_networkx(graph)


def test_weights_of_igraph_must_be_numbers():
    graph = igraph_graph()
    graph.es["weight"] = ["x"] * 6
    with pytest.raises(DataError, match="'weight' must hold numbers"):
        from_igraph(graph)


def pyg_data(**changes):
    masks = {f"{part}_mask": torch.arange(6) // 2 == k for k, part in enumerate(["train", "val"])}
    content = {
        "x": torch.eye(6),
        "y": torch.tensor([0, 1, 0, 1, 0, -1]),
        "edge_index": torch.tensor(PAIRS).T,
        "test_mask": torch.arange(6) == 4,
        **masks,
    }
    return Data(**content | changes)


def test_pyg_data_bring_their_masks():
    data = from_pyg(pyg_data())
    assert data.split.train.tolist() == [0, 1]
    assert data.split.val.tolist() == [2, 3]
    assert data.split.test.tolist() == [4]
    assert data.graph.num_edges == 12
    assert from_pyg(pyg_data(), direction="kept").graph.num_edges == 6
    assert from_pyg(pyg_data(), split="50/50/0").split.name == "random-50-50-0-seed-0"
    assert from_pyg(pyg_data(test_mask=None), split_seed=3).split.name.endswith("seed-3")


def test_pyg_data_without_features_use_degrees():
    data = from_pyg(pyg_data(x=None, num_nodes=6))
    assert torch.allclose(data.x, torch.tensor([[1.0, np.log(3)]] * 6, dtype=torch.float32))
    assert "stand in" in data.source["features"]


@pytest.mark.parametrize("y", [None, torch.zeros(6), torch.zeros(6, 2, dtype=torch.int64)])
def test_pyg_data_need_classes(y):
    with pytest.raises(DataError, match="need y, an integer for each node"):
        from_pyg(pyg_data(y=y))


@pytest.mark.parametrize(
    "y",
    [
        ["b", "a", "b", "a", "b", ""],
        np.array(["b", "a", "b", "a", "b", None], dtype=object),
        np.array([1, 0, 1, 0, 1, -1]),
        np.array([1.0, 0, 1, 0, 1, np.nan]),
    ],
)
def test_a_scipy_matrix_with_labels_of_any_kind(y):
    row, col = np.array(PAIRS).T
    matrix = sparse.coo_array((np.ones(6), (row, col)), (6, 6))
    dense = np.arange(12.0).reshape(6, 2)
    data = from_scipy(matrix, dense, y, split="50/50/0")
    assert data.y.tolist() == [1, 0, 1, 0, 1, -1]
    assert data.x.tolist() == dense.tolist()
    assert data.graph.num_edges == 12
    assert from_scipy(matrix, dense, y, split="50/50/0", direction="kept").graph.num_edges == 6


def test_sparse_features_stay_sparse():
    features = sparse.random_array((6, 40), density=0.05, rng=np.random.default_rng(0))
    data = from_scipy(sparse.eye_array(6, k=1), features, LABELS, split="50/50/0")
    assert isinstance(data.x, CSR)
    assert np.allclose(data.x.to_dense(), features.toarray())
    assert from_scipy(sparse.eye_array(6, k=1), None, LABELS, split="50/50/0").num_features == 2


@pytest.mark.parametrize("x", [["a"] * 6, np.zeros(6), [[1], [2, 3]]])
def test_features_beside_a_scipy_matrix_are_numbers_in_rows(x):
    with pytest.raises(DataError, match="x must"):
        from_scipy(sparse.eye_array(6, k=1), x, LABELS, split="50/50/0")


def test_features_of_pyg_data_are_a_matrix():
    with pytest.raises(DataError, match="x of the PyG data"):
        from_pyg(pyg_data(x=torch.zeros(6)))


@pytest.mark.parametrize("y", [None, ["a", "b"], [["a"]] * 6])
def test_a_scipy_matrix_needs_a_label_a_node(y):
    with pytest.raises(DataError, match="a label for each of the 6 nodes"):
        from_scipy(sparse.eye_array(6), np.eye(6), y)
