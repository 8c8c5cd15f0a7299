from importlib.resources import files

import numpy as np
import pytest
import torch

from akgnn.data.bundled import load_bundled
from akgnn.data.tables.npz import load_npz
from akgnn.errors import DataError


def small():
    return {
        "adj_indptr": np.array([0, 1, 2, 3, 3]),
        "adj_indices": np.array([1, 0, 3]),
        "x_indptr": np.arange(5),
        "x_indices": np.array([0, 1, 2, 0]),
        "x_shape": np.array([4, 3]),
        "y": np.array([0, 1, 0, -1]),
        "train": np.array([0, 1]),
        "val": np.array([2]),
        "test": np.array([], dtype=np.int64),
    }


@pytest.fixture
def save(tmp_path):
    def save(**changes):
        arrays = {key: array for key, array in (small() | changes).items() if array is not None}
        np.savez(tmp_path / "mine.npz", **arrays)
        return tmp_path / "mine.npz"

    return save


def test_a_bundled_file_is_read_alike():
    data, expected = load_npz(str(files("akgnn.data") / "files" / "cora.npz")), load_bundled("cora")
    assert data.name == "cora"
    assert data.class_names == expected.class_names
    assert data.split.label == expected.split.label
    assert torch.equal(data.graph.edge_index, expected.graph.edge_index)
    assert torch.equal(data.x.pattern.col, expected.x.pattern.col)
    assert data.source["sha256"] == expected.source["sha256"]
    assert data.source["origin"] == "npz"


def test_a_file_of_ones_own_is_read(save):
    data = load_npz(save(class_names=np.array(["no", "yes"]), x_data=np.array([1.0, 2, 3, 4])))
    assert data.class_names == ("no", "yes")
    assert data.y.tolist() == [0, 1, 0, -1]
    assert data.x.to_dense().tolist() == [[1, 0, 0], [0, 2, 0], [0, 0, 3], [4, 0, 0]]
    assert data.graph.num_edges == 3


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"y": None}, "there is no array 'y'"),
        ({"y": np.array([], dtype=np.int64)}, "y must not be empty"),
        ({"y": np.array([0.5, 1, 0, 1])}, r"y has shape \[4\] of float64"),
        ({"y": np.array([0, 1, 0, -2])}, "Labels run from -2"),
        ({"adj_indices": np.array([1, 0, 9])}, "col mentions column 9"),
        ({"adj_indices": np.array([[1, 0, 3]])}, r"adj_indices has shape \[1, 3\]"),
        ({"x_shape": np.array([4])}, "x_shape must hold two numbers"),
        ({"x_shape": np.array([5, 3])}, "rowptr must have one entry more than the 5 rows"),
        ({"x_data": np.array([1.0, np.nan, 1, 1])}, "value holds nan"),
        ({"train": np.array([0, 7])}, "train set mentions node 7"),
        ({"val": np.array([3])}, "Node 3 is in the val set but has no label"),
        ({"class_names": np.array(["a", "b\x1b"])}, "cannot be printed"),
        ({"class_names": np.array(["a", None], dtype=object)}, "damaged or no archive"),
    ],
)
def test_a_bad_archive_is_refused(save, changes, words):
    with pytest.raises(DataError, match=words) as caught:
        load_npz(save(**changes))
    assert "mine.npz" in str(caught.value)


def test_what_is_no_archive_is_refused(write, tmp_path):
    with pytest.raises(DataError, match="damaged or no archive"):
        load_npz(write("a.npz", "text"))
    np.save(tmp_path / "array.npy", np.zeros(3))
    with pytest.raises(DataError, match="damaged or no archive"):
        load_npz(tmp_path / "array.npy")
    with pytest.raises(DataError, match="cannot be read: No such file"):
        load_npz(tmp_path / "gone.npz")
