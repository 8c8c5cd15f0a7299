"""`akgnn train --parts`, as a user types it."""

from pathlib import Path

import pytest

from akgnn.cli.main import main
from akgnn.distributed.mesh import MeshShape

FOUR = ["--processes", "4", "--mesh"]
FEW = ["--set", "epochs=4", "--set", "hidden_channels=8"]


@pytest.fixture(scope="module")
def parts(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("cut") / "parts"
    dataset = "csbm:num_nodes=200,signal=2"
    assert main(["partition", "--dataset", dataset, "--parts", "4", "--out", str(folder)]) == 0
    return folder


def test_parts_train_predict_and_are_inspected(parts, tmp_path, capsys):
    run = tmp_path / "run"
    assert main(["train", "--parts", str(parts), "--out", str(run), *FEW]) == 0
    assert "200 nodes" in capsys.readouterr().out
    assert main(["inspect", str(run)]) == 0
    assert main(["predict", str(run), "--out", str(tmp_path / "p.csv")]) == 0
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 201


def test_parts_at_once_change_no_bit(parts, tmp_path):
    runs = {number: tmp_path / f"run-{number}" for number in (1, 3, 4)}
    for number, run in runs.items():
        words = ["--parts-at-once", str(number), "--out", str(run)]
        assert main(["train", "--parts", str(parts), *words, *FEW]) == 0
    for file in ("weights.safetensors", "epochs.jsonl"):
        assert len({run.joinpath(file).read_bytes() for run in runs.values()}) == 1


def test_processes_without_a_mesh_take_the_plans_and_then_that_of_the_run(
    parts, tmp_path, capsys, monkeypatch
):
    started = []

    def run_as(processes, words, **_):
        place = words.index("--mesh")
        started.append((processes, words[place : place + 2]))
        return 0

    monkeypatch.setattr("akgnn.runs.parts_request.run_processes", run_as)
    words = ["train", "--parts", str(parts), "--out", str(tmp_path / "run"), *FEW]
    assert main([*words, "--processes", "2"]) == 0
    assert started == [(2, ["--mesh", "1x2"])]
    said = capsys.readouterr().err
    assert "Mesh 1x2, chosen by the plan" in said
    assert "--mesh 2x1 has the bits of one process" in said
    monkeypatch.setattr("akgnn.runs.parts_request.kept_mesh", lambda *_: MeshShape(2, 1))
    assert main([*words, "--processes", "2", "--resume"]) == 0
    assert started[1] == (2, ["--mesh", "2x1"])
    assert "chosen" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--parts", "nowhere"], "nowhere is no folder of parts"),
        (["--parts", "{parts}", "--processes", "9"], "4 parts are too few for 9 processes"),
        (["--parts", "{parts}", "--model", "auto"], "--model auto tries several. Name one."),
        (["--parts", "{parts}", "--timeout", "0"], "--timeout must be from 1 to 1,000,000"),
        (["--parts", "{parts}", "--timeout", "nan"], "from 1 to 1,000,000 seconds, got nan"),
        (["--parts", "{parts}", "--timeout", "1e-6"], "1,000,000 seconds, got 1e-06"),
        (["--parts", "{parts}", "--timeout", "inf"], "from 1 to 1,000,000 seconds, got inf"),
        (["--parts", "{parts}", "--timeout", "1e30"], "from 1 to 1,000,000 seconds, got 1e+30"),
        (["--parts", "{parts}", "--model", "gat"], "cannot be trained on parts"),
        (
            ["--parts", "{parts}", "--set", "strategy=virtual-adversarial"],
            "strategy virtual-adversarial is not to be had of parts",
        ),
        (["--parts", "{parts}", "--mesh", "2x2"], "--mesh 2x2 is for 4 processes, but there is 1"),
        (["--parts", "{parts}", *FOUR, "3x2"], "--mesh 3x2 is for 6 processes, but there are 4"),
        (["--parts", "{parts}", *FOUR, "0x4"], "--mesh is groups of nodes x slices of channels"),
        (["--parts", "{parts}", *FOUR, "axb"], "such as 2x2, each from 1 to 9999; got 'axb'"),
        (["--parts", "{parts}", "--processes", "5", "--mesh", "5x1"], "4 parts are too few for 5"),
        (
            ["--parts", "{parts}", *FOUR, "1x4", "--set", "hidden_channels=8"],
            "hidden_channels=8 cannot be cut into 4 slices, but into 2",
        ),
        (
            ["--parts", "{parts}", *FOUR, "2x2", "--set", "groups=1", "--set", "order=blocks"],
            "DeepAKGNN divides along the nodes alone",
        ),
        (["--parts", "{parts}", *FOUR, "2x2", "--model", "gcn"], "GCN cannot be trained on parts"),
        (["--parts", "{parts}", "--parts-at-once", "0"], "--parts-at-once must be from 1 to 4"),
        (["--parts", "{parts}", "--parts-at-once", "-1"], "--parts-at-once must be from 1 to 4"),
        (["--parts", "{parts}", "--parts-at-once", "5"], "--parts-at-once must be from 1 to 4"),
    ],
)
def test_wrong_options_are_answered_in_a_line(parts, arguments, message, capsys):
    assert main(["train", *(word.format(parts=parts) for word in arguments)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
