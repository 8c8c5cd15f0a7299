import numpy as np
import pandas as pd
import pytest
import torch

from akgnn.data import neighbours
from akgnn.data.tables import nearest
from akgnn.data.tables.load import load_tables
from akgnn.data.tables.nearest import TrainingRows, read_near
from akgnn.errors import DataError


@pytest.fixture
def frame():
    """Rows along a line, in two halves."""
    return pd.DataFrame(
        {
            "name": [f"n{row}" for row in range(40)],
            "size": np.arange(40.0) ** 1.5,
            "kind": ["x"] * 20 + ["y"] * 20,
        }
    )


def load(frame, **arguments):
    return load_tables(frame, label="kind", **arguments)


def test_each_row_takes_in_from_its_nearest(frame):
    data = load(frame, prepare="plain", neighbours=2, direction="kept")
    source, target = data.graph.edge_index
    assert data.graph.num_edges == 80
    assert sorted(source[target == 20].tolist()) == [19, 21]
    assert data.source["links"] == "each row is linked to its 2 nearest rows by their columns"
    assert (data.tables.edges, data.tables.neighbours) == ((), 2)
    assert load(frame, neighbours=2).graph.is_symmetric


def test_the_record_does_not_depend_on_who_is_near(frame):
    one, other = load(frame, neighbours=2), load(frame, neighbours=3)
    assert one.source["nodes_sha256"] == other.source["nodes_sha256"]
    assert one.graph.num_edges != other.graph.num_edges


@pytest.mark.parametrize(
    ("columns", "ids"),
    [
        ({}, "name"),
        ({"Id": range(3, 43)}, "Id"),
        ({"name": range(7, 47)}, ""),
        ({"name": [f"n{row // 2}" for row in range(40)]}, ""),
        ({"name": np.arange(40) * 10}, ""),
        ({"name": np.arange(40) / 7}, ""),
    ],
    ids=["texts", "id", "few numbers in a row", "repeated", "numbers", "decimals"],
)
def test_ids_are_those_that_name_rows_or_numbers(frame, columns, ids):
    data = load(frame.assign(**columns))
    assert data.tables.id == ids
    expected = list(range(40)) if ids == "" else frame.assign(**columns)[ids].tolist()
    assert data.ids.to_pylist() == expected


def test_a_name_for_numbers_of_rows_is_free(frame):
    frame["name"] = np.arange(40) // 2
    data = load(frame.assign(row=np.arange(40) // 4))
    assert data.ids.to_pylist() == list(range(40))
    assert {"name", "row"} <= set(data.recipe.column_names)
    assert load(frame, id="").ids.to_pylist() == list(range(40))
    with pytest.raises(DataError, match="no column 'nme' for `id`"):
        load(frame, id="nme")


def test_the_column_of_classes_is_no_id():
    frame = pd.DataFrame({"label": ["a", "b"] * 10, "size": np.arange(20.0) ** 2})
    assert load_tables(frame).tables.id == ""


def test_new_rows_stand_below_those_of_training(frame):
    data = load(frame, prepare="plain", neighbours=2)
    training = TrainingRows(data.x, data.ids)
    new = pd.DataFrame({"size": [0.4, float(data.x[5, 0])], "name": ["a", "n3"]})
    asked = {"nodes": new, "direction": "kept"}
    found = read_near(data.tables, data.recipe, training, **asked)
    assert (found.ids.to_pylist(), found.rows.tolist()) == (["a", "n3"], [40, 41])
    source, target = found.graph.edge_index
    assert sorted(source[target == 40].tolist()) == [0, 1]
    # The twin of a row has its neighbours.
    assert sorted(source[target == 41].tolist()) == [4, 6]
    assert source.max() < 40
    assert found.num_alone == 0
    assert found.graph_ids.to_pylist() == [*frame["name"], "a", "n3"]
    # Rows that a folder kept have no ids.
    kept = read_near(data.tables, data.recipe, TrainingRows(data.x), **asked)
    assert torch.equal(kept.x, found.x)
    assert kept.graph_ids.to_pylist() == [None] * 40 + ["a", "n3"]
    both = read_near(data.tables, data.recipe, training, nodes=new, direction="symmetrised")
    assert both.graph.is_symmetric


def test_without_columns_nothing_is_near(frame):
    with pytest.raises(DataError, match="no column by which rows could be near; name a table of"):
        load(frame[["name", "kind"]])
    with pytest.raises(DataError, match="could be near; `size` left out: one value throughout;"):
        load(frame.assign(size=1))


def test_so_many_rows_are_too_many(frame, monkeypatch):
    monkeypatch.setattr(nearest, "MOST_ROWS", 39)
    with pytest.raises(DataError, match=r"40 rows are too many .* \(at most 39\); name a table"):
        load(frame)
    assert neighbours.MOST_ROWS == 200_000
