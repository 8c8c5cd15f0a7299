from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from akgnn.data.array_folder import num_edges, read_arrays
from akgnn.data.node_data import NodeData
from akgnn.errors import AkgnnError, DataError, UnknownNameError
from akgnn.graph import Graph

NODES = 50


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    draw = np.random.default_rng(0)
    folder = tmp_path / "arrays"
    folder.mkdir()
    np.save(folder / "x.npy", draw.standard_normal((NODES, 4)).astype(np.float32))
    y = np.arange(NODES) % 3
    y[::9] = -1
    np.save(folder / "y.npy", y)
    np.save(folder / "edges.npy", draw.integers(NODES - 3, size=(120, 2)))
    return folder


def read(folder: Path, **options: Any) -> NodeData:
    scratch = folder.parent / f"scratch-{len(list(folder.parent.iterdir()))}"
    scratch.mkdir()
    return read_arrays(folder, scratch, **options)


def graph_of(folder: Path, weight: Any = None, *, kept: bool = False) -> Graph:
    index = torch.from_numpy(np.load(folder / "edges.npy").T.copy())
    weight = None if weight is None else torch.from_numpy(weight).float()
    graph = Graph.from_edge_index(index, weight, num_nodes=NODES)
    return graph if kept else graph.symmetrised()


def assert_same(one: Graph, other: Graph) -> None:
    assert torch.equal(one.edge_index, other.edge_index)
    if other.edge_weight is None:
        assert one.edge_weight is None
    else:
        assert one.edge_weight is not None
        assert torch.equal(one.edge_weight, other.edge_weight)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_arrays_become_data(folder: Path, weighted: bool, kept: bool):
    weight = np.random.default_rng(1).random(120) if weighted else None
    if weight is not None:
        np.save(folder / "weight.npy", weight)
    data = read(folder, direction="kept" if kept else "symmetrised")
    expected = graph_of(folder, weight, kept=kept)
    assert_same(data.graph, expected)
    assert_same(data.graph.transpose, expected.transpose)
    assert np.array_equal(data.x, np.load(folder / "x.npy"))
    assert data.y.tolist() == np.load(folder / "y.npy").tolist()
    assert data.class_names == ("0", "1", "2")
    assert data.name == "arrays"
    assert data.split.name == "random-60-20-20-seed-0"
    assert num_edges(folder) == 120


def test_features_of_float32_are_the_file_itself(folder: Path):
    data = read(folder)
    assert str(folder / "x.npy") in Path("/proc/self/maps").read_text()
    assert isinstance(data.x, torch.Tensor)


@pytest.mark.parametrize("dtype", ["<f2", "<f8", ">f4", "<i4"])
def test_other_numbers_become_float32(folder: Path, dtype: str):
    x = (np.load(folder / "x.npy") * 4).astype(dtype)
    np.save(folder / "x.npy", x)
    data = read(folder)
    assert isinstance(data.x, torch.Tensor)
    assert data.x.dtype == torch.float32
    assert np.array_equal(data.x, x.astype(np.float32))


def test_rows_can_be_divided_by_their_sum(folder: Path):
    x = np.abs(np.load(folder / "x.npy"))
    x[3] = 0
    np.save(folder / "x.npy", np.asfortranarray(x))
    data = read(folder, features="row-normalised")
    assert isinstance(data.x, torch.Tensor)
    expected = torch.ones(NODES)
    expected[3] = 0
    torch.testing.assert_close(data.x.sum(1), expected)
    assert data.source["features"] == "rows sum to 1"


def test_labels_may_be_a_column_of_floats_with_gaps(folder: Path):
    y = np.load(folder / "y.npy")
    np.save(folder / "y.npy", np.where(y < 0, np.nan, y).astype(np.float32)[:, None])
    assert read(folder).y.tolist() == y.tolist()


def test_ends_may_be_the_rows_of_the_array(folder: Path):
    expected = read(folder).graph
    np.save(folder / "edges.npy", np.load(folder / "edges.npy").T)
    assert_same(read(folder).graph, expected)


def test_sets_in_the_folder_are_the_split_unless_another_is_named(folder: Path):
    for name, nodes in (("train", [1, 2, 3]), ("val", [6, 5]), ("test", [[7], [8]])):
        np.save(folder / f"{name}.npy", np.array(nodes))
    split = read(folder).split
    assert (split.train.tolist(), split.val.tolist()) == ([1, 2, 3], [5, 6])
    assert split.test.tolist() == [7, 8]
    assert read(folder, split="60/20/20", split_seed=4).split.name == "random-60-20-20-seed-4"
    (folder / "val.npy").unlink()
    with pytest.raises(DataError, match=r"val\.npy is missing; train, val and test belong"):
        read(folder)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("x", np.zeros(NODES, np.float32), "a row for each node"),
        ("x", np.zeros((0, 4), np.float32), "a row for each node"),
        ("x", np.array([["a"]]), "must hold numbers"),
        ("x", np.full((NODES, 4), np.nan, np.float32), "Feature 0 of node 0 is nan"),
        ("y", np.zeros(NODES - 1, int), "one class for each of the 50 rows"),
        ("y", np.zeros(NODES, int), "two or more"),
        ("y", np.full(NODES, 10**9), "two or more"),
        ("y", np.arange(NODES) + 0.5, "some are no integers"),
        ("y", np.full(NODES, np.inf), "some are no integers"),
        ("edges", np.zeros((4, 3), int), r"shape \(edges, 2\)"),
        ("edges", np.zeros((4, 2)), "must hold the numbers of nodes"),
        ("edges", np.array([[0, 1], [0, NODES]]), "edge 1 joins 0 and 50, but x.npy has the nodes"),
        ("edges", np.array([[0, 1], [-1, 2]]), "edge 1 joins -1 and 2"),
        ("edges", np.array([[0, 2**64 - 1]], np.uint64), "edge 0 joins 0 and -1"),
        ("weight", np.ones(3), "one weight for each of the 120 edges"),
        ("weight", np.full(120, -1.0), "the weight of edge 0 is -1"),
        ("weight", np.full(120, np.nan), "the weight of edge 0 is nan"),
        ("weight", np.full(120, 3.4e38), "the weight of edge 0 is 3.4e"),
        ("weight", np.full(120, 1e-40), "it must be 0, or a number from 1e-30"),
    ],
)
def test_wrong_arrays_are_named_in_one_line(folder: Path, name: str, array: Any, message: str):
    np.save(folder / f"{name}.npy", array)
    with pytest.raises(AkgnnError, match=message) as caught:
        read(folder)
    assert "\n" not in str(caught.value)


def test_pickles_are_not_read(folder: Path):
    np.save(folder / "y.npy", np.array([print] * NODES, dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match=r"y\.npy is damaged"):
        read(folder)
    (folder / "y.npy").write_bytes(b"\x80\x04N.")
    with pytest.raises(DataError, match=r"y\.npy is damaged or no array"):
        read(folder)


def test_what_is_missing_is_named(folder: Path):
    (folder / "y.npy").unlink()
    with pytest.raises(DataError, match=r"y\.npy does not exist"):
        read(folder)
    with pytest.raises(DataError, match="is no folder of arrays"):
        read(folder / "nothing")
    with pytest.raises(UnknownNameError, match="direction"):
        read(folder, direction="back")
    np.save(folder / "y.npy", np.arange(NODES) % 2)
    with pytest.raises(DataError, match="does not say how to draw a split"):
        read(folder, split="public")
