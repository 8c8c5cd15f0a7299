"""`akgnn train --model auto`."""

import json

import pytest

from akgnn.cli.main import main
from akgnn.runs import choice as auto

TOY = ["--dataset", "csbm:num_nodes=100", "--set", "epochs=3", "--set", "hidden_channels=4"]
AUTO = ["train", *TOY, "--model", "auto"]


def test_the_chosen_run_is_kept_and_goes_on(tmp_path, capsys):
    out = str(tmp_path / "run")
    assert main([*AUTO, "--out", out, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    choice = result.pop("choice")
    assert [tried["model"] for tried in choice["tried"]] == list(auto.CANDIDATES)
    assert result["model"] == choice["model"]
    assert result["preset"] == "any-graph"
    assert result["test_accuracy"] is not None
    for again in (["train"], AUTO):
        assert main([*again, "--out", out, "--resume", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == result
    assert main(["predict", out, "--out", str(tmp_path / "predicted.csv")]) == 0


def test_people_see_the_choice_above_the_result(capsys):
    assert main([*AUTO, "--seeds", "2"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[0] == "model"
    assert [row.split()[0] for row in rows[:4]] == list(auto.CANDIDATES)
    assert rows[4].startswith("Chosen: ")
    assert any("over 2 seeds" in row for row in rows[5:])
    assert any(row.startswith("most frequent class: ") for row in rows[5:])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--kernel", "signed"], "--kernel goes with the model akgnn"),
        (["--set", "num_heads=3"], "For mlp: Unknown setting 'num_heads'"),
        (["--preset", "searched"], "For mlp: Unknown preset 'searched'"),
        (["--set", "stop_on=roc_auc"], "stop_on='roc_auc' needs two classes"),
        (["--model", "atuo"], "Unknown model 'atuo'"),
    ],
)
def test_a_mistake_is_one_line(options, message, tmp_path, capsys):
    assert main([*AUTO, "--out", str(tmp_path / "run"), *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_folder_that_is_taken_is_refused_before_anything_is_tried(tmp_path, monkeypatch, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    monkeypatch.setattr("akgnn.runs.outcomes.choose", lambda *_, **__: pytest.fail("it was tried"))
    assert main([*AUTO, "--out", str(tmp_path)]) == 2
    assert "holds other files" in capsys.readouterr().err
