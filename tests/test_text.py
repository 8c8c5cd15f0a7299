import math

import pytest

from akgnn.text import count, escaped, in_one_line, is_printable, printable, signed


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


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم",
        "👩\u200d💻",
        "a\u00a0b",
        "東京\u3000都",
        "naïve",
        "\u200f",
        "\ufeff",
        "\u00ad",
        "\ue000",
    ],
)
def test_text_of_every_language_can_be_printed(text):
    assert is_printable(text)
    assert printable(text) == text


@pytest.mark.parametrize("code", [0, 0x1B, 0x7F, 0x85, 0x2028, 0x202E, 0x2066, 0xD800, 0xFFFE])
def test_what_steers_a_terminal_or_cannot_be_written_is_escaped(code):
    text = f"a{chr(code)}b"
    assert not is_printable(text)
    assert printable(text).isascii()
    assert in_one_line(text) == "a b"
