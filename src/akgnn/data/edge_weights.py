"""Which numbers can be weights of edges, in tables and arrays."""

from typing import Any

from numpy.typing import NDArray

_LEAST, _MOST = 1e-30, 1e30
WEIGHTS = f"it must be 0, or a number from {_LEAST:g} to {_MOST:g}"
"""What weights must be, for a message: their sums and quotients must be numbers of float32 too."""


def wrong_weight(values: NDArray[Any]) -> int | None:
    """The first position that holds no weight; None where all do."""
    is_wrong = ~((values == 0) | ((values >= _LEAST) & (values <= _MOST)))
    return int(is_wrong.argmax()) if is_wrong.any() else None
