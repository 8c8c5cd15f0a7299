import os
import shutil
from pathlib import Path
from pickle import UnpicklingError

import pytest
import torch
from torch_geometric.data import Data

from akgnn.data import pyg
from akgnn.data.catalogue import DIRECTED, load_dataset
from akgnn.data.pyg import PYG_SOURCES, load_pyg, sparse_if_sparse
from akgnn.errors import DataError, MissingExtraError

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
        DataError, match=r"could not be downloaded there \(no network\); point --data-root"
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
    monkeypatch.setattr(pyg, "_read", lambda *_: data)
    loaded = load_pyg("actor")
    assert loaded.split.name == "public"
    assert loaded.split.train.tolist() == [0, 1]
    assert loaded.graph.num_edges == 1
    assert load_dataset("actor").graph.num_edges == 2
    assert load_dataset("actor", direction="kept").graph.num_edges == 1


@pytest.mark.parametrize("value", [1.0, 2.5])
def test_features_with_many_zeros_become_sparse(value):
    x = torch.zeros(10, 20)
    x[3, 4] = x[9, 19] = value
    sparse = sparse_if_sparse(x)
    assert torch.equal(sparse.to_dense(), x)
    assert (sparse.value is None) == (value == 1.0)


def test_dense_features_stay_dense():
    x = torch.rand(4, 4)
    assert sparse_if_sparse(x) is x


@pytest.mark.parametrize("error", [EOFError(), RuntimeError("bad magic"), UnpicklingError("x")])
def test_a_damaged_cache_is_said(tmp_path, monkeypatch, error):
    from torch_geometric import datasets

    def fail(folder):
        raise error

    monkeypatch.setattr(datasets, "Actor", fail)
    with pytest.raises(DataError, match=r"is damaged .*delete its folder `processed`"):
        load_pyg("actor", str(tmp_path))
