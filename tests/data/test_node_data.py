import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from akgnn.csr import CSR
from akgnn.data.catalogue import load_dataset
from akgnn.data.node_data import NodeData, content_sha256, homophily_among
from akgnn.data.splits import Split
from akgnn.data.transforms import sparse_if_sparse
from akgnn.errors import DataError, GraphError
from akgnn.graph import Graph
from oracles import random_graph

GRAPH = random_graph(0)
Y = torch.tensor([0, 1, 0, 1, 0, 1, 0, 1, 0, 1, -1, -1])
SPLIT = Split("some", torch.tensor([0, 1]), torch.tensor([2, 3]), torch.tensor([4, 5]))


def make(**changes):
    fields = {"x": torch.rand(12, 3), "y": Y, "graph": GRAPH, "split": SPLIT}
    return NodeData(name="toy", class_names=("a", "b"), **{**fields, **changes})


def test_sizes_are_known():
    data = make()
    assert (data.num_features, data.num_classes) == (3, 2)
    assert "12 nodes" in repr(data)
    assert SPLIT.label in repr(data)


def test_homophily_is_the_share_of_edges_within_a_class():
    source, target = GRAPH.edge_index
    known = (Y[source] >= 0) & (Y[target] >= 0)
    same = sum(int(Y[a] == Y[b]) for a, b, k in zip(source, target, known, strict=True) if k)
    assert make().edge_homophily == pytest.approx(same / int(known.sum()))


def test_homophily_of_training_nodes_sees_no_other_label():
    split = replace(SPLIT, train=torch.arange(8), val=torch.tensor([8]), test=torch.tensor([9]))
    data = make(split=split)
    source, target = GRAPH.edge_index
    inside = (source < 8) & (target < 8)
    found = data.train_homophily
    assert found.share == pytest.approx(float((Y[source] == Y[target])[inside].float().mean()))
    assert found.num_edges > 0
    others = Y.index_fill(0, torch.arange(8, 12), 1)
    assert replace(data, y=others).train_homophily == found


