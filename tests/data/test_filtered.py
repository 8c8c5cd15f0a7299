import io
import os
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from akgnn.data.catalogue import load_dataset
from akgnn.data.filtered import FILES, load_filtered
from akgnn.errors import DataError
from akgnn.graph import Graph

# Present where the experiments' data lie beside the checkout, or where AKGNN_DATA says.
SHARED = Path(__file__).parents[3] / "shared" / "data"
ROOT = Path(os.environ.get("AKGNN_DATA") or SHARED)
needs_files = pytest.mark.skipif(
    not all((ROOT / "filtered" / file).exists() for file in FILES.values()),
    reason="the filtered graphs are not here",
)
NAME, FILE = "chameleon-filtered", FILES["chameleon-filtered"]


def small() -> dict[str, np.ndarray]:
    """Six nodes, two classes, two splits."""
    masks = np.zeros((3, 2, 6), dtype=bool)
    masks[0, :, :2] = masks[1, :, 2:4] = masks[2, :, 4:] = True
    masks[0, 1, :2], masks[1, 1, :2] = masks[1, 1, :2].copy(), masks[0, 1, :2].copy()
    masks[0, 1, 2:4], masks[1, 1, 2:4] = True, False
    return {
        "node_features": np.eye(6, 30, dtype=np.float32),
        "node_labels": np.array([0, 1, 0, 1, 0, 1]),
        "edges": np.array([[0, 1], [1, 0], [1, 2], [3, 3], [4, 5]]),
        "train_masks": masks[0],
        "val_masks": masks[1],
        "test_masks": masks[2],
    }


@pytest.fixture
def write(tmp_path):
    def write(arrays=None, **changes):
        (tmp_path / "filtered").mkdir(exist_ok=True)
        content = small() | changes if arrays is None else arrays
        np.savez_compressed(tmp_path / "filtered" / FILE, **content)
        return tmp_path

    return write


def test_a_small_file_is_read(write):
    data = load_filtered(NAME, write(), split_index=1)
    assert data.graph.edge_index.T.tolist() == [[1, 0], [0, 1], [1, 2], [4, 5]]
    assert data.split.name == "public-1"
    assert data.split.train.tolist() == [2, 3]
    assert data.split.is_published
    assert data.num_classes == 2
    assert len(data.source["sha256"]) == 64


@pytest.mark.parametrize(("direction", "edges"), [("symmetrised", 6), ("kept", 4)])
def test_the_directions_can_be_kept(write, direction, edges):
    data = load_dataset(NAME, direction=direction, data_root=write())
    assert data.graph.num_edges == edges
    assert data.split.name == "public-0"
    assert data.source.get("direction") == ("kept" if direction == "kept" else None)


def test_an_absent_file_says_where_it_was_looked_for_and_where_it_is(tmp_path):
    place = re.escape(str(tmp_path / "filtered" / FILE))
    with pytest.raises(DataError, match=f'looked for in {place}.*"heterophilous-graphs"'):
        load_filtered(NAME, tmp_path)


def test_the_folder_of_the_environment_is_used(write, monkeypatch):
    monkeypatch.setenv("AKGNN_DATA", str(write()))
    assert load_filtered(NAME).graph.num_nodes == 6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"node_labels": np.array([0, 1, 0, 1, 0, 10**15])}, "with a node of each class"),
        ({"node_labels": np.array([0, 1, 0, 1, 0, -1])}, "with a node of each class"),
        ({"node_labels": np.ones(6)}, r"node_labels has shape \[6\] of float64"),
        ({"node_features": np.ones((5, 3))}, "graph has 6 nodes"),
        ({"node_features": np.full((6, 3), np.nan)}, "Feature 0 of node 0 is nan"),
        ({"node_features": np.array([["a"] * 3] * 6)}, "node_features has shape"),
        ({"edges": np.array([[0, 6]])}, "edge_index mentions node 6"),
        ({"edges": np.array([[0, -1]])}, "edge_index mentions node -1"),
        ({"edges": np.array([[0, 1, 2]])}, "edges must have two columns, got 3"),
        ({"train_masks": np.ones((2, 5), dtype=bool)}, "a column for each of the 6 nodes"),
        ({"train_masks": np.ones((2, 6), dtype=bool)}, "listed twice in the split"),
        ({"val_masks": np.ones((2, 6))}, "val_masks has shape"),
        ({"edges": np.array([[{}, {}]], dtype=object)}, "damaged or no such archive"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(write, changes, message):
    with pytest.raises(DataError, match=message):
        load_filtered(NAME, write(**changes))


def test_a_file_without_an_array_is_refused(write):
    arrays = small()
    del arrays["edges"]
    with pytest.raises(DataError, match=r"damaged or no such archive .*edges"):
        load_filtered(NAME, write(arrays))


def _cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _flipped(content: bytes) -> bytes:
    return content[:100] + bytes(byte ^ 255 for byte in content[100:160]) + content[160:]


def _bare(content: bytes) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.arange(3))
    return stream.getvalue()


@pytest.mark.parametrize("damage", [_cut, _flipped, _bare, lambda content: b"", lambda c: b"text"])
def test_a_damaged_file_is_said(write, damage):
    file = write() / "filtered" / FILE
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(DataError, match="damaged or no such archive"):
        load_filtered(NAME, file.parents[1])


def test_a_split_that_was_not_published_is_refused(write):
    with pytest.raises(DataError, match="has 2 published splits, 0 to 1; got 7"):
        load_dataset(NAME, split="public-7", data_root=write())


@needs_files
@pytest.mark.parametrize(
    ("name", "nodes", "directed", "undirected"),
    [("chameleon-filtered", 890, 13534, 17708), ("squirrel-filtered", 2223, 65578, 93996)],
)
def test_the_published_graphs(name, nodes, directed, undirected):
    kept = load_dataset(name, direction="kept", data_root=ROOT)
    assert (kept.graph.num_nodes, kept.graph.num_edges, kept.num_classes) == (nodes, directed, 5)
    assert not kept.graph.is_symmetric
    assert load_dataset(name, data_root=ROOT).graph.num_edges == undirected
    splits = [load_filtered(name, ROOT, split_index=k).split for k in range(10)]
    assert [split.name for split in splits] == [f"public-{k}" for k in range(10)]
    assert len({split.fingerprint for split in splits}) == 10


@needs_files
@pytest.mark.parametrize("name", FILES)
def test_the_directed_file_made_undirected_is_the_undirected_file(name):
    path = ROOT / "filtered" / FILES[name].replace("_directed", "")
    if not path.exists():
        pytest.skip("the undirected file is not here")
    with np.load(path, allow_pickle=False) as archive:
        edges, features, masks = (archive[key] for key in ("edges", "node_features", "train_masks"))
    data = load_dataset(name, features="raw", split="public-4", data_root=ROOT)
    other = Graph.from_edge_index(torch.from_numpy(edges.T), num_nodes=len(features)).symmetrised()
    assert torch.equal(data.graph.edge_index, other.edge_index)
    assert np.array_equal(data.x.to_dense().numpy(), features)
    assert np.array_equal(data.split.train.numpy(), np.flatnonzero(masks[4]))


@needs_files
@pytest.mark.parametrize("name", FILES)
def test_features_are_words_that_are_there_or_not(name):
    assert load_filtered(name, ROOT).x.value is None
    total = load_dataset(name, data_root=ROOT).x.to_dense().sum(1)
    assert bool(((total - 1).abs() < 1e-5).logical_or(total == 0).all())
