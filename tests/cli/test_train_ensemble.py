"""`akgnn train --ensemble`, and what other commands make of such a run."""

import json
import os
import signal
import statistics
from pathlib import Path

import pytest

from akgnn.cli.main import main
from akgnn.report.layout import LAYOUT_FILE
from akgnn.runs import memory
from akgnn.training.callbacks import Epoch
from run_files import names_in

TOY = ["--dataset", "csbm:num_nodes=100", "--set", "epochs=3", "--set", "hidden_channels=4"]
THREE = ["train", *TOY, "--ensemble", "3"]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """The folder of an ensemble."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert main([*THREE, "--seed", "4", "--out", str(folder)]) == 0
    return str(folder)


def test_people_see_what_its_members_add(out, capsys):
    assert main(["train", "--out", out, "--resume", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    alone = [member["test_accuracy"] for member in result["members"]]
    mean = statistics.fmean(alone)
    assert [member["seed"] for member in result["members"]] == [4, 5, 6]
    assert (result["ensemble"], result["seed"]) == (3, 4)
    assert result["member_accuracy"] == pytest.approx(mean)
    assert result["gain"] == pytest.approx(result["test_accuracy"] - mean)
    line = f"3 members: {result['test_accuracy']:.1f} %; a member alone {mean:.1f} % on average ("
    for command in (["train", "--out", out, "--resume"], ["inspect", out]):
        assert main(command) == 0
        assert f"\n{line}" in capsys.readouterr().out
    assert main(["train", *TOY]) == 0
    assert "members" not in capsys.readouterr().out


def test_other_commands_take_it_for_one_run(out, tmp_path, capsys):
    assert main(["predict", out, "--out", str(tmp_path / "predictions.csv")]) == 0
    assert len((tmp_path / "predictions.csv").read_text().splitlines()) == 101
    capsys.readouterr()
    assert main(["inspect", out, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    # Kernels are those of one member, so as many as it has layers.
    assert len(shown["layers"]) == len(shown["lambda_max"]) == 5
    assert len(shown["insight"]["smoothing"]) == 6
    assert main(["explain", out, "7", "--json"]) == 0
    explained = json.loads(capsys.readouterr().out)
    row = (tmp_path / "predictions.csv").read_text().splitlines()[8].split(",")
    assert explained["predicted"] == row[1]
    assert explained["probability"] == pytest.approx(max(map(float, row[2:])), abs=1e-5)
    assert main(["report", out, "--out", str(tmp_path / "run.html")]) == 0
    page = (tmp_path / "run.html").read_text()
    assert "3 members: " in page
    assert "seeds 4 to 6" in page


@pytest.mark.parametrize("form", [[], ["--onnx"]])
def test_an_exported_file_answers_as_the_ensemble(form, out, tmp_path, capsys):
    if form == ["--onnx"]:
        pytest.importorskip("onnxruntime")
    file = tmp_path / ("model.onnx" if form == ["--onnx"] else "model.pt2")
    assert main(["export", out, *form, "--out", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["difference"] < 1e-5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ensemble", "0"], "ensemble must be from 1 to 200, got 0."),
        (["--ensemble", "-1"], "ensemble must be from 1 to 200, got -1."),
        (["--ensemble", "201"], "ensemble must be from 1 to 200, got 201."),
        (["--ensemble", "1.5"], "Invalid value for '--ensemble'"),
        (["--ensemble", "3", "--seeds", "2"], "--ensemble and --seeds cannot be combined"),
        (["--ensemble", "3", "--folds", "2"], "--ensemble and --folds cannot be combined"),
        (["--ensemble", "3", "--split", "80/0/20"], "The validation set is empty"),
    ],
)
def test_a_mistake_is_one_line(options, message, tmp_path, capsys):
    assert main(["train", *TOY, *options, "--out", str(tmp_path / "run")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_settings_file_asks_for_it(tmp_path, capsys):
    config = tmp_path / "run.toml"
    config.write_text('[run]\ndataset = "csbm:num_nodes=100"\nensemble = 2\n')
    small = ["--config", str(config), *TOY[2:]]
    assert main(["train", *small, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ensemble"] == 2
    assert main(["train", *small, "--seeds", "2"]) == 2
    assert "--ensemble and --seeds cannot be combined" in capsys.readouterr().err


def test_too_many_members_are_refused_with_how_many_fit(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(memory, "free_bytes", lambda device: 2**26)
    wide = ["--ensemble", "100", "--set", "hidden_channels=2000"]
    assert main(["train", *TOY[:4], *wide, "--out", str(tmp_path / "run")]) == 1
    error = capsys.readouterr().err
    assert "64.0 MiB free. Less is needed with --ensemble 25 (" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_request_to_stop_leaves_members_to_go_on_from(out, tmp_path, monkeypatch, capsys):
    stopped = tmp_path / "run"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    look = Epoch.__init__

    def signalled(self, index, history, snapshot):
        look(self, index, history, snapshot)
        if len(history) == 2 and index == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Epoch, "__init__", signalled)
        assert main([*THREE, "--seed", "4", "--out", str(stopped)]) == 1
    signal.signal(signal.SIGINT, before)
    error = capsys.readouterr().err
    assert f"Stopped after epoch 2. Go on with: akgnn train --out {stopped} --resume" in error
    assert main(["predict", str(stopped)]) == 2
    assert "has not finished" in capsys.readouterr().err
    results = []
    for folder in (out, str(stopped)):
        assert main(["train", "--out", folder, "--resume", "--json"]) == 0
        results.append(json.loads(capsys.readouterr().out))
    assert results[0]["val_log_loss"] == pytest.approx(results[1]["val_log_loss"], rel=1e-4)
    # Pages of the shared run have left their map.
    assert names_in(stopped) == [name for name in names_in(Path(out)) if name != LAYOUT_FILE]


def test_trackers_have_a_run_for_each_member(tmp_path):
    pytest.importorskip("tensorboard")
    track = f"tensorboard:{tmp_path / 'board'}"
    assert main([*THREE, "--track", track, "--out", str(tmp_path / "run")]) == 0
    names = sorted(path.name for path in (tmp_path / "board").iterdir())
    assert [name.partition("seed-")[2][0] for name in names] == ["0", "1", "2"]
