"""What JSON can hold."""

import math
from typing import Any


def without_nan(content: Any) -> Any:
    """The same lists and dictionaries with null for NaN and infinity, which JSON lacks."""
    if isinstance(content, dict):
        return {name: without_nan(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [without_nan(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
