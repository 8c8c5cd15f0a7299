import io
import os
import re
import shutil
from pathlib import Path
from pickle import UnpicklingError

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from akgnn.data import published
from akgnn.data.catalogue import DIRECTED, load_dataset
from akgnn.data.published import (
    BUNDLED_SHA256,
    FILTERED_FILES,
    PYG_SOURCES,
    SPLIT_FILES,
    find_data_root,
    load_bundled,
    load_filtered,
    load_pyg,
    load_split,
)
from akgnn.errors import DataError, MissingExtraError
from akgnn.graph import Graph


def test_the_folder_given_goes_before_all(monkeypatch):
    monkeypatch.setenv("AKGNN_DATA", "/elsewhere")
    assert find_data_root("here") == find_data_root(Path("here")) == Path("here")


def test_then_the_environment_then_the_cache(monkeypatch):
    monkeypatch.setenv("AKGNN_DATA", "/elsewhere")
    assert find_data_root() == Path("/elsewhere")
    cache = Path.home() / ".cache" / "akgnn"
    # An empty variable says nothing.
    monkeypatch.setenv("AKGNN_DATA", "")
    assert find_data_root() == cache
    monkeypatch.delenv("AKGNN_DATA")
    assert find_data_root() == cache


# Name, nodes, directed edges, features, classes, training nodes.
SIZES = [
    ("cora", 2708, 10556, 1433, 7, 140),
    ("citeseer", 3327, 9104, 3703, 6, 120),
    ("pubmed", 19717, 88648, 500, 3, 60),
]


@pytest.mark.parametrize(("name", "nodes", "edges", "features", "classes", "train"), SIZES)
def test_sizes_are_the_published_ones(name, nodes, edges, features, classes, train):
    data = load_bundled(name)
    assert data.graph.num_nodes == nodes
    assert data.graph.num_edges == edges
    assert data.graph.is_symmetric
    assert data.x.shape == (nodes, features)
    assert data.num_classes == classes
    assert [len(part) for part in (data.split.train, data.split.val, data.split.test)] == [
        train,
        500,
        1000,
    ]
    assert torch.bincount(data.y[data.split.train]).tolist() == [20] * classes
    assert data.source["sha256"] == BUNDLED_SHA256[name]


@pytest.mark.parametrize(
    ("name", "label"),
    [("cora", "public:76754223"), ("citeseer", "public:e00f197c"), ("pubmed", "public:c84f40d1")],
)
def test_the_public_split_has_its_fingerprint(name, label):
    assert load_bundled(name).split.label == label


def test_cora_names_its_classes():
    assert "Neural_Networks" in load_bundled("cora").class_names


def test_citeseer_has_its_isolated_nodes():
    assert int((load_bundled("citeseer").graph.degree == 0).sum()) == 48


def test_a_damaged_file_is_refused(monkeypatch):
    monkeypatch.setitem(published.BUNDLED_SHA256, "cora", "0" * 64)
    with pytest.raises(DataError, match=r"cora\.npz is damaged: its SHA-256 is d40bfc437b22"):
        load_bundled("cora")


def test_pickles_are_not_loaded(monkeypatch):
    asked = {}
    load = np.load

    def watch(file, **options):
        asked.update(options)
        return load(file, **options)

    monkeypatch.setattr(np, "load", watch)
    load_bundled("cora")
    assert asked["allow_pickle"] is False


# Present where the experiments' data lie beside the checkout, or where AKGNN_DATA says.
SHARED = Path(__file__).parents[3] / "shared" / "data"
ROOT = Path(os.environ.get("AKGNN_DATA") or SHARED)
needs_files = pytest.mark.skipif(
    not all((ROOT / "filtered" / file).exists() for file in FILTERED_FILES.values()),
    reason="the filtered graphs are not here",
)
NAME, FILE = "chameleon-filtered", FILTERED_FILES["chameleon-filtered"]


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


@pytest.fixture
def write_split(tmp_path):
    def write_split(**changes):
        (tmp_path / "splits").mkdir(exist_ok=True)
        parts = {"train": [0, 2], "valid": [1], "test": [4, 3]}
        arrays = {name: np.array(nodes) for name, nodes in parts.items()} | changes
        np.savez(tmp_path / "splits" / SPLIT_FILES["photo"], **arrays)
        return tmp_path

    return write_split


def test_a_published_split_is_read(write_split):
    split = load_split("photo", write_split())
    assert (split.name, split.is_published) == ("public", True)
    parts = [nodes.tolist() for nodes in (split.train, split.val, split.test)]
    assert parts == [[0, 2], [1], [3, 4]]


def test_an_absent_split_says_where_it_was_looked_for_and_where_it_is(tmp_path):
    place = re.escape(str(tmp_path / "splits" / SPLIT_FILES["physics"]))
    with pytest.raises(DataError, match=f'looked for in {place}.*"Polynormer"'):
        load_split("physics", tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"valid": np.array([0])}, "Node 0 is listed twice"),
        ({"train": np.array([], dtype=int)}, "training set is empty"),
        ({"train": np.ones(2)}, r"train has shape \[2\] of float64"),
    ],
)
def test_a_split_that_does_not_fit_is_refused(write_split, changes, message):
    with pytest.raises(DataError, match=message):
        load_split("photo", write_split(**changes))


