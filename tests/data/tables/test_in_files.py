"""Graphs whose edges are read block by block and sorted in files are those made in memory."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import torch

from akgnn.data import sorted_edges
from akgnn.data.node_data import NodeData
from akgnn.data.tables import csv_file, readers, table
from akgnn.data.tables.load import read_tables
from akgnn.data.tables.settings import TableSettings
from akgnn.errors import AkgnnError, DataError

NODES = 60


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few rows at a time, so that small tables have many blocks."""
    monkeypatch.setattr(sorted_edges, "_BLOCK", 17)
    monkeypatch.setattr(sorted_edges, "_BUCKET", 40)
    for module in (csv_file, readers, table):
        monkeypatch.setattr(module, "ROWS_AT_ONCE", 23)
    monkeypatch.setattr(csv_file, "_BLOCK", 400)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("scratch").mkdir()
    return tmp_path


def ids_of(kind: str) -> list[Any]:
    shuffled = np.random.default_rng(1).permutation(NODES).tolist()
    return [f"n{k}" for k in shuffled] if kind == "text" else [1000 - 7 * k for k in shuffled]


def write_nodes(file: str, kind: str) -> None:
    ids = ids_of(kind)
    columns = {"id": ids, "label": ["ab"[k % 2] for k in range(NODES)], "age": list(range(NODES))}
    save(file, pa.table(columns))


def some_edges(kind: str) -> pa.Table:
    draw = np.random.default_rng(0)
    ids = ids_of(kind)
    ends = [[ids[k] for k in draw.integers(NODES - 5, size=200)] for _ in range(2)]
    weight = draw.choice([0.5, 1.0, 2.25], size=200)
    return pa.table({"source": ends[0], "target": ends[1], "weight": weight})


def save(file: str, content: pa.Table) -> None:
    if file.endswith(".npy"):
        np.save(file, np.stack([content.column(k).to_numpy() for k in range(2)], axis=1))
    elif file.endswith(".csv"):
        pyarrow.csv.write_csv(content, file)
    else:
        pyarrow.parquet.write_table(content, file)


def read(**settings: Any) -> NodeData:
    direction = settings.pop("direction", "symmetrised")
    folder = settings.pop("folder", None)
    return read_tables(TableSettings(**settings), direction=direction, folder=folder)


def assert_same(one: NodeData, other: NodeData) -> None:
    # The source has the SHA-256 of features, labels and edges.
    assert one.source == other.source
    assert one.split.label == other.split.label
    for first, second in ((one.graph, other.graph), (one.graph.transpose, other.graph.transpose)):
        assert torch.equal(first.adjacency.pattern.rowptr, second.adjacency.pattern.rowptr)
        assert torch.equal(first.adjacency.pattern.col, second.adjacency.pattern.col)
        assert (first.edge_weight is None) == (second.edge_weight is None)
        if first.edge_weight is not None and second.edge_weight is not None:
            assert torch.equal(first.edge_weight, second.edge_weight)


