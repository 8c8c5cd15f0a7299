"""`akgnn train` where memory is short."""

import json

import pytest

from akgnn.cli.main import main

TOY = ["--dataset", "csbm:num_nodes=200", "--set", "epochs=5", "--set", "hidden_channels=8"]


@pytest.fixture
def _little_memory(monkeypatch):
    monkeypatch.setattr("akgnn.runs.memory.free_bytes", lambda device: 1000)


@pytest.mark.usefixtures("_little_memory")
def test_training_that_does_not_fit_is_refused_before_it_starts(tmp_path, capsys):
    out = tmp_path / "run"
    assert main(["train", *TOY, "--out", str(out)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("akgnn: Training needs about ")
    assert "--force trains all the same" in captured.err
    assert captured.err.count("\n") == 1
    assert not out.exists()


@pytest.mark.usefixtures("_little_memory")
def test_a_large_graph_that_does_not_fit_is_not_even_built(capsys):
    # Its rows alone would take 16 GiB.
    assert main(["train", "--dataset", "large:num_nodes=2e9,num_classes=4"]) == 1
    assert "with the data, but cpu has" in capsys.readouterr().err


@pytest.mark.usefixtures("_little_memory")
def test_an_estimate_can_be_overruled(capsys):
    assert main(["train", *TOY, "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epochs"] == 5


@pytest.mark.parametrize("where", ["akgnn.runs.plan.load_dataset", "akgnn.runs.jobs.fit_many"])
def test_running_out_of_memory_is_one_line(where, monkeypatch, capsys):
    def fail(*_, **__):
        raise RuntimeError("can't allocate memory: you tried to allocate 4294967296 bytes.\nAt:")

    monkeypatch.setattr(where, fail)
    assert main(["train", *TOY]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("akgnn: cpu ran out of memory when 4.0 GiB more were asked for")
    assert captured.err.count("\n") == 1
