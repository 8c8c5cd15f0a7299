"""Which options of `akgnn train` go together."""

import pytest
from typer.main import get_command

from akgnn.cli import train_checks
from akgnn.cli.main import app, main

OPTIONS = {option.name: option for option in get_command(app).commands["train"].params}
OTHERS = sorted(set(OPTIONS) - train_checks._WITH_PARTS - {"help"})


def words(option) -> list[str]:
    """The option as it may stand on the command line."""
    return [option.opts[0]] if option.is_flag else [option.opts[0], "2"]


def test_what_parts_take_is_there():
    assert set(OPTIONS) >= train_checks._WITH_PARTS
    assert train_checks._OF_PARTS < train_checks._WITH_PARTS


@pytest.mark.parametrize("name", OTHERS)
def test_an_option_of_data_or_of_several_runs_is_refused_beside_parts(name, capsys):
    asked = words(OPTIONS[name])
    assert main(["train", "--parts", "no-such-folder", *asked]) == 2
    error = capsys.readouterr().err
    assert f"{asked[0]} has no place beside --parts" in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("name", sorted(train_checks._OF_PARTS))
def test_an_option_of_parts_is_refused_without_them(name, capsys):
    asked = words(OPTIONS[name])
    assert main(["train", *asked]) == 2
    error = capsys.readouterr().err
    assert f"{asked[0]} needs --parts" in error
    assert len(error.splitlines()) == 1
