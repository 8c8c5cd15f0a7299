import json
from pathlib import Path

import pytest

from akgnn.bench import contest, peers
from akgnn.bench.record import read_records
from akgnn.cli.main import main

SMALL = ["--edges", "500", "--mean-degree", "4", "--channels", "4", "--repetitions", "5"]


@pytest.fixture(autouse=True)
def _small_copy(monkeypatch):
    monkeypatch.setitem(contest._COPIED, "cpu", 2**16)


def bench(tmp_path, *arguments):
    return main(["bench", *arguments, "--device", "cpu", "--out", str(tmp_path / "bench")])


def test_a_layer_is_measured_shown_and_kept(tmp_path, capsys):
    assert bench(tmp_path, "layer", *SMALL) == 0
    out = capsys.readouterr().out
    (record,) = read_records(tmp_path / "bench").records
    assert [case.graph for case in record.cases] == ["even", "power-law"]
    assert "layer, even degrees: 125 nodes, 500 edges (largest degree 4), 4 channels" in out
    assert "GB/s" in out
    for name in ("akgnn", "torch CSR", "torch COO", "PyG EdgeIndex", "PyG scatter"):
        assert f"\n{name} " in out
    assert f"Medians of 5 on {record.device}" in out
    assert record.file_name in out


def test_growth_ends_with_time_an_edge_and_memory_a_node(tmp_path, capsys):
    arguments = [*SMALL[2:], "--edges", "500,1e3"]
    assert bench(tmp_path, "growth", *arguments) == 0
    out = capsys.readouterr().out
    assert "growth, nanoseconds an edge" in out
    assert "growth, bytes of memory a node" in out
    assert out.count("\n1,000 ") == 2


def test_json_is_the_record_with_all_times(tmp_path, capsys):
    assert bench(tmp_path, "layer", *SMALL, "--degrees", "even", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    kept = json.loads(Path(shown.pop("file")).read_text())
    assert shown == kept
    assert len(kept["cases"][0]["timed"][0]["seconds"]) == 5


def test_without_pyg_one_line_says_so(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    assert bench(tmp_path, "layer", *SMALL, "--degrees", "even") == 0
    captured = capsys.readouterr()
    assert captured.err == "akgnn: PyG is left out; pip install 'akgnn[pyg]' adds it.\n"
    assert "PyG" not in captured.out


def test_a_peer_that_cannot_says_why_and_the_rest_goes_on(tmp_path, capsys):
    arguments = [*SMALL, "--degrees", "even", "--dtype", "bfloat16"]
    assert bench(tmp_path, "layer", *arguments) == 0
    out = capsys.readouterr().out
    assert "  torch CSR: " in out
    assert "'BFloat16'" in out
    (record,) = read_records(tmp_path / "bench").records
    assert record.cases[0].find("akgnn", "forward").seconds


def test_what_does_not_fit_is_a_line_and_the_rest_goes_on(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("akgnn.bench.contest.free_bytes", lambda device: 10**8)
    arguments = [*SMALL[2:], "--degrees", "even", "--edges", "500,2e7"]
    assert bench(tmp_path, "layer", *arguments) == 0
    out = capsys.readouterr().out
    assert "20,000,000 edges, 4 channels, float32: does not fit: needs about" in out
    assert "\nakgnn " in out


def test_nothing_measured_is_a_failure(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("akgnn.bench.contest.free_bytes", lambda device: 10)
    assert bench(tmp_path, "layer", *SMALL) == 1
    assert "akgnn: Nothing could be measured" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["lyer"],
            "Unknown benchmark 'lyer'. Did you mean 'layer'? Choose from all, epoch",
        ),
        (["layer", "--edges", "1e4,x"], "--edges must be integers from 1 to 2,000,000,000"),
        (["layer", "--edges", "1.5"], "got '1.5'"),
        (["layer", "--edges", "nan"], "got 'nan'"),
        (["layer", "--edges", ""], "got ''"),
        (["layer", "--edges", "100"], "needs at least 110 edges, got 100"),
        (["layer", "--mean-degree", "7"], "must be an even number from 2 on, got 7"),
        (["layer", "--mean-degree", "0"], "must be an even number from 2 on, got 0"),
        (["layer", "--degrees", "evn"], "Unknown degrees 'evn'"),
        (["layer", "--dtype", "int8"], "Unknown dtype 'int8'"),
        (["layer", "--channels", "0"], "--channels must be from 1 to 10000, got 0"),
        (["layer", "--repetitions", "4"], "--repetitions must be from 5 to 1000, got 4"),
        (["epoch", "--edges", "1e4"], "--edges goes with layer and growth"),
    ],
)
def test_wrong_input_is_one_line_and_status_2(tmp_path, arguments, message, capsys):
    assert bench(tmp_path, *arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert not (tmp_path / "bench").exists()


def test_a_folder_that_cannot_be_made_is_refused_before_the_work(tmp_path, capsys):
    (tmp_path / "bench").write_text("")
    assert bench(tmp_path, "layer", *SMALL) == 2
    assert "Cannot write to the folder" in capsys.readouterr().err
