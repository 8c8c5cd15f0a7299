import json
from pathlib import Path

import pytest

from akgnn.cli.main import main
from akgnn.distributed.folder import open_parts
from akgnn.distributed.forecast import choose_mesh, forecast
from akgnn.distributed.hardware import H200, read_hardware, write_hardware
from akgnn.distributed.mesh import MeshShape
from akgnn.distributed.workload import cut_already

PAPERS = [
    "plan", "--num-nodes", "111e6", "--num-edges", "3.2e9", "--num-features", "128",
    "--num-classes", "172", "--labelled", "0.014", "--dtype", "bfloat16",
]  # fmt: skip


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan") / "parts"
    assert main(["partition", "--parts", "8", "--cut", "order", "--out", str(folder)]) == 0
    return folder


def told(capsys, *words: str):
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_mesh_is_compared_and_the_fastest_is_marked(capsys):
    assert main([*PAPERS, "--processes", "8"]) == 0
    out = capsys.readouterr().out
    first = [line.split()[0] for line in out.splitlines() if "GiB" in line and "x" in line[:4]]
    assert first == ["8x1", "4x2", "2x4", "1x8"]
    assert "8x1 *" in out
    assert "Fastest that fits: 8x1" in out
    assert "The bottleneck is computing; most time goes to sums over neighbours" in out


def test_json_has_what_the_table_shows(capsys):
    content = told(capsys, *PAPERS, "--processes", "8", "--cut", "random")
    assert content["chosen"] == "4x2"
    assert content["hardware"]["name"] == "h200"
    by_mesh = {each["mesh"]: each for each in content["meshes"]}
    assert by_mesh["8x1"]["bottleneck"] == "wire"
    assert by_mesh["8x1"]["most"] == "halo"
    memory = by_mesh["8x1"]["memory_bytes"]
    assert memory["total"] == sum(memory[n] for n in ("graph", "features", "signals", "halo"))
    seconds = by_mesh["8x1"]["seconds"]
    assert seconds["total"] == pytest.approx(seconds["computing"] + seconds["wire"])


def test_a_folder_is_planned_from_what_was_counted(parts, capsys):
    content = told(capsys, "plan", str(parts), "--processes", "4", "--hidden-channels", "16")
    work = cut_already(open_parts(parts), channels=16)
    assert content["chosen"] == str(choose_mesh(work, 4, H200))
    for each, mesh in zip(content["meshes"], ("4x1", "2x2", "1x4"), strict=True):
        expected = forecast(work, MeshShape.parse(mesh), H200)
        assert each["mesh"] == mesh
        assert each["received_bytes"]["total"] == expected.received.total
        assert each["memory_bytes"]["total"] == expected.memory.total


def test_one_mesh_can_be_asked_for(capsys):
    content = told(capsys, *PAPERS, "--processes", "8", "--mesh", "2x4", "--memory", "20GB")
    assert [each["mesh"] for each in content["meshes"]] == ["2x4"]
    assert (
        content["meshes"][0]["channels_at_once"] is not None
        or content["meshes"][0]["parts_at_once"]
    )


def test_what_is_needed_to_fit_is_said(capsys):
    assert main([*PAPERS, "--processes", "2", "--mesh", "2x1", "--memory", "16GiB"]) == 0
    out = capsys.readouterr().out
    assert "It fits with channels_at_once=16 and parts_at_once=1 of akgnn train." in out
    assert main([*PAPERS, "--memory", "1MB"]) == 0
    assert "Nothing fits into memory; 1x1 needs least" in capsys.readouterr().out
    assert told(capsys, *PAPERS, "--memory", "1MB")["chosen"] is None


def test_a_slow_network_turns_nodes_into_channels(parts, capsys):
    words = ["plan", str(parts), "--processes", "2", "--per-machine", "1"]
    slow = told(capsys, *words, "--network", "1Mbit/s")
    assert slow["chosen"] == "1x2"
    assert {each["bottleneck"] for each in slow["meshes"]} == {"wire"}


def test_figures_of_a_file_are_taken(parts, tmp_path, capsys):
    file = tmp_path / "mine.json"
    write_hardware(file, H200)
    same = told(capsys, "plan", str(parts), "--hardware", str(file))
    assert same == told(capsys, "plan", str(parts), "--hardware", "h200")


def test_what_is_measured_is_kept_and_taken(parts, tmp_path, capsys, monkeypatch):
    asked = []

    def measured(processes, device, *, nodes, halo, link):
        asked.append((processes, nodes, halo, link))
        return H200

    monkeypatch.setattr("akgnn.distributed.calibrate.measure_here", measured)
    file = tmp_path / "mine.json"
    words = ["plan", str(parts), "--processes", "4", "--measure", "--out", str(file)]
    assert main([*words, "--network", "200Mbit/s"]) == 0
    assert "--hardware" in capsys.readouterr().out
    halo = cut_already(open_parts(parts)).share(4).halo
    assert asked == [(4, 2708 // 4, halo, 25e6)]
    assert read_hardware(file) == H200
    assert main(["plan", "--measure"]) == 0
    assert "ns at 64 bytes a row" in capsys.readouterr().out
    assert asked[1] == (1, None, None, None)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["plan"], "Name a folder of parts, or say the sizes"),
        (["plan", "--num-nodes", "5"], "--num-edges, --num-features, --num-classes are missing"),
        (["plan", "nowhere"], "nowhere is no folder of parts"),
        (["plan", "nowhere", "--num-nodes", "5"], "--num-nodes is of a graph not yet cut"),
        ([*PAPERS, "--num-nodes", "0"], "--num-nodes must be an integer from 1"),
        ([*PAPERS, "--num-nodes", "-5"], "--num-nodes must be an integer from 1"),
        ([*PAPERS, "--num-nodes", "nan"], "--num-nodes must be an integer from 1"),
        ([*PAPERS, "--num-edges", "1.5"], "--num-edges must be an integer from 0"),
        ([*PAPERS, "--labelled", "3"], "--labelled is a share of the nodes"),
        ([*PAPERS, "--processes", "8", "--mesh", "3x2"], "is for 6 processes, but there are 8"),
        ([*PAPERS, "--mesh", "two"], "--mesh is groups of nodes x slices of channels"),
        ([*PAPERS, "--processes", "0"], "--processes must be from 1"),
        ([*PAPERS, "--memory", "-3GB"], "--memory is a size"),
        ([*PAPERS, "--network", "5 parsecs"], "--network is a rate"),
        ([*PAPERS, "--dtype", "float3"], "Unknown dtype 'float3'"),
        ([*PAPERS, "--cut", "godo"], "Unknown cut 'godo'"),
        ([*PAPERS, "--cut", "-1"], "--cut as a share of own rows must be from 0 on"),
        ([*PAPERS, "--hardware", "h201"], "Unknown hardware 'h201'"),
        ([*PAPERS, "--hardware", "h200", "--measure"], "give one"),
        ([*PAPERS, "--out", "x.json"], "--out keeps what --measure finds"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(words, message, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    assert main(words) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_folder_that_is_no_folder_of_parts_is_refused(tmp_path: Path, capsys):
    assert main(["plan", str(tmp_path)]) == 2
    assert "parts.json" in capsys.readouterr().err
