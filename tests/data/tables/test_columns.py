import pyarrow as pa
import pytest

from akgnn.data.tables.columns import (
    end_columns,
    feature_columns,
    id_column,
    label_column,
)
from akgnn.data.tables.table import in_memory
from akgnn.errors import DataError


def table(*names):
    return in_memory("t.csv", pa.table({name: [1] for name in names}))


def test_ids_are_in_the_column_of_that_name_or_the_first():
    assert id_column(table("name", "Id"), None) == "Id"
    assert id_column(table("name", "key"), None) == "name"
    assert id_column(table("name", "id"), "name") == "name"


def test_labels_are_in_the_column_of_that_name_only():
    assert label_column(table("id", "LABEL"), None) == "LABEL"
    names = [f"c{k}" for k in range(15)]
    with pytest.raises(DataError, match=r"with `label`\. The columns are c0, .*, c11 and 3 more\."):
        label_column(table(*names), None)


@pytest.mark.parametrize(
    ("names", "given", "ends"),
    [
        (("target", "source"), (None, None), ("source", "target")),
        (("dst", "w", "src"), (None, None), ("src", "dst")),
        (("To", "From"), (None, None), ("From", "To")),
        (("a", "b", "c"), (None, None), ("a", "b")),
        (("a", "b", "target"), (None, None), ("a", "target")),
        (("target", "b", "c"), (None, None), ("b", "target")),
        (("a", "b", "c"), ("b", None), ("b", "a")),
        (("a", "b", "c"), (None, "a"), ("b", "a")),
        (("source", "target", "c"), ("c", "source"), ("c", "source")),
    ],
)
def test_the_ends_of_an_edge_go_by_name_then_by_order(names, given, ends):
    assert end_columns(table(*names), *given) == ends


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        ("*", ["age", "w_1", "w_2"]),
        ("w_*", ["w_1", "w_2"]),
        ("!w_*", ["age"]),
        ("w_2, age", ["age", "w_2"]),
        ("*,!age", ["w_1", "w_2"]),
        ("w_[1]", ["w_1"]),
        ("", []),
        ("!*", []),
    ],
)
def test_features_are_chosen_by_name_and_pattern(patterns, names):
    nodes = table("id", "age", "label", "w_1", "w_2")
    assert feature_columns(nodes, patterns, {"id": "ids", "label": "labels"}) == names
