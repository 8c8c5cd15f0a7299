"""Numbers and words as the page shows them."""

import math
from collections.abc import Mapping, Sequence

from akgnn.text import count as count
from akgnn.text import signed as signed


def number(value: float | None, digits: int = 1) -> str:
    """A number with a true minus, or a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    # Adding 0 turns -0 into 0.
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def duration(seconds: float | None) -> str:
    """A time in seconds with two digits at least, so that what is quick is not nothing."""
    if seconds is None or not math.isfinite(seconds):
        return "–"
    if seconds < 0.001:
        return "< 0.001 s"
    digits = 0 if seconds >= 100 else 1 if seconds >= 1 else 2 if seconds >= 0.1 else 3
    return f"{seconds:,.{digits}f} s"


def listed(parts: Sequence[str]) -> str:
    """Words one after the other: a, b and c."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def p_value(value: float) -> str:
    """A p value; small ones by their bound, since the digits would say nothing."""
    if math.isnan(value):
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def spread(mean: float, std: float | None, digits: int = 1) -> str:
    """A mean with its deviation, where there is one."""
    text = number(mean, digits)
    return text if std is None or not math.isfinite(std) else f"{text} ± {std:.{digits}f}"


def value_text(value: object) -> str:
    """The value of a setting, as files and flags write it."""
    return str(value).lower() if isinstance(value, bool | None) else str(value)


def pairs(values: Mapping[str, object]) -> str:
    """Named values in one line."""
    return ", ".join(f"{name} {value}" for name, value in values.items())
