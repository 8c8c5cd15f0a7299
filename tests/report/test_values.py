import math

import pytest

from akgnn.report.values import (
    count,
    duration,
    listed,
    number,
    p_value,
    pairs,
    signed,
    spread,
    value_text,
)


@pytest.mark.parametrize(
    ("value", "text"), [(1.25, "+1.2"), (-0.96, "−1.0"), (-0.04, "±0.0"), (math.nan, "–")]
)
def test_differences_carry_their_sign(value, text):
    assert signed(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0004, "< 0.001"), (0.0316, "0.032"), (1.0, "1.000"), (math.nan, "–")]
)
def test_p_values(value, text):
    assert p_value(value) == text


def test_numbers_have_a_true_minus_and_no_minus_zero():
    assert number(-0.25, 2) == "−0.25"
    assert number(-0.04) == "0.0"
    assert spread(-0.5, 0.1, 2) == "−0.50 ± 0.10"


def test_what_is_not_there_is_a_dash():
    assert number(math.nan) == number(None) == "–"
    assert spread(84.44, math.nan) == "84.4"
    assert spread(84.44, 0.52) == "84.4 ± 0.5"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1234.5, "1,234 s"),
        (12.34, "12.3 s"),
        (0.44, "0.44 s"),
        (0.031, "0.031 s"),
        (0.0001, "< 0.001 s"),
        (math.nan, "–"),
    ],
)
def test_times_are_never_nothing(seconds, text):
    assert duration(seconds) == text


def test_words():
    assert count(1, "seed") == "1 seed"
    assert count(3, "class", "classes") == "3 classes"
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert pairs({"K": 3, "rate": 0.5}) == "K 3, rate 0.5"


def test_values_are_written_as_files_and_flags_write_them():
    assert [value_text(value) for value in (True, None, 0.5, "Mean")] == [
        "true",
        "none",
        "0.5",
        "Mean",
    ]
