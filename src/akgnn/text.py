"""Text as people see it: numbers with their sign, counts, and names that cannot do harm."""

import math
import re
from html import escape

CONTROL = (
    r"\x00-\x1f\x7f-\x9f"  # control characters: category Cc
    r"\u2028\u2029"  # line and paragraph separators, which end a line
    r"\u202a-\u202e\u2066-\u2069"  # bidirectional overrides, which reorder what follows
    r"\ufffe\uffff"  # no characters, which XML has no way to write
)
"""Characters, in a class of a regular expression, that no name may hold.

All others are text in some language, such as the zero-width non-joiner of Persian, the joiner of an
emoji, or a space of another width.
"""
# Halves of a character, which UTF-8 has no way to write.
_UNPRINTABLE = re.compile(rf"[{CONTROL}\ud800-\udfff]")


def signed(value: float | None, digits: int = 1) -> str:
    """A number with its sign, a true minus."""
    if value is None or not math.isfinite(value):
        return "–"
    rounded = round(value, digits) + 0.0
    sign = "−" if rounded < 0 else "+" if rounded > 0 else "±"
    return f"{sign}{abs(rounded):.{digits}f}"


def count(value: int, one: str, many: str = "") -> str:
    """A number of things: 1 seed, 3 seeds."""
    return f"{value} {one if value == 1 else many or one + 's'}"


def printable(text: object) -> str:
    """A text in which characters that could move the cursor or reorder a line are escaped."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))


def is_printable(text: str) -> bool:
    """Whether a text can be shown anywhere, and written to any file, as it is."""
    return _UNPRINTABLE.search(text) is None


def in_one_line(text: object) -> str:
    """A text with a space for every run of spaces and of characters that cannot be printed."""
    return " ".join(_UNPRINTABLE.sub(" ", str(text)).split())


def escaped(text: object) -> str:
    """A text as it may stand in HTML or XML, as content or as the value of an attribute.

    What users call things may hold tags, and characters that XML has no way to write.
    """
    return escape(printable(text))
