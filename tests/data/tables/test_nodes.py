import pyarrow as pa
import pytest

from akgnn.data.tables.nodes import (
    IdFinder,
    checked_ids,
    encode_labels,
    joined_ids,
    output_ids,
    positions,
)
from akgnn.data.tables.table import Table
from akgnn.errors import DataError

HUGE = 2**63 + 1
HUGE_AND_1 = pa.array([HUGE, 1], pa.uint64())


def ids(values):
    return checked_ids(Table("n", pa.table({"id": values})), "id")


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
        table = Table("n", pa.table({"id": values}))
        assert output_ids(table, "id").type == values.type


def test_numbers_after_text_are_text():
    assert joined_ids(ids(["a"]), ids([1])).to_pylist() == ["a", "1"]


@pytest.mark.parametrize(
    ("values", "y", "names"),
    [
        (["b", "a", "", None, "b"], [1, 0, -1, -1, 1], ("a", "b")),
        (["10", "9", "9"], [1, 0, 0], ("9", "10")),
        (["10", "9", "x"], [0, 1, 2], ("10", "9", "x")),
        (["v01", "v1", "2"], [1, 2, 0], ("2", "v01", "v1")),
        ([10, 9, None], [1, 0, -1], ("9", "10")),
        ([2.0, 1.0, float("nan")], [1, 0, -1], ("1", "2")),
        ([True, False, None], [1, 0, -1], ("false", "true")),
        (["Ä", "Z", "é"], [1, 0, 2], ("Z", "Ä", "é")),
        (pa.array(["u", "v", None]).dictionary_encode(), [0, 1, -1], ("u", "v")),
    ],
)
def test_labels_become_classes_in_the_order_of_their_names(values, y, names):
    table = Table("n.csv", pa.table({"label": values}))
    assert encode_labels(table, "label")[0].tolist() == y
    assert encode_labels(table, "label")[1] == names


def test_many_numbers_that_repeat_are_classes():
    table = Table("n.csv", pa.table({"label": list(range(150)) * 3}))
    assert len(encode_labels(table, "label")[1]) == 150


def test_more_classes_than_can_be_learned_are_refused():
    labels = [f"c{number}" for number in range(10_001)] * 2
    table = Table("n.csv", pa.table({"label": labels}))
    with pytest.raises(DataError, match=r"10001 different labels .* at most 10000 classes can be"):
        encode_labels(table, "label")


def test_one_known_label_for_each_of_many_classes_is_enough():
    labels = [f"c{number}" for number in range(150)] + [None] * 150
    table = Table("n.csv", pa.table({"label": labels}))
    assert len(encode_labels(table, "label")[1]) == 150


@pytest.mark.parametrize(
    ("wanted", "known"),
    [
        ([3, 1, 9], [1, 2, 3]),
        (["3", "1", "9"], ["1", "2", "3"]),
        (["03", "1", "+2"], ["1", "2", "3"]),
        (["1", "2"], ["01", "2"]),
        ([1, 2], ["01", "2"]),
        (["01", "2"], [1, 2]),
        (["b", "1"], ["a", "b"]),
        ([-5, 2**62], [2**62, -5]),
        ([], [1]),
    ],
)
def test_a_finder_finds_what_positions_finds(wanted, known):
    def ids(values, like):
        kind = pa.large_string() if isinstance(like[0], str) else pa.int64()
        return pa.chunked_array([pa.array(values, kind)])

    wanted, known = ids(wanted, wanted or known), ids(known, known)
    found = IdFinder(known).positions(wanted)
    assert found.tolist() == positions(wanted, known).tolist()
