import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from akgnn.codec import MISFITS, from_json, reading, to_json
from akgnn.errors import CheckpointError, SettingsError, UnknownNameError
from akgnn.files import json_text, parse_json


@dataclass(frozen=True)
class Point:
    x: float
    name: str
    count: int = 0


@dataclass(frozen=True)
class Figure:
    kind: Literal["line", "bars"]
    points: tuple[Point, ...]
    sizes: Mapping[str, list[int]]
    is_shown: bool = True
    note: str | None = None
    limit: int | str = "none"
    tags: Sequence[str] = field(default_factory=list)


class Celsius:
    """A class that decides for itself."""

    def __init__(self, degrees):
        self.degrees = degrees

    def __eq__(self, other):
        return self.degrees == other.degrees

    def to_dict(self):
        return {"kelvin": self.degrees + 273}

    @classmethod
    def from_dict(cls, content):
        return cls(content["kelvin"] - 273)


TEXT = st.text(st.characters(codec="ascii", categories=["L", "N"]))
FIGURES = st.builds(
    Figure,
    kind=st.sampled_from(["line", "bars"]),
    points=st.lists(
        st.builds(Point, st.floats(allow_nan=False, allow_infinity=False), TEXT, st.integers(0))
    ).map(tuple),
    sizes=st.dictionaries(TEXT, st.lists(st.integers(0))),
    is_shown=st.booleans(),
    note=st.none() | TEXT,
    limit=st.integers(0) | TEXT,
    tags=st.lists(TEXT),
)


@given(FIGURES)
def test_a_dataclass_survives_json(figure):
    assert from_json(Figure, parse_json(json_text(to_json(figure)))) == figure


def test_a_class_may_decide_for_itself():
    assert to_json([Celsius(20)]) == [{"kelvin": 293}]
    assert from_json(list[Celsius], [{"kelvin": 293}]) == [Celsius(20)]


def test_not_a_number_is_null():
    point = from_json(Point, json.loads('{"x": null, "name": ""}'))
    assert math.isnan(point.x)
    assert math.isnan(from_json(list[float], [1.0, None])[1])


def test_whole_numbers_are_numbers():
    (value,) = from_json(tuple[float, ...], [3])
    assert (value, type(value)) == (3.0, float)


def test_what_has_a_default_may_be_absent():
    content = {"kind": "line", "points": [], "sizes": {}}
    assert from_json(Figure, content) == Figure("line", (), {})
    with pytest.raises(KeyError, match="sizes"):
        from_json(Figure, {"kind": "line", "points": []})


def test_what_is_not_a_field_is_ignored():
    assert from_json(Point, {"x": 1.0, "name": "a", "colour": "red"}) == Point(1.0, "a")


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        (float, "1", "'1' is not a number"),
        (float, True, "True is not a number"),
        (int, -1, "-1 is not an integer from 0 on"),
        (int, 1.0, "1.0 is not an integer"),
        (int, True, "True is not an integer"),
        (bool, 1, "1 is neither true nor false"),
        (str, "\x1b[31m", "not printable text"),
        (str, 3, "3 is not printable text"),
        (Literal["a", "b"], "c", "'c', not one of a, b"),
        (list[int], {}, "{}, not a list"),
        (list[int], [1, "x"], r"here\[1\]: 'x' is not an integer"),
        (list[float], [1.0, "x"], r"here\[1\]: 'x' is not a number"),
        (tuple[int, int], [1], "has 1 entries, not 2"),
        (dict[str, int], [], r"\[\], not an object"),
        (dict[str, int], {"a": "x"}, r"here\.a: 'x' is not an integer"),
        (dict[str, int], {"\n": 1}, "not printable text"),
        (Point, [1.0, "a"], "not an object"),
        (Point, {"x": "far", "name": "a"}, "x: 'far' is not a number"),
        (int | None, "x", "'x' is not an integer"),
    ],
)
def test_what_does_not_fit_is_named(kind, content, message):
    with pytest.raises(ValueError, match=message):
        from_json(kind, content, "here")


def test_anything_fits_where_anything_may_stand():
    assert from_json(dict[str, Any], {"a": [1, {"b": None}]}) == {"a": [1, {"b": None}]}


def test_a_misfit_names_the_folder():
    for error, message in (
        (KeyError("x"), "record in runs/a is damaged or foreign: 'x' is missing"),
        (SettingsError("It is wrong."), r"damaged or foreign: It is wrong\.$"),
        (OverflowError("too large"), "too large"),
    ):
        assert isinstance(error, MISFITS)
        with pytest.raises(CheckpointError, match=message), reading(Path("runs/a")):
            raise error


def test_a_name_that_is_not_known_here_may_be_known_elsewhere():
    misfit = pytest.raises(CheckpointError, match=r"runs/a cannot be read here\. Unknown model 'x'")
    with misfit, reading(Path("runs/a")):
        raise UnknownNameError("model", "x", ["akgnn"])


def test_errors_that_say_enough_and_slips_of_our_own_pass():
    for error in (CheckpointError("said already"), ZeroDivisionError()):
        with pytest.raises(type(error)) as caught, reading(Path("runs/a")):
            raise error
        assert caught.value is error
