import json
import os
import signal
import subprocess
import sys
import time
import tomllib

import pytest
from typer.main import get_command

from akgnn.cli.main import app, main
from akgnn.files import is_left_over
from akgnn.report import html
from akgnn.tuning import study

TOY = ["--dataset", "csbm:num_nodes=100", "--model", "mlp", "--set", "epochs=3"]


def test_a_search_as_json_and_its_files(tmp_path, capsys):
    out = tmp_path / "tuned"
    assert main(["tune", *TOY, "--trials", "3", "--out", str(out), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["model"], result["score"]) == ("mlp", "val_loss")
    assert len(result["trials"]) == 3
    assert result["importance"] == {}
    assert result["best"]["score"] == min(trial["score"] for trial in result["trials"])
    best = tomllib.loads((out / "best.toml").read_text(encoding="utf-8"))
    assert best["training"]["learning_rate"] == result["best"]["values"]["learning_rate"]
    assert list(best) == ["run", "model", "training", "strategy"]
    kept = sorted(file.name for file in out.iterdir() if not is_left_over(file))
    assert kept == ["best.toml", "study.db", "tuning.html"]


def test_people_see_start_and_best(tmp_path, capsys):
    command = ["tune", *TOY, "--trials", "2", "--out", str(tmp_path), "--set", "dropout=0.3"]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "mlp (paper): 2 trials, 2 finished, 0 pruned, 0 failed" in out
    assert "at the start" in out
    assert "learning_rate" in out
    assert "dropout" not in out
    assert f"Train it with: akgnn train --config {tmp_path / 'best.toml'}\n" in out
    page = (tmp_path / "tuning.html").read_text(encoding="utf-8")
    assert f'<code id="command">akgnn train --config {tmp_path / "best.toml"}</code>' in page
    assert main([*command, "--data-root", str(tmp_path)]) == 0
    assert f"best.toml --data-root {tmp_path}\n" in capsys.readouterr().out
    assert main([*command[:-1], "dropout=0.4"]) == 2
    assert "holds another search: its dropout is 0.3, not 0.4." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--trials", "0"], "--trials must be from 1 to 10000, got 0."),
        (["--trials", "-3"], "--trials must be from 1 to 10000, got -3."),
        (["--model", "mpl"], "Unknown model 'mpl'. Did you mean 'mlp'? Choose from"),
        (
            ["--preset", "papr"],
            "Unknown preset 'papr'. Did you mean 'paper'? Choose from any-graph, paper, tuned, "
            "unit-length.",
        ),
        (["--dataset", "corra"], "Unknown data set 'corra'"),
        (["--split", "90/0/10"], "The validation set is empty"),
        (["--set", "depth=3"], "Unknown setting 'depth'. Choose from"),
        (["--set", "num_layers"], "Write NAME=VALUE"),
        (["--set", "dropout=1.5"], "dropout must be at least 0 and below 1, got 1.5."),
        (["--set", "stop_on=roc_auc"], "stop_on='roc_auc' needs two classes"),
        (["--device", "cdua"], "cdua"),
        (["--seed", "-1"], "seed must be from 0 to 2^63 - 1, got -1."),
    ],
)
def test_a_mistake_is_one_line_and_leaves_no_folder(options, message, tmp_path, capsys):
    out = tmp_path / "tuned"
    assert main(["tune", *TOY, "--trials", "1", "--out", str(out), *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not out.exists()


def test_a_model_of_another_study_is_named(tmp_path, capsys):
    assert main(["tune", *TOY, "--trials", "1", "--out", str(tmp_path)]) == 0
    assert main(["tune", *TOY, "--trials", "1", "--out", str(tmp_path), "--model", "gcn"]) == 2
    assert "holds another search: its model is mlp, not gcn." in capsys.readouterr().err


def test_a_file_that_is_no_study(tmp_path, capsys):
    (tmp_path / "study.db").write_text("no database " * 100)
    assert main(["tune", *TOY, "--trials", "1", "--out", str(tmp_path)]) == 2
    assert "cannot be read as an SQLite file" in capsys.readouterr().err


def test_everything_fixed_leaves_nothing_to_search(tmp_path, capsys):
    names = (
        "num_layers=2",
        "hidden_channels=8",
        "dropout=0.1",
        "learning_rate=1",
        "weight_decay=0",
    )
    fixed = [word for name in names for word in ("--set", name)]
    assert main(["tune", *TOY, *fixed, "--out", str(tmp_path / "tuned")]) == 2
    assert "Nothing is left to search" in capsys.readouterr().err


def test_trials_that_all_diverge_are_a_failure(tmp_path, capsys):
    wild = ["--set", "learning_rate=1e30", "--trials", "2", "--out", str(tmp_path)]
    assert main(["tune", *TOY, *wild]) == 1
    assert "None of the 2 trials came to a result, the first: The " in capsys.readouterr().err


def test_optuna_missing_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(study, "find_spec", lambda name: None)
    assert main(["tune", *TOY, "--out", str(tmp_path / "tuned")]) == 2
    assert "needs an optional package: pip install 'akgnn[tune]'" in capsys.readouterr().err


def test_without_the_report_extra_only_the_page_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(html, "find_spec", lambda name: None)
    assert main(["tune", *TOY, "--trials", "1", "--out", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert "No page of the search was written." in captured.err
    assert "akgnn[report]" in captured.err
    assert "tuning.html" not in captured.out
    assert (tmp_path / "best.toml").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_keeps_what_is_done(tmp_path):
    command = [sys.executable, "-m", "akgnn", "tune", *TOY, "--set", "epochs=40", "--trials"]
    out = tmp_path / "tuned"
    process = subprocess.Popen(
        [*command, "10000", "--out", str(out)], stderr=subprocess.PIPE, text=True
    )
    while process.poll() is None and not (out / "best.toml").exists():
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "of 10000 trials done, which are kept in" in error
    assert "Traceback" not in error
    kept = int(error.partition("Stopped with ")[2].partition(" ")[0])
    assert kept >= 1
    again = subprocess.run(
        [*command, str(kept), "--out", str(out), "--json"], capture_output=True, text=True
    )
    assert again.returncode == 0, again.stderr
    assert len(json.loads(again.stdout)["trials"]) == kept


def test_tables_have_the_options_that_train_has():
    commands = get_command(app).commands
    of_tables = [
        {option.name for option in commands[name].params if "tables" in str(option.rich_help_panel)}
        for name in ("train", "tune")
    ]
    assert of_tables[0] == of_tables[1]
    assert {"nodes", "prepare", "id", "neighbours"} <= of_tables[0]


def test_own_tables_are_read_as_the_options_say(tmp_path, capsys):
    rows = [f"{row},{'ab'[row % 2]},{row % 7},{row % 2}" for row in range(40)]
    (tmp_path / "n.csv").write_text("\n".join(["key,class,u,v", *rows]))
    own = ["--nodes", str(tmp_path / "n.csv"), "--label", "class", "--id", "key"]
    own += ["--columns", "v", "--prepare", "plain", "--neighbours", "2", "--set", "epochs=2"]
    assert main(["tune", *own, "--trials", "4", "--out", str(tmp_path / "out"), "--json"]) == 0
    tables = json.loads(capsys.readouterr().out)["settings"]["tables"]
    names = ("id", "columns", "prepare", "neighbours", "edges")
    assert [tables[name] for name in names] == ["key", "v", "plain", 2, []]
    best = tomllib.loads((tmp_path / "out" / "best.toml").read_text(encoding="utf-8"))
    assert best["tables"]["edges"] == []