def test_public_asks_for_the_split_and_nothing_else_does(write_split, monkeypatch):
    block = load_dataset("csbm:num_nodes=60")
    monkeypatch.setattr("akgnn.data.catalogue.load_pyg", lambda name, *_, **options: block)
    root = write_split()
    assert load_dataset("photo", split="public", data_root=root).split.test.tolist() == [3, 4]
    assert load_dataset("photo", data_root=root).split is block.split
    assert load_dataset("photo", split="60/20/20", data_root=root).split.test.numel() == 12


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
@pytest.mark.parametrize("name", FILTERED_FILES)
def test_the_directed_file_made_undirected_is_the_undirected_file(name):
    path = ROOT / "filtered" / FILTERED_FILES[name].replace("_directed", "")
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
@pytest.mark.parametrize("name", FILTERED_FILES)
def test_features_are_words_that_are_there_or_not(name):
    assert load_filtered(name, ROOT).x.value is None
    total = load_dataset(name, data_root=ROOT).x.to_dense().sum(1)
    assert bool(((total - 1).abs() < 1e-5).logical_or(total == 0).all())


# Present where the experiments' data lie beside the checkout, or where AKGNN_DATA says; users
# download them.
RAW = Path(os.environ.get("AKGNN_DATA") or Path(__file__).parents[3] / "shared" / "data" / "pyg")


@pytest.fixture
def copied(tmp_path):
    """Copies the raw files of a data set, since PyG writes beside them."""

    def copied(name):
        source = PYG_SOURCES[name]
        folder = RAW / source.folder
        if source.key and source.dataset != "CitationFull":
            folder /= source.key.lower() if source.dataset != "Amazon" else source.key
        if not folder.exists():
            pytest.skip("the raw files are not here")
        target = tmp_path / folder.relative_to(RAW)
        shutil.copytree(folder, target, ignore=shutil.ignore_patterns("processed"))
        return tmp_path

    return copied


@pytest.mark.parametrize(
    ("name", "nodes", "classes", "split"),
    [
        ("actor", 7600, 5, "public-0"),
        ("texas", 183, 5, "public-0"),
        ("cornell", 183, 5, "public-0"),
        ("minesweeper", 10000, 2, "public-0"),
        ("photo", 7650, 8, "random-20-per-class-seed-0"),
        ("cora-ml", 2995, 7, "random-20-per-class-seed-0"),
    ],
)
def test_a_data_set_loads_through_pyg(copied, name, nodes, classes, split):
    root = copied(name)
    data = load_pyg(name, root)
    assert data.graph.num_nodes == nodes
    assert data.num_classes == classes
    assert data.split.name == split
    assert data.graph.is_symmetric == (name not in DIRECTED)
    assert load_dataset(name, data_root=root).graph.is_symmetric
    kept = load_dataset(name, direction="kept", data_root=root)
    assert torch.equal(kept.graph.edge_index, data.graph.edge_index)


def test_other_published_splits_can_be_chosen(copied, monkeypatch):
    monkeypatch.setenv("AKGNN_DATA", str(copied("texas")))
    assert load_pyg("texas", split_index=3).split.name == "public-3"
    assert load_pyg("texas").split.fingerprint != load_pyg("texas", split_index=3).split.fingerprint
    with pytest.raises(DataError, match="has 10 published splits, 0 to 9; got 10"):
        load_pyg("texas", split_index=10)


def test_a_failed_download_says_where_it_looked(tmp_path, monkeypatch):
    from torch_geometric import datasets

    def fail(folder):
        raise OSError("no network")

    monkeypatch.setattr(datasets, "Actor", fail)
    with pytest.raises(
        DataError, match=r"could not be downloaded there \(no network\); point `data_root`"
    ):
        load_pyg("actor", tmp_path)


def test_without_pyg_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch_geometric", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'akgnn\[pyg\]'"):
        load_pyg("actor")


def test_masks_become_index_sets(monkeypatch):
    y = torch.tensor([0, 1, 0, 1])
    mask = torch.eye(4, dtype=torch.bool)
    data = Data(
        x=torch.rand(4, 2),
        y=y,
        edge_index=torch.tensor([[0], [1]]),
        train_mask=mask[0] | mask[1],
        val_mask=mask[2],
        test_mask=mask[3],
    )
    monkeypatch.setattr(published, "_read_pyg", lambda *_: data)
    loaded = load_pyg("actor")
    assert loaded.split.name == "public"
    assert loaded.split.train.tolist() == [0, 1]
    assert loaded.graph.num_edges == 1
    assert load_dataset("actor").graph.num_edges == 2
    assert load_dataset("actor", direction="kept").graph.num_edges == 1


@pytest.mark.parametrize("error", [EOFError(), RuntimeError("bad magic"), UnpicklingError("x")])
def test_a_damaged_cache_is_said(tmp_path, monkeypatch, error):
    from torch_geometric import datasets

    def fail(folder):
        raise error

    monkeypatch.setattr(datasets, "Actor", fail)
    with pytest.raises(DataError, match=r"is damaged .*delete its folder `processed`"):
        load_pyg("actor", str(tmp_path))
