import csv
import io
import json
from pathlib import Path

import pytest

from akgnn.cli.main import main
from akgnn.runs.predictions import Predictions

TOY = ["--dataset", "csbm:num_nodes=200,homophily=0.9,signal=8", "--set", "hidden_channels=8"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    assert main(["train", *TOY, "--set", "epochs=60", "--out", str(out)]) == 0
    return out


def test_csv_has_a_label_and_probabilities_for_each_node(run, tmp_path, capsys):
    file = tmp_path / "predictions.csv"
    assert main(["predict", str(run), "--out", str(file)]) == 0
    assert "200 predictions" in capsys.readouterr().out
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert len(rows) == 200
    for row in rows:
        probabilities = {k[-1]: float(v) for k, v in row.items() if k.startswith("probability")}
        assert sum(probabilities.values()) == pytest.approx(1, abs=1e-4)
        assert row["label"] == max(probabilities, key=probabilities.get)


def test_standard_output_and_json_say_the_same(run, capsys):
    assert main(["predict", str(run)]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert main(["predict", str(run), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [row["label"] for row in rows] == result["label"]
    assert len(result["probability"][0]) == len(result["classes"]) == 4


def test_json_and_a_file_can_be_had_together(run, tmp_path, capsys):
    file = tmp_path / "p.csv"
    assert main(["predict", str(run), "--json", "--out", str(file)]) == 0
    labels = json.loads(capsys.readouterr().out)["label"]
    assert [row["label"] for row in csv.DictReader(io.StringIO(file.read_text()))] == labels


def test_another_graph_with_the_same_features_can_be_predicted(run, capsys):
    other = "csbm:num_nodes=280,homophily=0.9,signal=8,seed=0"
    assert main(["predict", str(run), "--dataset", other, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["label"]) == 280


def test_other_features_are_refused(run, capsys):
    assert main(["predict", str(run), "--dataset", "cora"]) == 2
    assert "takes 32 features and 4 classes, but cora has 1433 and 7" in capsys.readouterr().err


def test_what_is_no_run_is_refused(tmp_path, capsys):
    assert main(["predict", str(tmp_path)]) == 2
    assert "holds no run: there is no run.json in it" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_said(run, tmp_path, capsys):
    assert main(["predict", str(run), "--out", str(tmp_path / "no" / "p.csv")]) == 2
    assert "Cannot write" in capsys.readouterr().err


def test_a_file_of_another_format_is_refused(run, tmp_path, capsys):
    out = tmp_path / "p.parquet"
    assert main(["predict", str(run), "--out", str(out)]) == 2
    assert "--out must end in .csv, got 'p.parquet'" in capsys.readouterr().err
    assert not out.exists()


def test_no_letter_of_a_table_becomes_another(run, capsys, monkeypatch):
    monkeypatch.setattr(Predictions, "to_csv", lambda *_: "id,label\n1,ä\n")
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert main(["predict", str(run)]) == 2
    assert written.getvalue() == b""
    said = capsys.readouterr().err
    assert "hold 'ä', which standard output lacks in ascii" in said
    assert "--out" in said


def test_no_file_takes_the_place_of_a_device(run, capsys):
    assert main(["predict", str(run), "--out", "/dev/null"]) == 2
    assert "no file but a pipe or a device" in capsys.readouterr().err
    assert not Path("/dev/null").is_file()
