import json
from pathlib import Path

import numpy as np
import pytest
import torch

from akgnn.cli.main import main
from akgnn.csr import CSR
from akgnn.data.catalogue import load_dataset
from akgnn.data.tables.load import load_tables, read_tables
from akgnn.distributed.cut import cut_graph, has_metis
from akgnn.distributed.folder import open_parts
from akgnn.distributed.parts import cut_in_memory
from parts_data import assert_same_part

needs_metis = pytest.mark.skipif(not has_metis(), reason="pymetis is not installed")


def test_parts_are_those_of_the_data_that_train_loads(tmp_path: Path, capsys):
    words = ["--dataset", "citeseer", "--split", "20-per-class", "--split-seed", "3"]
    out = tmp_path / "parts"
    cut = ["--parts", "6", "--cut", "order", "--out", str(out)]
    assert main(["partition", *words, "--features", "raw", *cut]) == 0
    data = load_dataset("citeseer", split="20-per-class", split_seed=3, features="raw")
    expected = cut_in_memory(data, cut_graph(data.graph, 6, "order"))
    parts = open_parts(out)
    assert parts.facts == expected.facts
    for index in range(6):
        assert_same_part(parts.part(index), expected.part(index))
    assert f"Written to {out}" in capsys.readouterr().out


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    nodes = [f"{k},{'ab'[k % 2]},{k % 5},{k % 7}" for k in range(50)]
    Path("nodes.csv").write_text("\n".join(["id,label,age,size", *nodes]))
    edges = [f"{k},{(7 * k + 1) % 50},{k % 3 + 0.5}" for k in range(50)]
    Path("edges.csv").write_text("\n".join(["source,target,weight", *edges]))
    return ["--nodes", "nodes.csv", "--edges", "edges.csv"]


def test_own_tables_with_weights_and_directions_are_cut(tables: list[str], capsys):
    words = [*tables, "--weight", "weight", "--direction", "kept"]
    assert main(["partition", *words, "--parts", "4", "--cut", "hash", "--out", "parts"]) == 0
    assert "directed" in capsys.readouterr().out
    data = load_tables("nodes.csv", "edges.csv", weight="weight", direction="kept")
    expected = cut_in_memory(data, cut_graph(data.graph, 4, "hash"))
    parts = open_parts("parts")
    assert parts.facts == expected.facts
    assert parts.facts.recipe == data.recipe
    for index in range(4):
        assert_same_part(parts.part(index), expected.part(index))


