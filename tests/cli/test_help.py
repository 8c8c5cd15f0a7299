import re

import pytest

from akgnn.cli.main import COMMANDS, main


def help_of(capsys, monkeypatch, columns, *words):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main([*words, "--help"]) == 0
    return capsys.readouterr().out


def groups_in(text):
    """The flags below each heading."""
    groups = {}
    for line in text.splitlines():
        if re.match(r"\S.*:$", line):
            flags = groups.setdefault(line[:-1], [])
        elif flag := re.match(r"  (?:-h, )?(--[\w-]+)", line):
            flags.append(flag[1])
    return groups


def test_options_of_train_stand_in_groups(capsys, monkeypatch):
    groups = groups_in(help_of(capsys, monkeypatch, 80, "train"))
    assert list(groups) == ["Data", "Your own tables", "Model", "Training", "Output", "Other"]
    assert {"--dataset", "--split", "--data-root"} <= set(groups["Data"])
    assert {"--nodes", "--edges", "--id", "--neighbours"} <= set(groups["Your own tables"])
    assert {"--model", "--preset", "--kernel", "--set", "--config"} == set(groups["Model"])
    assert {"--seed", "--seeds", "--folds", "--device"} <= set(groups["Training"])
    assert {"--out", "--resume", "--track", "--json"} <= set(groups["Output"])
    assert groups["Other"] == ["--help"]


def test_options_of_tune_stand_in_the_same_groups(capsys, monkeypatch):
    groups = groups_in(help_of(capsys, monkeypatch, 80, "tune"))
    assert list(groups) == ["Data", "Your own tables", "Model", "Training", "Output", "Other"]
    assert "--trials" in groups["Training"]


def test_few_options_stand_together(capsys, monkeypatch):
    assert list(groups_in(help_of(capsys, monkeypatch, 80, "explain"))) == ["Arguments", "Options"]


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_commands_are_summed_up_in_whole_sentences(columns, capsys, monkeypatch):
    text = help_of(capsys, monkeypatch, columns)
    listed = text.partition("Commands:\n")[2].partition("\n\n")[0]
    rows = re.split(r"\n  (?=\w)", "\n" + listed)[1:]
    assert len(rows) == len(COMMANDS)
    for row, command in zip(rows, COMMANDS, strict=True):
        name, *words = row.split()
        first = (command.__doc__ or "").partition("\n\n")[0]
        assert (name, words) == (command.__name__, first.split())
        assert words[-1].endswith(".")


def test_help_is_no_wider_than_is_read_with_ease(capsys, monkeypatch):
    lines = help_of(capsys, monkeypatch, 300, "train").splitlines()
    assert 80 < max(map(len, lines)) <= 100
