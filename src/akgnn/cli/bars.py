"""Bars that go both ways from a middle, in letters."""

HALF = 7
"""Columns on each side of the middle."""
HEADING = f"{'against':>{HALF}} for"
"""What stands above such bars."""


def bar(value: float, largest: float) -> str:
    """A bar to the right of a middle for a number above 0, to the left for one below.

    Args:
        value: The number.
        largest: The size of the number whose bar is the longest.
    """
    halves = round(2 * HALF * min(abs(value) / largest, 1.0)) if largest > 0 else 0
    full, half = divmod(halves, 2)
    if value < 0:
        return ("▐" * half + "█" * full).rjust(HALF) + "│"
    return " " * HALF + "│" + "█" * full + "▌" * half
