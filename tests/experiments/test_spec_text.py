from pathlib import Path

import pytest

from akgnn.errors import DataError, SpecError
from akgnn.experiments.spec_text import NEEDED, SpecText

TEXT = """title = "Mine"
seeds = 3

[[rows]]
label = "first"

[[rows]]
label = "second"
seeds = "many"
"""
FIELDS = {"title": (str, NEEDED), "seeds": (int, 10), "split": ((str, dict), {})}
ROW = {"label": (str, NEEDED), "seeds": (int, None)}


@pytest.fixture
def text():
    return SpecText(Path("mine.toml"), TEXT)


def test_what_is_not_there_has_its_default(text):
    found = text.fields({"title": "Mine"}, FIELDS)
    assert found == {"title": "Mine", "seeds": 10, "split": {}}


@pytest.mark.parametrize("split", ["public", {"cora": "public"}])
def test_a_field_may_be_of_two_kinds(text, split):
    assert text.fields({"title": "Mine", "split": split}, FIELDS)["split"] == split


@pytest.mark.parametrize(
    ("table", "row", "says"),
    [
        ({"title": "Mine", "seeds": "3"}, None, "line 2: seeds must be an integer, got '3'"),
        # TOML's true is no number.
        ({"title": "Mine", "seeds": True}, None, "line 2: seeds must be an integer, got True"),
        ({"title": "Mine", "split": 3}, None, "split must be text or a table, got 3"),
        ({"title": "Mine", "sedes": 3}, None, "Unknown field 'sedes'. Did you mean 'seeds'"),
        ({"seeds": 3}, None, "the field 'title' is missing"),
        ({"label": "second", "seeds": "many"}, 1, "line 9: seeds must be an integer"),
        ({"seeds": 3}, 1, "line 7: the field 'label' is missing"),
    ],
)
def test_what_does_not_fit_is_said_with_its_line(text, table, row, says):
    with pytest.raises(SpecError, match=says) as caught:
        text.fields(table, FIELDS if row is None else ROW, row)
    assert str(caught.value).startswith("mine.toml, line ")


def test_errors_of_others_get_the_line_of_what_they_are_about(text):
    with (
        pytest.raises(SpecError, match=r"mine\.toml, line 8: No such thing\."),
        text.at("label", 1),
    ):
        raise DataError("No such thing.")
    with pytest.raises(KeyError), text.at("label", 1):
        raise KeyError("another kind of error is no mistake in the spec")


def test_a_sentence_ends_with_one_full_stop(text):
    assert str(text.error("it is wrong", "title")) == "mine.toml, line 1: it is wrong."
    assert str(text.error("it is wrong.", "title")) == "mine.toml, line 1: it is wrong."
