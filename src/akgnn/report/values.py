"""Numbers and words as the page shows them."""

import math
from collections.abc import Mapping

from akgnn.text import count as count
from akgnn.text import signed as signed


def number(value: float | None, digits: int = 1) -> str:
    """A number with a true minus, or a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    # Adding 0 turns -0 into 0.
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


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
