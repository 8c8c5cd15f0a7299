import pytest

from akgnn.data.class_count import check_class_count
from akgnn.errors import DataError


@pytest.mark.parametrize(
    ("number", "rows"), [(2, 2), (100, 100), (101, 202), (349, 10_000), (10_000, 20_000)]
)
def test_classes_are_allowed(number, rows):
    check_class_count("y", range(number), rows, "")


@pytest.mark.parametrize(
    ("number", "rows", "words"),
    [
        (101, 101, "are ids rather than classes: most rows have one of their own. Do that."),
        (101, 201, "101 different labels in 201 rows, such as 0, 1, 2, are ids"),
        (10_001, 10**6, "but at most 10000 classes can be learned. Do that."),
    ],
)
def test_too_many_labels_are_refused(number, rows, words):
    with pytest.raises(DataError, match=words):
        check_class_count("y", range(number), rows, "Do that.")
