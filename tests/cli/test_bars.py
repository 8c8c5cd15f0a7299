import pytest

from akgnn.cli.bars import HALF, HEADING, bar


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.0, "       │███████"),
        (-1.0, "███████│"),
        (0.5, "       │███▌"),
        (-0.5, "   ▐███│"),
        (0.0, "       │"),
        (-0.001, "       │"),
        (9.0, "       │███████"),
    ],
)
def test_bars_go_both_ways(value, expected):
    assert bar(value, 1.0) == expected


def test_without_any_size_there_is_no_bar():
    assert bar(0.0, 0.0) == " " * HALF + "│"


def test_the_heading_stands_on_both_sides_of_the_middle():
    assert HEADING == "against for"
    assert HEADING.index("for") == HALF + 1
