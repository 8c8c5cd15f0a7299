import math

import pytest

from akgnn.report.values import number, p_value, pairs, spread, value_text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0004, "< 0.001"), (0.0316, "0.032"), (1.0, "1.000"), (math.nan, "–")]
)
def test_p_values(value, text):
    assert p_value(value) == text


def test_numbers_have_a_true_minus_and_no_minus_zero():
    assert number(-0.25, 2) == "−0.25"
    assert number(-0.04) == "0.0"


def test_what_is_not_there_is_a_dash():
    assert number(math.nan) == number(None) == "–"
    assert spread(84.44, math.nan) == "84.4"
    assert spread(84.44, 0.52) == "84.4 ± 0.5"


def test_named_values_are_one_line():
    assert pairs({"K": 3, "rate": 0.5}) == "K 3, rate 0.5"


def test_values_are_written_as_files_and_flags_write_them():
    assert [value_text(value) for value in (True, None, 0.5, "Mean")] == [
        "true",
        "none",
        "0.5",
        "Mean",
    ]
