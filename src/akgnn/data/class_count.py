"""How many classes can be learned, and when a column of labels is one of ids."""

from collections.abc import Sequence

from akgnn.errors import DataError

MOST_CLASSES = 10_000
"""Beyond this the scores of all nodes fill the memory."""
MANY_CLASSES = 100
"""More different labels than this, in rows of less than two each, are no classes."""


def is_nearly_unique(labels: int, rows: int) -> bool:
    """Whether so many labels are many, and more than half as many as there are rows."""
    return labels > MANY_CLASSES and 2 * labels > rows


def check_class_count(where: str, labels: Sequence[object], rows: int, advice: str) -> None:
    """Refuse labels that are too many to be classes.

    Args:
        where: What holds them, for the message.
        labels: The different labels.
        rows: How many rows there are, those without a label too: one label for each of many
            classes may be all that is known.
        advice: What to do.
    """
    number = len(labels)
    told = f"{where}: {number} different labels in {rows} rows"
    examples = ", ".join(repr(label)[:60] for label in labels[:3])
    if is_nearly_unique(number, rows):
        raise DataError(
            f"{told}, such as {examples}, are ids rather than classes: most rows have one of "
            f"their own. {advice}"
        )
    if number > MOST_CLASSES:
        raise DataError(
            f"{told}, such as {examples}, but at most {MOST_CLASSES} classes can be learned. "
            f"{advice}"
        )
