import math

import pytest

from akgnn.text import count, escaped, printable, signed


@pytest.mark.parametrize(
    ("value", "text"), [(1.25, "+1.2"), (-0.96, "−1.0"), (-0.04, "±0.0"), (math.nan, "–")]
)
def test_differences_carry_their_sign(value, text):
    assert signed(value) == text


def test_things_are_counted():
    assert count(1, "seed") == "1 seed"
    assert count(3, "class", "classes") == "3 classes"


def test_what_would_move_a_cursor_is_escaped():
    assert printable("\x1b[31m a\nb \u202e λ") == r"\x1b[31m a\nb \u202e λ"


def test_markup_is_shown_and_not_read():
    assert escaped('<b a="1">&\x00\ud800') == r"&lt;b a=&quot;1&quot;&gt;&amp;\x00\ud800"
