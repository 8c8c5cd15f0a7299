import subprocess
import sys

import pytest
import typer

from akgnn import __version__
from akgnn.cli.main import COMMANDS, flags_of_commands, main
from akgnn.errors import DataError, DivergedError, InterruptedRunError, OutOfMemoryError


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"akgnn {__version__}\n"


@pytest.mark.parametrize("command", [command.__name__ for command in COMMANDS])
def test_every_command_has_help_with_an_example(command, capsys):
    assert main([command, "--help"]) == 0
    assert f"Example: akgnn {command}" in capsys.readouterr().out


def test_no_command_shows_the_help_as_wrong_use(capsys):
    assert main([]) == 2
    captured = capsys.readouterr()
    assert "Start with: akgnn train" in captured.out + captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian"], "No such command 'trian'"),
        (["train", "--sede", "3"], "No such option: --sede"),
        (["train", "--seed", "three"], "Invalid value for '--seed'"),
        (["inspect"], "Missing argument 'run'"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(arguments, message, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1


def failing(monkeypatch, error):
    def fail(self, **_):
        raise error

    monkeypatch.setattr(typer.Typer, "__call__", fail)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (DataError("bad data."), 2),
        (DivergedError("loss."), 1),
        (InterruptedRunError("Stopped."), 1),
        (OutOfMemoryError("Too little."), 1),
        (KeyboardInterrupt(), 1),
    ],
)
def test_errors_become_a_line_and_a_status(error, status, capsys, monkeypatch):
    failing(monkeypatch, error)
    assert main([]) == status
    assert capsys.readouterr().err.startswith("akgnn: ")


def test_ctrl_c_inside_a_command_is_told(capsys, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("akgnn.runs.load.load_run", interrupted)
    assert main(["predict", "run"]) == 1
    assert capsys.readouterr().err == "akgnn: stopped.\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["predict", "run"], "akgnn: Say --unknown-ids drop.\n"),
        (["inspect", "run", "--json"], "akgnn: Say akgnn train --unknown-ids drop.\n"),
    ],
)
def test_an_error_says_settings_in_the_flags_of_the_command(arguments, said, capsys, monkeypatch):
    failing(monkeypatch, DataError("Say `unknown_ids='drop'`."))
    assert main(arguments) == 2
    assert capsys.readouterr().err == said
    # As the program itself is called.
    monkeypatch.setattr("sys.argv", ["akgnn", *arguments])
    assert main() == 2
    assert capsys.readouterr().err == said


def test_a_reader_that_leaves_early_is_no_crash():
    command = f"{sys.executable} -m akgnn models akgnn | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1


def test_the_flags_of_a_command_are_all_its_own():
    flags = flags_of_commands()
    assert set(flags) == {command.__name__ for command in COMMANDS}
    assert {"--set", "--id", "--unknown-ids", "--resume"} <= flags["train"]
    assert "--resume" not in flags["tune"]
