import json

import pytest

from akgnn.cli.main import main


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    options = ["--dataset", "csbm:num_nodes=200", "--set", "epochs=20", "--set", "num_layers=3"]
    assert main(["train", *options, "--out", str(out)]) == 0
    return out


def test_layers_as_json(run, capsys):
    assert main(["inspect", str(run), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert len(result["layers"]) == 3
    for layer, lambda_max in zip(result["layers"], result["lambda_max"], strict=True):
        assert layer["lambda_max"] == pytest.approx(lambda_max)
        assert layer["self_weight"] == pytest.approx(lambda_max - 1, abs=1e-6)
        assert layer["all_pass"] + layer["low_pass"] == pytest.approx(2)
        expected = [1 - frequency / lambda_max for frequency in result["frequency"]]
        assert layer["response"] == pytest.approx(expected, abs=1e-6)


def test_people_see_a_row_a_layer(run, capsys):
    assert main(["inspect", str(run)]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("layer"))
    assert [line.split()[0] for line in lines[start + 1 : start + 4]] == ["1", "2", "3"]


def test_what_is_no_run_is_refused(tmp_path, capsys):
    (tmp_path / "run.json").write_text("{}")
    assert main(["inspect", str(tmp_path)]) == 2
    assert "was not written by this version of akgnn" in capsys.readouterr().err
