import numpy as np
import pytest
import torch

from akgnn.data import bundled
from akgnn.data.bundled import SHA256, load_bundled
from akgnn.errors import DataError

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
    assert data.source["sha256"] == SHA256[name]


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
    monkeypatch.setitem(bundled.SHA256, "cora", "0" * 64)
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
