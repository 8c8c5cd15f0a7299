"""Text as people see it: numbers with their sign, counts, and names that cannot do harm."""

import math
from html import escape


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
    """A text in which characters that would move the cursor or colour a terminal are escaped."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in str(text)
    )


def escaped(text: object) -> str:
    """A text as it may stand in HTML or XML, as content or as the value of an attribute.

    What users call things may hold tags, and characters that XML has no way to write.
    """
    return escape(printable(text))
