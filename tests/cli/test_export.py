import json

import pytest
import torch

from akgnn.cli.main import main
from akgnn.runs.load import load_run

TOY = ["--dataset", "csbm:num_nodes=100", "--set", "epochs=5", "--set", "hidden_channels=8"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    assert main(["train", *TOY, "--out", str(out)]) == 0
    return out


def test_the_file_gives_the_answers_of_the_run(run, tmp_path, capsys):
    file = tmp_path / "model.pt2"
    assert main(["export", str(run), "--out", str(file), "--dynamic"]) == 0
    out = capsys.readouterr().out
    assert f"{file}: akgnn as a function of x, edge_index\n" in out
    assert "On 3 graphs its scores are the model's, up to " in out
    kept = load_run(run)
    data = kept.data()
    found = torch.export.load(file).module()(data.x, data.graph.edge_index)
    assert torch.allclose(found, kept.model(data.x, data.graph), atol=1e-5)


def test_json_says_what_the_file_takes(run, tmp_path, capsys):
    file = tmp_path / "model.pt2"
    assert main(["export", str(run), "--out", str(file), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result.pop("difference") < 1e-5
    assert result == {"file": str(file), "model": "akgnn", "inputs": ["x"], "graphs": 1}


def test_an_onnx_file(run, tmp_path, capsys):
    assert main(["export", str(run), "--out", str(tmp_path / "model.onnx"), "--onnx"]) == 0
    assert "as a function of x, edge_index" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "flags"), [("a.onnx", []), ("a.pt2", ["--onnx"]), ("a", [])])
def test_the_name_says_what_kind_of_file_it_is(name, flags, run, tmp_path, capsys):
    assert main(["export", str(run), "--out", str(tmp_path / name), *flags]) == 2
    wanted = ".onnx with --onnx" if flags else ".pt2"
    assert f"--out must end in {wanted}, got {name!r}." in capsys.readouterr().err


@pytest.mark.parametrize(("name", "flags"), [("a.pt2", []), ("a.onnx", ["--onnx"])])
def test_a_folder_that_is_not_there_is_one_clear_line(name, flags, run, tmp_path, capsys):
    capsys.readouterr()
    assert main(["export", str(run), "--out", str(tmp_path / "none" / name), *flags]) == 2
    err = capsys.readouterr().err
    assert err.startswith("akgnn: Cannot write ")
    assert err.count("\n") == 1


def test_a_model_that_cannot_be_exported_is_one_clear_line(tmp_path, capsys):
    out = str(tmp_path / "run")
    assert main(["train", *TOY, "--model", "chebynet", "--out", out]) == 0
    capsys.readouterr()
    assert main(["export", out, "--out", str(tmp_path / "m.pt2"), "--dynamic"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("akgnn: ChebyNet cannot be exported: it needs the largest eigenvalue")
    assert err.count("\n") == 1
