"""`akgnn train --folds`."""

import json
import statistics

import pytest

from akgnn.cli.main import main

TOY = ["--dataset", "csbm:num_nodes=100", "--set", "epochs=2", "--set", "hidden_channels=4"]


def test_folds_are_kept_read_and_repeated(tmp_path, capsys):
    out = str(tmp_path / "run")
    assert main(["train", *TOY, "--folds", "3", "--out", out, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert [run["split"].partition(":")[0] for run in first["runs"]] == [
        f"fold-{fold}-of-3-seed-0" for fold in range(3)
    ]
    scores = [run["test_accuracy"] for run in first["runs"]]
    assert first["mean"] == pytest.approx(statistics.fmean(scores))
    assert first["scores"]["test_accuracy"]["std"] == pytest.approx(statistics.stdev(scores))
    assert main(["train", "--out", out, "--folds", "3", "--resume", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == first
    assert main(["train", "--out", out, "--folds", "3", "--resume"]) == 0
    shown = capsys.readouterr().out
    assert "3 folds of split seed 0\n" in shown
    assert shown.endswith(f"Kept in {out}; see: akgnn inspect {out}/fold-0\n")
    assert main(["inspect", f"{out}/fold-1"]) == 0
    assert "fold-1-of-3-seed-0:" in capsys.readouterr().out
    assert main(["train", "--out", out, "--folds", "4", "--resume"]) == 2
    assert "its split is fold-0-of-3, not fold-0-of-4" in capsys.readouterr().err
    for command in (["inspect", out], ["report", out], ["train", *TOY, "--out", out]):
        assert main(command) == 2
        assert "holds the runs of several folds; name one of them" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--folds", "1"], "--folds must be from 2 to 1000, got 1."),
        (["--folds", "0"], "--folds must be from 2 to 1000, got 0."),
        (["--folds", "5", "--split", "60/20/20"], "--folds draws its own splits"),
        (["--folds", "5", "--seeds", "2"], "--folds and --seeds cannot be combined"),
        (["--folds", "5", "--model", "auto"], "--model auto chooses by one split"),
        (["--folds", "26"], "25 labelled nodes, but 26 folds need at least 26; take fewer"),
        (["--split", "fold-7-of-5"], "5 folds are numbered 0 to 4, got 7"),
        (["--split", "fold-of-5"], "Unknown split 'fold-of-5'; write public"),
    ],
)
def test_a_mistake_is_one_line(options, message, capsys):
    assert main(["train", *TOY, *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_fold_that_diverges_is_named(capsys):
    wild = ["--set", "learning_rate=1e30", "--set", "input_dropout=0"]
    assert main(["train", *TOY, *wild, "--folds", "3"]) == 1
    assert "Split fold-0-of-3: The " in capsys.readouterr().err


def test_a_single_run_is_not_taken_for_folds(tmp_path, capsys):
    out = str(tmp_path)
    assert main(["train", *TOY, "--out", out]) == 0
    assert main(["train", *TOY, "--out", out, "--folds", "3"]) == 2
    assert "holds a single run; --folds needs a folder of its own" in capsys.readouterr().err
