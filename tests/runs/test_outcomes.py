"""What `akgnn train` can, `akgnn.train` can: the same request gives the same runs."""

import json

import pytest

import akgnn
from akgnn.cli.main import main
from akgnn.errors import DivergedError, RunFolderError, SettingsError
from akgnn.runs.outcomes import Runs
from akgnn.runs.request import Request

DATA = "csbm:num_nodes=120,signal=2"
SETTINGS = {"epochs": 4, "hidden_channels": 4}
WORDS = ["train", "--dataset", DATA, "--set", "epochs=4", "--set", "hidden_channels=4", "--json"]


def from_shell(capsys, *words):
    assert main([*WORDS, *words]) == 0
    return json.loads(capsys.readouterr().out)


def without_times(result):
    return {name: value for name, value in result.items() if "seconds" not in name}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seeds": 2, "seed": 3}, ["--seeds", "2", "--seed", "3"]),
        ({"folds": 3}, ["--folds", "3"]),
    ],
)
def test_several_runs_are_the_same_from_python_and_from_the_shell(options, words, capsys):
    runs = akgnn.train(DATA, settings=SETTINGS, **options)
    assert isinstance(runs, Runs)
    shown = from_shell(capsys, *words)["runs"]
    found = [json.loads(json.dumps(run.to_dict())) for run in runs]
    assert list(map(without_times, found)) == list(map(without_times, shown))
    assert runs[0] is runs.runs[0]
    assert repr(runs).startswith("Runs(Run(akgnn")


def test_models_are_tried_and_the_result_is_judged_from_python(capsys):
    run = akgnn.train(DATA, model="auto", settings=SETTINGS)
    shown = from_shell(capsys, "--model", "auto")
    assert [each.plan.run.model for each in run.choice.tried] == ["mlp", "gcn", "appnp", "akgnn"]
    assert run.plan.run.model == shown["model"] == shown["choice"]["model"]
    assert list(run.verdict.notes) == shown["verdict"]["notes"]


def test_runs_are_kept_in_folders_and_go_on(tmp_path):
    asked = {"seeds": 2, "out": tmp_path / "runs", "settings": SETTINGS}
    runs = akgnn.train(DATA, **asked)
    assert [run.folder.path.name for run in runs] == ["seed-0", "seed-1"]
    again = akgnn.train(DATA, **asked, resume=True)
    assert [run.to_dict() for run in again] == [run.to_dict() for run in runs]
    akgnn.train(DATA, out=tmp_path / "one", settings=SETTINGS)
    with pytest.raises(RunFolderError, match="holds a single run; `seeds` needs a folder"):
        akgnn.train(DATA, **{**asked, "out": tmp_path / "one"})


def test_the_fold_that_diverged_is_named():
    with pytest.raises(DivergedError, match=r"^Split fold-0-of-2: "):
        akgnn.train(DATA, folds=2, settings={"epochs": 3, "learning_rate": 1e30})


def test_epochs_are_tracked_from_python(tmp_path):
    pytest.importorskip("tensorboard")
    akgnn.train(DATA, settings=SETTINGS, track=[f"tensorboard:{tmp_path / 'board'}"])
    assert any((tmp_path / "board").rglob("events*"))


def test_an_unknown_tracker_is_refused_before_anything_is_read(monkeypatch):
    monkeypatch.setattr("akgnn.runs.outcomes.load_data", lambda *_, **__: pytest.fail("read"))
    with pytest.raises(akgnn.errors.UnknownNameError, match="Unknown tracker 'board'"):
        akgnn.train(DATA, track=["board"])


def test_parts_are_trained_from_python(tmp_path, capsys):
    parts = tmp_path / "parts"
    assert main(["partition", "--dataset", DATA, "--parts", "3", "--out", str(parts)]) == 0
    capsys.readouterr()
    run = akgnn.train(parts=parts, settings=SETTINGS, out=tmp_path / "run")
    assert run.result.to_dict() == akgnn.load_run(tmp_path / "run").result.to_dict()
    assert run.plan.run.dataset == f"parts:{parts}"
    with pytest.raises(SettingsError, match="`processes` needs `out`"):
        akgnn.train(parts=parts, processes=2, settings=SETTINGS)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"resume": True}, "`resume` needs `out`"),
        ({"seeds": 2, "folds": 2}, "`folds` and `seeds` cannot be combined"),
        ({"seeds": 2, "ensemble": 2}, "`ensemble` and `seeds` cannot be combined"),
        ({"folds": 2, "model": "auto"}, "name a model with `folds`"),
        ({"folds": 2, "split": "60/20/20"}, "cannot be combined with `split`"),
        ({"parts": "p", "seeds": 2}, "`seeds` cannot be combined with `parts`"),
        ({"parts": "p", "vote": False}, "`no_vote` cannot be combined with `parts`"),
        ({"timeout": 3.0}, "`timeout` needs `parts`"),
        ({"kernel": "signed", "model": "gcn"}, "`kernel` goes with the model akgnn"),
        ({"seeds": 0}, "`seeds` must be from 1 to"),
        ({"checkpoint_seconds": -1.0}, "`checkpoint_seconds` must be at least 0"),
    ],
)
def test_options_that_cannot_be_combined_are_refused(options, words):
    with pytest.raises(SettingsError, match=words):
        Request(**options).check()
