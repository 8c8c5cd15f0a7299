import pyarrow as pa
import pytest

from akgnn.data.tables.labels import encode_labels
from akgnn.data.tables.table import Table, row_number


@pytest.mark.parametrize(
    ("values", "y", "names"),
    [
        (["b", "a", "", None, "b"], [1, 0, -1, -1, 1], ("a", "b")),
        (["10", "9", "9"], [1, 0, 0], ("9", "10")),
        (["10", "9", "x"], [0, 1, 2], ("10", "9", "x")),
        (["01", "1", "2"], [0, 1, 2], ("01", "1", "2")),
        ([10, 9, None], [1, 0, -1], ("9", "10")),
        ([2.0, 1.0, float("nan")], [1, 0, -1], ("1", "2")),
        ([True, False, None], [1, 0, -1], ("false", "true")),
        (["Ä", "Z", "é"], [1, 0, 2], ("Z", "Ä", "é")),
        (pa.array(["u", "v", None]).dictionary_encode(), [0, 1, -1], ("u", "v")),
    ],
)
def test_labels_become_classes_in_the_order_of_their_names(values, y, names):
    table = Table("n.csv", pa.table({"label": values}), row_number)
    assert encode_labels(table, "label")[0].tolist() == y
    assert encode_labels(table, "label")[1] == names


def test_many_numbers_that_repeat_are_classes():
    table = Table("n.csv", pa.table({"label": list(range(150)) * 3}), row_number)
    assert len(encode_labels(table, "label")[1]) == 150
