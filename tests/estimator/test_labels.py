import numpy as np
import pytest

from akgnn.errors import DataError
from akgnn.estimator.labels import encode_labels, has_label, label_array, printable_name


@pytest.mark.parametrize(
    ("y", "classes", "codes"),
    [
        (np.array([2, -1, 0, 2]), [0, 2], [1, -1, 0, 1]),
        (np.array([2.0, np.nan, 0.0, -1.0]), [0.0, 2.0], [1, -1, 0, -1]),
        (np.array(["b", "a", "b"]), ["a", "b"], [1, 0, 1]),
        (np.array(["b", None, "-1"], dtype=object), ["-1", "b"], [1, -1, 0]),
        (np.array([True, None, False], dtype=object), [False, True], [1, -1, 0]),
        (np.array([1, None, -1, 0], dtype=object), [0, 1], [1, -1, -1, 0]),
        (np.array([1, -1]), [-1, 1], [1, 0]),
        (np.array([1, None, -1], dtype=object), [-1, 1], [1, -1, 0]),
        (np.array([0, -1]), [0], [0, -1]),
        (np.array([np.int32(3), 0, None], dtype=object), [0, 3], [1, 0, -1]),
        (np.array([3, 0], dtype=np.uint8), [0, 3], [1, 0]),
    ],
)
def test_labels_become_codes(y, classes, codes):
    found, coded = encode_labels(y)
    assert found.tolist() == classes
    assert coded.tolist() == codes


def test_classes_of_objects_have_a_kind():
    assert encode_labels(np.array([1, None, 0], dtype=object))[0].dtype == np.int64
    assert encode_labels(np.array(["a", None], dtype=object))[0].dtype.kind == "U"


def test_the_labelled_rows_are_found():
    y = np.array([1, -1, 0])
    assert has_label(y, minus_one_is_class=False).tolist() == [True, False, True]
    assert has_label(y, minus_one_is_class=True).tolist() == [True, True, True]


def test_a_list_keeps_its_kinds():
    assert label_array(["a", 1]).tolist() == ["a", 1]
    assert label_array(np.array([1])).dtype == np.int64


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([np.nan, -1]), "No row of y has a label"),
        (np.array([0.5, 1]), r"continuous, y holds 0\.5.*regression"),
        (np.array([np.inf, 1]), "must not be infinite, got inf"),
        (np.array([True, 2], dtype=object), "of one kind, got bool, int"),
        (np.arange(20_000), "y: 20000 different labels in 20000 rows, such as 0, 1, 2, are ids"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "Unknown label type: y holds datetime64"),
    ],
)
def test_what_is_no_label_is_refused(y, message):
    with pytest.raises(DataError, match=message):
        encode_labels(y)


@pytest.mark.parametrize(
    ("label", "name"), [(3, "3"), (True, "True"), ("ü x", "ü x"), ("a\n\x1b[31m", "a\\n\\x1b[31m")]
)
def test_classes_have_names_that_can_be_printed(label, name):
    assert printable_name(label) == name
    assert printable_name(label).isprintable()
