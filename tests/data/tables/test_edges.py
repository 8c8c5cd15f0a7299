import pyarrow as pa
import pytest

from akgnn.data.tables.edges import find_ends, read_edges, read_graph
from akgnn.data.tables.nodes import checked_ids
from akgnn.data.tables.settings import TableSettings
from akgnn.data.tables.table import Table, in_memory
from akgnn.errors import DataError

IDS = checked_ids(Table("n", pa.table({"id": list("abcd")})), "id")


def edges(*rows):
    source, target, weight = zip(*rows, strict=True)
    return in_memory("e.csv", pa.table({"source": source, "target": target, "w": weight}))


def graph_of(opened, direction="symmetrised", **settings):
    return read_graph(opened, TableSettings(**settings), "n.csv", IDS, direction)


ROWS = ("a", "b", 1.0), ("b", "a", 3.0), ("c", "d", 2.0), ("c", "d", 0.5), ("d", "d", 9.0)


def test_an_edge_counts_once_in_both_directions():
    graph, notes = graph_of(edges(*ROWS))
    assert graph.edge_index.T.tolist() == [[1, 0], [0, 1], [3, 2], [2, 3]]
    assert graph.edge_weight is None
    assert notes == {}


def test_weights_of_an_edge_add_up_and_the_larger_direction_counts():
    graph, _ = graph_of(edges(*ROWS), weight="w")
    assert graph.edge_weight.tolist() == [3, 3, 2.5, 2.5]


def test_directions_are_kept_on_request_and_noted():
    graph, notes = graph_of(edges(*ROWS), "kept", weight="w")
    assert graph.edge_index.T.tolist() == [[1, 0], [0, 1], [2, 3]]
    assert graph.edge_weight.tolist() == [3, 1, 2.5]
    assert notes == {"direction": "kept"}
    assert graph_of(edges(*ROWS[:2]), "kept")[1] == {}


def test_edges_to_unknown_ids_are_dropped_on_request_and_counted():
    opened = edges(("a", "b", 1), ("x", "a", 1), ("y", "x", 1))
    with pytest.raises(DataError, match=r"first at row 1 .*: 2 edges mention 2 ids .* 'x', 'y'; "):
        graph_of(opened)
    graph, notes = graph_of(opened, unknown_ids="drop")
    assert graph.num_edges == 2
    assert notes == {"dropped": "2 edges to unknown ids"}


def test_unknown_ends_have_the_position_minus_1():
    ends = find_ends(read_edges(edges(("a", "x", 1), ("d", "b", 1)), TableSettings()), IDS)
    assert ends.index.tolist() == [[0, 3], [-1, 1]]
    assert ends.is_known.tolist() == [False, True]
    assert ends.where(ends.is_known).index.tolist() == [[3], [1]]


@pytest.mark.parametrize("direction", ["symmetrised", "kept"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_neither_the_order_of_edges_nor_of_columns_matters(direction, weight):
    one, notes = graph_of(edges(*ROWS), direction, weight=weight)
    turned = edges(*ROWS[::-1]).read(["source", "target", "w"]).content
    turned = in_memory("e.csv", turned.select(["w", "target", "source"]))
    other, other_notes = graph_of(turned, direction, weight=weight)
    assert one.edge_index.tolist() == other.edge_index.tolist()
    assert notes == other_notes
    if weight is not None:
        assert one.edge_weight.tolist() == other.edge_weight.tolist()


def test_columns_of_numbers_are_no_weights_unless_asked():
    for name in ("w", "weight", "calls"):
        content = edges(*ROWS).read(["source", "target", "w"]).content
        opened = in_memory("e.csv", content.rename_columns(["source", "target", name]))
        assert graph_of(opened)[0].edge_weight is None
        assert graph_of(opened, weight=name)[0].edge_weight is not None
