import math

import pytest

from akgnn.cli.plot import evenly, line_plot, spark_line


def dots(line):
    """How many dots each letter of a drawing has."""
    return [bin(ord(letter) - 0x2800).count("1") for letter in line if ord(letter) >= 0x2800]


def drawn(series, width=40, height=4, digits=1):
    return [line.plain for line in line_plot(series, width, height, digits)]


def test_a_falling_line_goes_from_the_top_left_to_the_bottom_right():
    top, *between, bottom = drawn({"loss": [2.0, 1.0]})
    assert top.startswith("2.0 ┤")
    assert bottom.startswith("1.0 ┤")
    assert bottom.endswith(" loss 1.0")
    assert ord(top[5]) > 0x2800
    assert ord(bottom[5]) == ord(" ")
    assert len(between) == 2


@pytest.mark.parametrize("values", [[1.0], [1.0, 1.0], [0.0, 5.0, -5.0], list(range(1000))])
@pytest.mark.parametrize("width", [30, 60, 120])
def test_every_column_is_drawn_and_the_room_is_kept(values, width):
    lines = drawn({"loss": values, "other": values[::-1]}, width, 5)
    assert len(lines) == 5
    assert max(map(len, lines)) <= width
    start = len(lines[0].partition("┤")[0]) + 1
    end = max(map(len, lines)) - len(f" other {values[0]:.1f}".replace("-", "−"))
    for column in range(start, end - 1):
        assert any(ord(line[column : column + 1] or " ") > 0x2800 for line in lines)


def test_a_steep_line_has_no_holes():
    lines = drawn({"loss": [0.0] * 50 + [1.0] * 50}, height=6)
    column = [line[5:].find(next((c for c in line[5:] if ord(c) > 0x2800), "?")) for line in lines]
    assert all(place >= 0 for place in column)
    assert sum(map(sum, map(dots, lines))) >= 4 * 6


def test_both_lines_are_named_even_where_they_end_together():
    text = "\n".join(drawn({"validation": [1.0, 0.5], "training": [1.0, 0.5]}))
    assert "validation 0.5" in text
    assert "training 0.5" in text


def test_what_is_no_number_leaves_a_gap():
    lines = drawn({"loss": [1.0, math.nan, 2.0]})
    assert any(dots(line) for line in lines)
    assert not any(map(dots, drawn({"loss": [math.nan]})))


def test_a_spark_goes_from_the_least_to_the_greatest():
    assert spark_line([0.0, 0.5, 1.0], 10) == "▁▅█"
    assert spark_line([3.0, 3.0], 10) == "▁▁"
    assert len(spark_line(list(range(100)), 10)) == 10
    assert spark_line([1.0, math.inf], 10) == ""


def test_numbers_are_spread_evenly():
    assert evenly(3, 5) == [0, 1, 2]
    assert evenly(101, 5) == [0, 25, 50, 75, 100]