@pytest.mark.parametrize("direction", ["symmetrised", "kept"])
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("kind", ["text", "integers"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_read_in_blocks_make_the_same_data(
    ending: str, kind: str, weight: str | None, direction: str, folder: Path
):
    write_nodes(f"nodes.{ending}", kind)
    save(f"edges.{ending}", some_edges(kind))
    files: dict[str, Any] = {"nodes": f"nodes.{ending}", "edges": f"edges.{ending}"}
    files |= {"weight": weight, "direction": direction}
    data = read(**files, folder=folder / "scratch")
    assert_same(data, read(**files))
    assert "scratch/edges/col" in Path("/proc/self/maps").read_text()


@pytest.mark.parametrize("nodes", ["nodes.csv", "nodes.parquet"])
def test_edges_of_an_array_are_those_of_a_table(nodes: str, folder: Path):
    write_nodes(nodes, "integers")
    edges = some_edges("integers").select(["source", "target"])
    for file in ("edges.npy", "edges.csv"):
        save(file, edges)
    expected = read(nodes=nodes, edges="edges.csv")
    assert_same(read(nodes=nodes, edges="edges.npy"), expected)
    assert_same(read(nodes=nodes, edges="edges.npy", folder=folder / "scratch"), expected)


def test_sources_and_targets_may_be_the_rows_of_an_array(folder: Path):
    write_nodes("nodes.csv", "integers")
    save("edges.npy", some_edges("integers"))
    expected = read(nodes="nodes.csv", edges="edges.npy")
    np.save("edges.npy", np.load("edges.npy").T)
    assert_same(read(nodes="nodes.csv", edges="edges.npy", folder=folder / "scratch"), expected)


def test_several_tables_are_put_together(folder: Path):
    write_nodes("nodes.csv", "integers")
    edges = some_edges("integers")
    save("first.csv", edges.slice(0, 90))
    save("second.parquet", edges.slice(90))
    both = {"nodes": "nodes.csv", "edges": ("first.csv", "second.parquet"), "weight": "weight"}
    assert_same(read(**both, folder=folder / "scratch"), read(**both))


def test_edges_to_unknown_ids_are_dropped_or_named_with_their_line(folder: Path):
    write_nodes("nodes.csv", "text")
    edges = some_edges("text").select(["source", "target"]).to_pylist()
    edges[150]["target"] = "nobody"
    save("edges.csv", pa.Table.from_pylist(edges))
    files = {"nodes": "nodes.csv", "edges": "edges.csv"}
    with pytest.raises(DataError, match=r"line 152: at least 1 edges mention 1 ids .* 'nobody'"):
        read(**files, folder=folder / "scratch")
    (folder / "other").mkdir()
    dropping = {**files, "unknown_ids": "drop"}
    assert_same(read(**dropping, folder=folder / "other"), read(**dropping))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("source,target\n", "has column names but no rows"),
        ("source,target\nn1,nobody\n", "at least 1 edges mention"),
        ("source,target\nn1,\n", "line 2, column 'target': an id is missing"),
        ("source,target,weight\nn1,n2,heavy\n", "conversion error to double"),
        ("source,target,weight\nn1,n2,-1\n", "line 2, column 'weight': the weight is -1"),
        ("source,target\nn1,n2,n3\n", "line 2: 3 fields, but the header has 2"),
    ],
)
def test_mistakes_in_a_block_are_one_line(content: str, message: str, folder: Path):
    write_nodes("nodes.csv", "text")
    Path("edges.csv").write_text(content)
    weight = "weight" if "weight" in content else None
    with pytest.raises(AkgnnError, match=message) as caught:
        read(nodes="nodes.csv", edges="edges.csv", weight=weight, folder=folder / "scratch")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((4, 3), dtype=np.int64), r"integers of shape \(edges, 2\), got int64 of shape"),
        (np.zeros((4, 2)), r"integers of shape \(edges, 2\), got float64"),
        (np.zeros(4, dtype=np.int64), r"integers of shape \(edges, 2\)"),
        (np.array([["a", "b"]], dtype=object), "is damaged"),
    ],
)
def test_other_arrays_are_no_edges(array: Any, message: str, folder: Path):
    write_nodes("nodes.csv", "integers")
    np.save("edges.npy", array, allow_pickle=True)
    with pytest.raises(DataError, match=message):
        read(nodes="nodes.csv", edges="edges.npy")


@pytest.mark.parametrize(
    "content", [b"", b"\x93NUMPY", b"PK\x03\x04", b"\x93NUMPY\x01\x00v\x00{'x"]
)
def test_a_file_that_is_no_array_is_refused(content: bytes, folder: Path):
    write_nodes("nodes.csv", "integers")
    Path("edges.npy").write_bytes(content)
    with pytest.raises(DataError, match=r"edges\.npy is damaged"):
        read(nodes="nodes.csv", edges="edges.npy")
