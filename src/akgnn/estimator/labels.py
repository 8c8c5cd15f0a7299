"""Labels as people write them: of any kind, and missing where they are not known."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from akgnn.data.class_count import check_class_count
from akgnn.errors import DataError
from akgnn.estimator.arguments import plain
from akgnn.similar_names import warn_of_look_alikes
from akgnn.text import is_printable

UNKNOWN = -1
"""The code of a label that is not known, and how people mark one in integers."""

_EXPECTED = "expected integers, text or true and false, with None, NaN or -1 where unknown"


def label_array(y: Any) -> Any:
    """A list with its values as they are: NumPy would make text of a number or NaN beside text."""
    return np.array(y, dtype=object) if isinstance(y, list | tuple) else y


def encode_labels(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The classes in ascending order, and the class of every row, `UNKNOWN` where it has none.

    None and NaN mark a row without a label, and so does -1, unless -1 and 1 are all there is: these
    two are the usual names of two classes, and one class alone would leave nothing to learn.
    """
    present = plain_labels(y[~_is_missing(y)])
    _check_kind(present)
    is_class = present.dtype.kind in "if" and set(present.tolist()) == {-1, 1}
    is_known = has_label(y, minus_one_is_class=is_class)
    if not is_known.any():
        raise DataError(f"No row of y has a label, so there is nothing to learn; {_EXPECTED}.")
    classes, inverse = np.unique(plain_labels(y[is_known]), return_inverse=True)
    if classes.dtype.kind in "UT":
        warn_of_look_alikes("y: labels", classes.tolist())
    check_class_count("y", classes.tolist(), len(y), "Pass the classes as y, or groups of them.")
    codes = np.full(len(y), UNKNOWN, dtype=np.int64)
    codes[is_known] = inverse
    return classes, codes


def has_label(y: NDArray[Any], *, minus_one_is_class: bool) -> NDArray[np.bool_]:
    """Whether each row has a label."""
    is_known = ~_is_missing(y)
    present = plain_labels(y[is_known])
    if present.dtype.kind in "if" and not minus_one_is_class:
        is_known[is_known] = present != UNKNOWN
    return is_known


def _is_missing(y: NDArray[Any]) -> NDArray[np.bool_]:
    if y.dtype.kind == "f":
        return np.asarray(np.isnan(y))
    if y.dtype.kind == "O":
        return np.array([_is_nothing(value) for value in y.tolist()], dtype=np.bool_)
    return np.zeros(len(y), dtype=np.bool_)


def _is_nothing(value: Any) -> bool:
    # pandas' NA equals nothing and is not true or false either; it is told by its name.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def plain_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Labels out of a column of mixed objects as an array of one kind, where they are of one."""
    if y.dtype.kind != "O":
        return y
    values = [plain(value) for value in y.tolist()]
    kinds = {type(value) for value in values}
    if len(kinds) > 1 and kinds != {int, float}:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise DataError(f"Labels must be of one kind, got {names} in y.")
    return np.array(values)


def _check_kind(known: NDArray[Any]) -> None:
    if known.dtype.kind not in "biufUT":
        raise DataError(f"Unknown label type: y holds {known.dtype}; {_EXPECTED}.")
    if known.dtype.kind == "f" and len(known):
        if not np.isfinite(known).all():
            raise DataError(f"Labels must not be infinite, got {known.max()} in y.")
        fractions = known[known != np.floor(known)]
        if len(fractions):
            raise DataError(
                f"Unknown label type: continuous, y holds {fractions[0]}; {_EXPECTED}. "
                "A number to be predicted is a task for regression."
            )


def printable_name(label: object) -> str:
    """The name of a class for records, which hold no control characters."""
    text = str(label)
    return text if is_printable(text) else repr(text)[1:-1]
