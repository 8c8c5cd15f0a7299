import subprocess
import sys

import pytest

from akgnn import __version__
from akgnn.cli import main as main_module
from akgnn.cli.main import COMMANDS, main
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
    def fail(**_):
        raise error

    monkeypatch.setattr(main_module, "app", fail)
    assert main([]) == status
    assert capsys.readouterr().err.startswith("akgnn: ")


def test_a_reader_that_leaves_early_is_no_crash():
    command = f"{sys.executable} -m akgnn models akgnn | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
