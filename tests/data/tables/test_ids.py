import pyarrow as pa
import pytest

from akgnn.data.tables.ids import checked_ids, in_one, output_ids, positions
from akgnn.data.tables.table import Table, row_number

HUGE = 2**63 + 1
HUGE_AND_1 = pa.array([HUGE, 1], pa.uint64())


def ids(values):
    return checked_ids(Table("n", pa.table({"id": values}), row_number), "id")


@pytest.mark.parametrize(
    ("nodes", "wanted", "found"),
    [
        (["a", "b"], ["b", "x", "a"], [1, -1, 0]),
        ([5, 3], [3, 5, 7], [1, 0, -1]),
        (pa.array([5, 3], pa.int8()), pa.array([3, 5], pa.uint32()), [1, 0]),
        ([5, 3], ["3", "5", "05"], [1, 0, -1]),
        (["3", "05"], [3, 5], [0, -1]),
        ([5.0, 3.0], [3], [1]),
        (HUGE_AND_1, HUGE_AND_1[::-1], [1, 0]),
        (HUGE_AND_1, [1], [1]),
        (HUGE_AND_1, [str(HUGE)], [0]),
        (pa.array(["a", "b"]).dictionary_encode(), pa.array(["b"], pa.string_view()), [1]),
    ],
)
def test_ids_are_found_by_value(nodes, wanted, found):
    assert positions(ids(wanted), ids(nodes)).tolist() == found


def test_ids_come_out_in_their_own_type():
    for values in (pa.array([HUGE], pa.uint64()), pa.array([1], pa.int8()), pa.array(["a"])):
        table = Table("n", pa.table({"id": values}), row_number)
        assert output_ids(table, "id").type == values.type


def test_numbers_after_text_are_text():
    assert in_one(ids(["a"]), ids([1])).to_pylist() == ["a", "1"]
