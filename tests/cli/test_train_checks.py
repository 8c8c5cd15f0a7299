"""Which options of `akgnn train` go together."""

import pytest
from typer.main import get_command

from akgnn.cli.main import app, main
from akgnn.runs import request

OPTIONS = {option.name: option for option in get_command(app).commands["train"].params}
WITH_PARTS = request._WITH_PARTS - {"callbacks"} | {"as_json"}
OTHERS = sorted(set(OPTIONS) - WITH_PARTS - {"help"})


def words(option) -> list[str]:
    """The option as it may stand on the command line."""
    return [option.opts[0]] if option.is_flag else [option.opts[0], "2"]


def test_what_parts_take_is_there():
    assert set(OPTIONS) >= WITH_PARTS > set(request._OF_PARTS)


@pytest.mark.parametrize("name", OTHERS)
def test_an_option_of_data_or_of_several_runs_is_refused_beside_parts(name, capsys):
    asked = words(OPTIONS[name])
    assert main(["train", "--parts", "no-such-folder", *asked]) == 2
    error = capsys.readouterr().err
    assert f"{asked[0]} cannot be combined with --parts" in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("name", request._OF_PARTS)
def test_an_option_of_parts_is_refused_without_them(name, capsys):
    asked = words(OPTIONS[name])
    assert main(["train", *asked]) == 2
    error = capsys.readouterr().err
    assert f"{asked[0]} needs --parts" in error
    assert len(error.splitlines()) == 1