def test_without_out_nothing_is_written(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["partition", "--parts", "4", "--cut", "order"]) == 0
    assert "Nothing was written" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_json_has_what_the_table_shows(tmp_path: Path, capsys):
    out = tmp_path / "parts"
    words = ["--parts", "10", "--cut", "hash", "--num-layers", "3", "--hidden-channels", "16"]
    assert main(["partition", *words, "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    costs = open_parts(out).costs
    assert (told["parts"], told["cut"], told["num_nodes"]) == (10, "hash", 2708)
    assert [row["processes"] for row in told["processes"]] == [1, 2, 4, 8]
    assert told["work_balance"] == costs.work_balance
    for row, share in zip(told["processes"], costs.shares, strict=True):
        assert row["step_bytes"] == 2 * 3 * share.halo * 16 * 4
        assert row["step_bytes_with_evaluation"] == 3 * 3 * share.halo * 16 * 4
        assert row["memory_bytes"] == share.memory(num_layers=3, channels=16).total


def test_inspect_tells_what_a_folder_of_parts_holds(tmp_path: Path, capsys):
    out = tmp_path / "parts"
    assert main(["partition", "--parts", "2", "--cut", "order", "--out", str(out)]) == 0
    written = capsys.readouterr().out.splitlines()
    assert main(["inspect", str(out)]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[:7] == written[:7]
    assert "All checksums fit" in shown
    assert main(["inspect", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["content"] == open_parts(out).facts.content


def test_inspect_refuses_a_damaged_folder_in_one_line(tmp_path: Path, capsys):
    out = tmp_path / "parts"
    assert main(["partition", "--parts", "2", "--cut", "order", "--out", str(out)]) == 0
    file = out / "part-00001" / "y.npy"
    file.write_bytes(file.read_bytes()[:-1] + b"\1")
    capsys.readouterr()
    assert main(["inspect", str(out)]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert "y.npy is damaged or of another cut" in error


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--parts", "0"], "--parts must be from 1 to 10,000, got 0."),
        (["--parts", "3000", "--cut", "order"], "--parts 3000 is more than the graph has nodes"),
        (["--cut", "metsi"], "Did you mean 'metis'?"),
        (["--num-layers", "0"], "--num-layers must be from 1"),
        (["--dataset", "corra"], "Did you mean 'cora'?"),
        (["--dataset", "cora", "--nodes", "x.csv"], "Name a data set or tables of your own"),
    ],
)
def test_mistakes_are_one_line(words: list[str], message: str, capsys):
    assert main(["partition", *words]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert len(captured.err.splitlines()) == 1
    assert captured.out == ""


def test_a_folder_that_is_there_is_refused_before_anything_is_loaded(
    tmp_path: Path, capsys, monkeypatch
):
    monkeypatch.setattr("akgnn.runs.plan.RunPlan.load", None)
    assert main(["partition", "--out", str(tmp_path)]) == 2
    assert "is there already; name a new folder with --out" in capsys.readouterr().err


def test_without_pymetis_order_is_taken_and_said(capsys, monkeypatch):
    monkeypatch.setattr("akgnn.distributed.cut.has_metis", lambda: False)
    assert main(["partition", "--parts", "2"]) == 0
    captured = capsys.readouterr()
    assert "2 parts by order" in captured.out
    assert "Cut by order: METIS, which" in captured.err
    assert main(["partition", "--parts", "2", "--cut", "metis"]) == 2
    assert "--cut metis needs an optional package: pip install 'akgnn[cut]'" in (
        capsys.readouterr().err
    )


def test_a_graph_too_large_for_metis_is_cut_by_order(capsys, monkeypatch):
    monkeypatch.setattr("akgnn.distributed.cut.has_metis", lambda: True)
    monkeypatch.setattr("akgnn.machine.device.free_bytes", lambda device: 2**19)
    assert main(["partition", "--parts", "2"]) == 0
    assert "METIS would need about 0.7 MiB, and 0.5 MiB are free" in capsys.readouterr().err


@needs_metis
def test_metis_is_taken_where_it_is_installed(capsys):
    assert main(["partition", "--parts", "4", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["cut"] == "metis"
    assert told["edge_cut"] < 0.3


def test_label_inputs_of_presets_are_not_among_the_features(tables: list[str]):
    words = [*tables, "--parts", "2", "--cut", "order", "--out", "parts"]
    assert main(["partition", *words]) == 0
    x = open_parts("parts").part(0).x
    data = load_tables("nodes.csv", "edges.csv")
    assert isinstance(x, torch.Tensor)
    assert x.shape[1] == data.num_features


@pytest.mark.parametrize("cut", ["order", "hash"])
def test_a_graph_that_lies_in_files_gives_the_parts_of_one_in_memory(cut: str, tmp_path: Path):
    name = "large:num_nodes=4000,degree=12,num_features=10,num_classes=4"
    out = tmp_path / "parts"
    words = ["--dataset", name, "--split", "20-per-class", "--parts", "5", "--cut", cut]
    assert main(["partition", *words, "--out", str(out)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]
    data = load_dataset(name, split="20-per-class")
    expected = cut_in_memory(data, cut_graph(data.graph, 5, cut))
    parts = open_parts(out)
    assert parts.facts == expected.facts
    for index in range(5):
        assert_same_part(parts.part(index), expected.part(index))


def test_edges_of_tables_are_sorted_beside_the_parts_and_nothing_is_left(
    tables: list[str], monkeypatch
):
    seen = []
    read = read_tables

    def watched(*args, folder=None, **more):
        seen.append(folder)
        return read(*args, folder=folder, **more)

    monkeypatch.setattr("akgnn.data.tables.load.read_tables", watched)
    before = sorted(path.name for path in Path().iterdir())
    words = [*tables, "--parts", "3"]
    assert main(["partition", *words, "--cut", "order", "--out", "parts"]) == 0
    assert seen[-1].parent == Path()
    assert sorted(path.name for path in Path().iterdir()) == sorted([*before, "parts"])
    if has_metis():
        assert main(["partition", *words, "--cut", "metis"]) == 0
        assert seen[-1] is None


@pytest.mark.parametrize("cut", ["order", pytest.param("metis", marks=needs_metis)])
def test_a_folder_of_arrays_is_cut(cut: str, tmp_path: Path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = load_dataset("pubmed")
    pattern = data.graph.adjacency.pattern
    assert isinstance(data.x, CSR)
    Path("arrays").mkdir()
    np.save("arrays/x.npy", data.x.to_dense().numpy())
    np.save("arrays/y.npy", data.y.numpy())
    np.save("arrays/edges.npy", np.stack([pattern.col, pattern.row], axis=1))
    for name in ("train", "val", "test"):
        np.save(f"arrays/{name}.npy", getattr(data.split, name).numpy())
    words = ["--arrays", "arrays", "--cut", cut, "--parts", "3", "--out", "parts"]
    assert main(["partition", *words]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["arrays", "parts"]
    parts = open_parts("parts")
    expected = cut_in_memory(data, cut_graph(data.graph, 3, cut))
    assert parts.facts.split_fingerprint == data.split.fingerprint
    for index in range(3):
        assert torch.equal(parts.part(index).col, expected.part(index).col)
        assert torch.equal(parts.part(index).split.train, expected.part(index).split.train)
    assert "arrays: 19,717 nodes, 88,648 edges" in capsys.readouterr().out
    assert main(["partition", "--arrays", "arrays", "--dataset", "cora"]) == 2
    assert "Name a data set, tables or --arrays" in capsys.readouterr().err
    assert main(["partition", "--arrays", "nothing"]) == 2
    assert "nothing/edges.npy does not exist" in capsys.readouterr().err