def test_another_split_leaves_the_rest():
    other = Split("other", torch.tensor([2, 3]), torch.tensor([0]), torch.tensor([1]))
    data = make()
    changed = data.with_split(other)
    assert changed.split is other
    assert changed.x is data.x


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": torch.rand(11, 3)}, r"Features have shape \[11, 3\], but the graph has 12 nodes"),
        ({"x": torch.rand(12)}, r"Features have shape \[12\]"),
        ({"x": torch.rand(12, 0)}, "Features have no columns"),
        ({"x": torch.ones(12, 3, dtype=torch.int64)}, "must be floating-point"),
        (
            {"x": torch.rand(12, 3).index_fill(0, torch.tensor([4]), float("nan"))},
            "Feature 0 of node 4 is nan",
        ),
        ({"x": torch.full((12, 3), float("inf"))}, "Feature 0 of node 0 is inf"),
        ({"x": np.ones((12, 3))}, "must be torch tensors .*, got ndarray and Tensor"),
        ({"y": Y.numpy()}, "must be torch tensors .*, got Tensor and ndarray"),
        ({"split": replace(SPLIT, test=torch.tensor([-1, 4]))}, "test set mentions node -1"),
        ({"y": Y[:11]}, "Labels must be 12 int64 numbers"),
        ({"y": Y.float()}, "Labels must be 12 int64 numbers"),
        ({"y": Y + 1}, "Labels run from 0 to 2, but 2 classes allow 0 to 1"),
        ({"y": Y - 1}, "Labels run from -2"),
        ({"split": replace(SPLIT, test=torch.tensor([12]))}, "test set mentions node 12"),
        (
            {"split": replace(SPLIT, test=torch.tensor([11]))},
            "Node 11 is in the test set but has no",
        ),
        ({"split": replace(SPLIT, train=torch.tensor([0, 6]))}, "Class 'b' has no training node"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(DataError, match=message):
        make(**changes)


def test_sparse_features_of_another_size_are_refused():
    x = CSR.from_arrays(torch.tensor([0, 1]), torch.tensor([0]), None, (1, 3))
    with pytest.raises(DataError, match="graph has 12 nodes"):
        make(x=x)


def test_a_published_split_is_taken_as_it_is():
    published = replace(SPLIT, train=torch.tensor([0, 6]), is_published=True)
    assert make(split=published).split is published
    assert published.to("cpu").is_published


def test_sparse_features_that_are_not_finite_are_refused():
    pattern = CSR.from_arrays(
        torch.arange(13), torch.zeros(12, dtype=torch.int64), None, (12, 3)
    ).pattern
    with pytest.raises(GraphError, match="The features holds nan at position 5"):
        make(x=CSR(pattern, torch.ones(12).index_fill(0, torch.tensor([5]), float("nan"))))


def test_weights_of_classes_are_one_a_class():
    assert make(class_weight=torch.ones(2)).class_weight.tolist() == [1, 1]
    with pytest.raises(DataError, match=r"class_weight must be 2 numbers, .* shape \[3\]"):
        make(class_weight=torch.ones(3))


def test_every_part_of_the_content_counts():
    x, y = torch.eye(20), torch.arange(20) % 2
    index = torch.tensor([[0, 1], [1, 2]])
    weight = torch.tensor([1.0, 2.0])
    graph = Graph.from_edge_index(index, num_nodes=20)
    hashes = [
        content_sha256(x, y, graph, ("a", "b")),
        content_sha256(x + 1, y, graph, ("a", "b")),
        content_sha256(x.view(40, 10), y, graph, ("a", "b")),
        content_sha256(sparse_if_sparse(x), y, graph, ("a", "b")),
        content_sha256(sparse_if_sparse(2 * x), y, graph, ("a", "b")),
        content_sha256(x, 1 - y, graph, ("a", "b")),
        content_sha256(x, y, Graph.from_edge_index(index.flip(0), num_nodes=20), ("a", "b")),
        content_sha256(x, y, Graph.from_edge_index(index, weight, num_nodes=20), ("a", "b")),
        content_sha256(x, y, graph, ("a", "c")),
    ]
    assert len(set(hashes)) == len(hashes)
    assert content_sha256(x.clone(), y.clone(), graph, ("a", "b")) == hashes[0]


# A path 0-1-2-3, and node 4 linked to 3. Nodes 0 to 3 are chosen.
PATH = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
CLASSES = torch.tensor([0, 0, 1, 0, 1])
CHOSEN = torch.tensor([0, 1, 2, 3])


def test_an_undirected_edge_counts_once():
    graph = Graph.from_edge_index(PATH, num_nodes=5).symmetrised()
    found = homophily_among(graph, CLASSES, CHOSEN)
    assert found.num_edges == 3
    assert found.share == pytest.approx(1 / 3)
    # The degrees are 1, 2, 2, 1: class 0 has 4 of the 6 ends, class 1 has 2.
    assert found.expected == pytest.approx((4 / 6) ** 2 + (2 / 6) ** 2)


def test_sources_and_targets_of_directed_edges_are_counted_apart():
    found = homophily_among(Graph.from_edge_index(PATH, num_nodes=5), CLASSES, CHOSEN)
    assert found.num_edges == 3
    assert found.share == pytest.approx(1 / 3)
    # Sources have the classes 0, 0, 1, targets 0, 1, 0.
    assert found.expected == pytest.approx((2 / 3) * (2 / 3) + (1 / 3) * (1 / 3))


def test_without_edges_nothing_is_known():
    found = homophily_among(Graph.from_edge_index(PATH, num_nodes=5), CLASSES, torch.tensor([0, 2]))
    assert found.num_edges == 0
    assert math.isnan(found.share)
    assert math.isnan(found.expected)


def test_random_labels_agree_as_often_as_expected():
    draw = torch.Generator().manual_seed(0)
    graph = Graph.from_edge_index(torch.randint(400, (2, 4000), generator=draw)).symmetrised()
    y = (torch.rand(graph.num_nodes, generator=draw) < 0.2).long()
    found = homophily_among(graph, y, torch.arange(graph.num_nodes))
    assert found.share == pytest.approx(found.expected, abs=0.02)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"graph": None}, "graph must be a Graph, got NoneType"),
        ({"graph": torch.tensor([[0, 1], [1, 0]])}, "graph must be a Graph, got Tensor"),
        ({"split": "public"}, r"split must be a Split\(name, train, val, test\), got str"),
        ({"class_names": 3}, "class_names must be a tuple of texts, one a class, got 3"),
        ({"class_names": "ab"}, "class_names must be a tuple of texts"),
        ({"class_weight": [1.0, 1.0]}, "class_weight must be a torch tensor or None, got list"),
    ],
)
def test_what_is_not_of_its_kind_is_refused(change, words):
    data = load_dataset("csbm:num_nodes=60")
    with pytest.raises(DataError, match=words):
        replace(data, **change)
