import io
import os
import subprocess
import sys

import pytest

from akgnn.cli.main import main
from akgnn.cli.terminal import columns_of, complain, prepare_streams, printable, say

TOY = "train --dataset csbm:num_nodes=100,num_features=4 --set epochs=2"


def akgnn(arguments, redirect=""):
    command = f"{sys.executable} -m akgnn {arguments} {redirect}"
    return subprocess.run(command, shell=True, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("ascii", "lambda 1 +/- 2 - 3 ... -> ?"),
        ("latin-1", "lambda 1 ± 2 - 3 ... -> ?"),
        ("cp1252", "lambda 1 ± 2 - 3 … -> ?"),
        ("utf-8", "λ 1 ± 2 − 3 … → 漢"),
    ],
)
def test_letters_that_an_encoding_lacks_become_plain_ones(encoding, shown, monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding=encoding))
    assert prepare_streams()
    print("λ 1 ± 2 − 3 … → 漢", flush=True)
    assert written.getvalue().decode(encoding) == f"{shown}\n"


def test_a_lone_surrogate_can_be_printed(monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding="utf-8"))
    prepare_streams()
    print("\udcff", flush=True)
    assert written.getvalue() == b"?\n"


def test_control_characters_are_escaped():
    assert printable("\x1b[31m a\nb \u202e λ") == r"\x1b[31m a\nb \u202e λ"


def test_a_complaint_is_one_line_of_bounded_length(capsys):
    complain("a\nb" + "9" * 5000)
    said = capsys.readouterr().err
    assert said.startswith("akgnn: a\\nb999")
    assert said.count("\n") == 1
    assert len(said) < 1200
    assert "characters left out" in said


def test_lines_are_as_wide_as_columns_says_and_whole_without(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    say("a line of more than twenty letters")
    complain("a line of more than twenty letters")
    captured = capsys.readouterr()
    assert captured.out == "a line of more than\ntwenty letters\n"
    assert captured.err == "akgnn: a line of\n  more than twenty\n  letters\n"
    for nothing in ("", "0", "wide"):
        monkeypatch.setenv("COLUMNS", nothing)
        say("a line of more than twenty letters")
        assert capsys.readouterr().out == "a line of more than twenty letters\n"


def test_a_terminal_tells_its_width():
    termios = pytest.importorskip("termios")
    near, far = os.openpty()
    with open(near, "wb"), open(far, "w") as terminal:
        # None known, as of a fresh one.
        assert columns_of(terminal) is None
        termios.tcsetwinsize(terminal.fileno(), (24, 63))
        assert columns_of(terminal) == 63


@pytest.mark.parametrize(
    ("variables", "is_coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, False),
    ],
)
def test_colours_are_for_terminals_that_want_them(variables, is_coloured, capsys, monkeypatch):
    for name in ("FORCE_COLOR", "NO_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm", **variables}.items():
        monkeypatch.setenv(name, value)
    say("a heading", "bold")
    complain("a mistake", "red")
    captured = capsys.readouterr()
    assert captured.out == ("\x1b[1ma heading\x1b[0m\n" if is_coloured else "a heading\n")
    assert captured.err == (
        "\x1b[31makgnn:\x1b[0m a mistake\n" if is_coloured else "akgnn: a mistake\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "--nodes", "\x1b[31m\n.csv", "--edges", "x.csv"],
        ["predict", "\x1b[31m\n"],
        ["\x1b[31m\n"],
        ["train", "--\x1b[31m\n"],
        ["train", "--config", "\x1b[31m\n"],
    ],
)
def test_no_escape_of_a_name_reaches_the_terminal(arguments, capsys):
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert said.count("\n") == 1


def test_a_path_that_is_shown_is_escaped(tmp_path, capsys):
    assert main(["init", str(tmp_path / "\x1b[31m.toml")]) == 0
    shown = capsys.readouterr().out
    assert r"\x1b[31m.toml" in shown
    assert "\x1b" not in shown


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of Unix")
@pytest.mark.parametrize(
    ("redirect", "status", "said"),
    [
        (">&-", 2, "akgnn: Standard output is closed; send it to a file, or to /dev/null.\n"),
        (">/dev/full", 1, "akgnn: Cannot write to standard output: No space left on device.\n"),
    ],
)
def test_standard_output_that_takes_nothing_is_one_line(redirect, status, said):
    for arguments in ("models akgnn", "--version"):
        done = akgnn(arguments, redirect)
        assert (done.returncode, done.stderr) == (status, said)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of Unix")
@pytest.mark.parametrize("redirect", ["2>&-", "2>/dev/full"])
def test_an_error_that_nobody_can_read_keeps_its_status(redirect):
    assert akgnn("train --dataset corra", redirect).returncode == 2


def test_a_command_ends_well_in_ascii():
    command = [sys.executable, "-m", "akgnn", *TOY.split()]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, env=environment)
    assert done.stderr == b""
    assert done.returncode == 0
    assert b"lambda per layer" in done.stdout
