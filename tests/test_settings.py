from dataclasses import dataclass
from typing import Literal

import pytest

from akgnn.errors import SettingsError, UnknownNameError
from akgnn.settings import (
    Settings,
    count,
    meanings,
    needs,
    non_negative,
    positive,
    rate,
    seed,
    share,
    takes,
    whole,
)
from akgnn.training.settings import TrainSettings


@dataclass(frozen=True, kw_only=True)
class Example(Settings):
    layers: int = count(2)
    drop: float = rate(0.5)
    speed: float | None = positive(None)
    decay: float = non_negative(0.0)
    is_deep: bool = False
    kind: Literal["sum", "mean"] = "sum"
    title: str | None = None
    start: int = seed()
    steps: int = whole(0)
    part: float = share(1.0)


def test_text_is_read_by_the_type_of_the_field():
    text = {"layers": "8", "drop": "0.1", "speed": "1e-3", "is_deep": "yes", "kind": "mean"}
    settings = Example.from_mapping(text)
    assert settings == Example(layers=8, drop=0.1, speed=1e-3, is_deep=True, kind="mean")


@pytest.mark.parametrize(("text", "number"), [("1e6", 10**6), ("2.5E3", 2500), ("12", 12)])
def test_whole_numbers_may_have_an_exponent(text, number):
    layers = Example.from_mapping({"layers": text}).layers
    assert layers == number
    assert isinstance(layers, int)


def test_long_seeds_keep_all_digits():
    assert Example.from_mapping({"start": str(2**63 - 1)}).start == 2**63 - 1


def test_none_is_read_where_it_is_allowed():
    assert Example(speed=1.0).updated({"speed": "none"}).speed is None
    with pytest.raises(SettingsError, match="drop must be a number"):
        Example.from_mapping({"drop": "none"})


def test_whole_numbers_widen_to_floats():
    value = Example(speed=1).speed
    assert value == 1.0
    assert isinstance(value, float)


def test_dictionary_round_trip():
    settings = Example(layers=3, kind="mean")
    assert Example.from_mapping(settings.to_dict()) == settings


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("layers", 0, "layers must be from 1 to 1000000000, got 0"),
        ("layers", 2.5, "layers must be an integer, got 2.5"),
        ("layers", True, "layers must be an integer"),
        ("layers", "1e-1", "layers must be an integer, got '1e-1'"),
        ("layers", "3.0", "layers must be an integer, got '3.0'"),
        ("layers", "eight", "layers must be an integer, got 'eight'"),
        ("drop", 1.0, "drop must be at least 0 and below 1"),
        ("drop", -0.1, "drop must be at least 0 and below 1"),
        ("drop", float("nan"), "drop must be"),
        ("speed", 0.0, "speed must be above 0"),
        ("speed", float("inf"), "speed must be above 0, to 1e38, got inf"),
        ("decay", -1.0, "decay must be from 0 to 1e38"),
        ("is_deep", "perhaps", "is_deep must be true or false, got 'perhaps'"),
        ("is_deep", 1, "is_deep must be true or false"),
        ("kind", "maen", "kind must be one of sum, mean, got 'maen'. Did you mean 'mean'?"),
        ("title", 3, "title must be text or none"),
        ("title", "red \x1b[31m", "title holds characters that cannot be printed"),
        ("layers", 10**400, "layers must be from 1 to"),
        ("speed", 10**400, "speed must be a number"),
        ("speed", "1e300", "speed must be above 0, to 1e38, got 1e+300"),
        ("start", -1, "start must be from 0 to 2^63 - 1, got -1"),
        ("start", 2**63, "start must be from 0 to 2^63 - 1"),
        ("steps", -1, "steps must be from 0 to 1000000000, got -1"),
        ("steps", 0.5, "steps must be an integer"),
        ("part", 1.1, "part must be from 0 to 1, got 1.1"),
        ("part", -0.1, "part must be from 0 to 1"),
    ],
)
def test_wrong_values_are_refused(name, value, message):
    with pytest.raises(SettingsError) as caught:
        Example.from_mapping({name: value})
    assert message in str(caught.value)


def test_an_unknown_field_is_answered_with_a_guess():
    with pytest.raises(UnknownNameError, match="Did you mean 'layers'"):
        Example.from_mapping({"layer": 3})


@dataclass(frozen=True, kw_only=True)
class Told(Settings):
    """Settings with meanings.

    Attributes:
        layers: How many there are,
            which may take two lines.
        drop: A rate.
    """

    layers: int = count(2)
    drop: float = rate(0.5)


@takes(Told)
class Model:
    """A model.

    And more of it.
    """

    def __init__(self, in_channels, *, drop=0.5, layers=2, generator=None):
        self.settings = Told.of_call(locals())


def test_meanings_are_those_of_the_classes_a_class_is_made_of():
    @dataclass(frozen=True, kw_only=True)
    class More(Told):
        """More settings.

        Attributes:
            other: One more.
        """

        other: int = 1

    assert meanings(More) == {**meanings(Told), "other": "One more."}


def test_meanings_are_those_of_the_docstring():
    assert meanings(Told) == {
        "layers": "How many there are, which may take two lines.",
        "drop": "A rate.",
    }


def test_a_models_help_tells_what_its_settings_mean():
    assert Model.__doc__.startswith("A model.\n\nAnd more of it.\n\nArgs:\n    in_channels: Number")
    order = ["in_channels: ", "drop: A rate.", "layers: How many", "generator: Source", "Raises:"]
    places = [Model.__doc__.index(words) for words in order]
    assert places == sorted(places)


def test_without_docstrings_a_model_stays_as_it_is():
    assert takes(Told)(type("Bare", (), {})).__doc__ is None


def test_settings_are_taken_from_the_names_of_a_call():
    assert Model(3, drop=0.1).settings == Told(drop=0.1, layers=2)
    with pytest.raises(SettingsError, match="layers must be from 1"):
        Model(3, layers=0)


def test_an_integer_of_very_many_digits_is_told():
    with pytest.raises(SettingsError, match=r"epochs must be .*, got an integer of very many"):
        TrainSettings(epochs=10**5000)


@dataclass(frozen=True, kw_only=True)
class Formed(Settings):
    """Settings of which some belong to one form."""

    form: Literal["plain", "deep", "wide"] = "plain"
    rate: float = needs(rate(0.5), form=("plain", "wide"))
    norm: str = needs("none", form=("deep",))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"norm": "batch"}, "norm='batch' needs form='deep', and has no effect here.*rate"),
        ({"form": "deep", "rate": 0.1}, "rate=0.1 needs form='plain' or 'wide'"),
        ({"form": "deep", "rate": 0.5}, "rate=0.5 needs form='plain' or 'wide'"),
        ({"norm": "none"}, "norm='none' needs form='deep'"),
        ({"form": "dep", "norm": "batch"}, "Did you mean 'deep'"),
    ],
)
def test_a_named_setting_without_effect_is_refused(values, message):
    with pytest.raises(SettingsError, match=message):
        Formed().updated(values)


def test_what_nobody_named_falls_away_where_it_has_no_effect():
    deep = Formed(form="deep", norm="batch")
    assert deep.updated({"form": "plain"}) == Formed()
    assert deep.updated({"form": "plain", "norm": "none", "rate": 0.1}) == Formed(rate=0.1)
    assert "rate" not in deep.in_effect()


def test_a_record_may_name_what_has_no_effect():
    kept = {"form": "deep", "rate": 0.9, "norm": "batch"}
    assert Formed().restored(kept) == Formed(form="deep", norm="batch")
    assert Formed().restored(Formed().to_dict()) == Formed()
