"""Signals while a command works: one line, status 1, and nothing half-written."""

import os
import signal

import pandas as pd
import pytest

from akgnn.cli.main import main
from akgnn.cli.progress import StopRequests
from akgnn.cli.signals import ENDING, ended_like_ctrl_c

CSBM = "csbm:num_nodes=60,num_features=4"


@pytest.fixture(autouse=True)
def usual_handlers(monkeypatch):
    """As in a terminal: a program that a shell starts in the background ignores SIGINT."""
    monkeypatch.delenv("RANK", raising=False)
    usual = dict.fromkeys(ENDING, signal.SIG_DFL) | {signal.SIGINT: signal.default_int_handler}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signals")
    nodes = pd.DataFrame({"id": range(40), "label": ["a", "b"] * 20, "x": range(40)})
    edges = pd.DataFrame({"source": range(39), "target": range(1, 40)})
    nodes.to_csv(folder / "nodes.csv", index=False)
    edges.to_csv(folder / "edges.csv", index=False)
    tables = ["--nodes", str(folder / "nodes.csv"), "--edges", str(folder / "edges.csv")]
    options = ["--preset", "any-graph", "--set", "epochs=2", "--out", str(folder / "run")]
    assert main(["train", *tables, *options]) == 0
    return folder


def signal_at(monkeypatch, name, numbers):
    """Send signals before a function of `os` is called for the first time."""
    waiting, usual = list(numbers), getattr(os, name)

    def at_first(*arguments, **options):
        while waiting:
            os.kill(os.getpid(), waiting.pop(0))
        return usual(*arguments, **options)

    monkeypatch.setattr(os, name, at_first)


COMMANDS = {
    "predict": ("predict {run} --out {out}/p.csv", "fsync"),
    "export": ("export {run} --out {out}/e.pt2", "replace"),
    "report": ("report {run} --out {out}/r.html", "fsync"),
    "partition": (
        f"partition --dataset {CSBM} --parts 2 --cut order --out {{out}}/parts",
        "fsync",
    ),
    "tune": (f"tune --dataset {CSBM} --trials 2 --set epochs=2 --out {{out}}/t", "fsync"),
    "train": (f"train --dataset {CSBM} --set epochs=2 --out {{out}}/r", "fsync"),
}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_signal_ends_a_command_in_one_line(
    command, number, folder, tmp_path, capsys, monkeypatch
):
    if command == "tune":
        pytest.importorskip("optuna")
    words, moment = COMMANDS[command]
    words = words.format(run=folder / "run", out=tmp_path).split()
    capsys.readouterr()
    # The second one finds the command at cleaning up.
    signal_at(monkeypatch, moment, [number, number])
    assert main(words) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.lower().startswith("akgnn: stopped")
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".tmp-")]
    assert signal.getsignal(number) is signal.SIG_DFL


def test_the_next_signal_does_not_disturb_the_cleaning_up(tmp_path):
    file = tmp_path / "left"

    def work():
        try:
            file.touch()
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            file.unlink()

    with pytest.raises(KeyboardInterrupt), ended_like_ctrl_c():
        work()
    assert not file.exists()


def test_what_somebody_else_decided_stays():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with ended_like_ctrl_c(), StopRequests() as stops:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not stops.should_stop()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_processes_of_torchrun_are_left_alone(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    with ended_like_ctrl_c():
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
