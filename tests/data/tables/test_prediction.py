import math

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

from akgnn.data.tables.load import load_tables
from akgnn.data.tables.prediction import read_for_prediction
from akgnn.data.tables.settings import TableSettings
from akgnn.errors import DataError


@pytest.fixture
def trained(nodes, edges):
    return load_tables(nodes, edges, standardise=True)


def predict(trained, new, links, known=True, **changes):
    settings = trained.tables.updated(changes)
    return read_for_prediction(
        settings,
        trained.recipe,
        nodes=new,
        edges=links,
        known=(settings.nodes, settings.edges) if known else None,
    )


def test_the_training_tables_give_the_training_data_back(trained):
    again = predict(trained, trained.tables.nodes, trained.tables.edges, known=False)
    assert torch.equal(again.x, trained.x)
    assert torch.equal(again.graph.edge_index, trained.graph.edge_index)
    assert again.ids.equals(trained.ids)
    assert again.rows.tolist() == list(range(12))


@pytest.mark.parametrize("features", ["raw", "row-normalised"])
def test_rows_are_divided_by_their_sum_as_in_training(nodes, edges, features):
    trained = load_tables(nodes, edges, prepare="plain", features=features)
    again = predict(trained, nodes, edges, known=False)
    assert torch.equal(again.x, trained.x)
    new = pa.table({"id": ["n"], "age": [3], "kind": ["y"]})
    joined = predict(trained, new, pa.table({"source": ["n"], "target": ["a"]}))
    row = torch.tensor([3.0, 0, 1])
    assert torch.allclose(joined.x[0], row / 4 if features == "row-normalised" else row)
    assert torch.equal(joined.x[1:], trained.x)


def test_the_training_tables_are_asked_for_only_where_an_edge_leads_there(trained, nodes, edges):
    asked = []

    def known():
        asked.append(True)
        return nodes, edges

    new = pa.table({"id": ["n", "m"], "age": [2, 3], "kind": ["y", "x"]})
    options = {"nodes": new, "known": known}
    links = pa.table({"source": ["n"], "target": ["m"]})
    found = read_for_prediction(trained.tables, trained.recipe, edges=links, **options)
    assert found.graph.num_nodes == 2
    assert not asked
    links = pa.table({"source": ["n"], "target": ["a"]})
    found = read_for_prediction(trained.tables, trained.recipe, edges=links, **options)
    assert found.graph.num_nodes == 14
    assert asked == [True]


def test_columns_may_stand_in_another_order_beside_others(trained):
    new = pl.DataFrame({"more": [0], "kind": ["y"], "label": [""], "id": ["n"], "age": [2]})
    found = predict(trained, new, None)
    assert torch.equal(found.x, trained.x[1:2])
    assert found.graph.num_edges == 0


def test_a_new_category_and_a_missing_number_are_zeros(trained):
    new = pd.DataFrame({"id": ["n"], "age": [float("nan")], "kind": ["new"]})
    assert predict(trained, new, None).x.tolist() == [[0, 0, 0]]


def test_new_nodes_join_the_old_graph_where_an_edge_leads_there(trained):
    new = pa.table({"id": ["n", "b"], "age": [2, 4], "kind": ["y", None]})
    links = pa.table({"source": ["n", "b"], "target": ["a", "n"]})
    found = predict(trained, new, links)
    assert found.ids.to_pylist() == ["n", "b"]
    assert found.rows.tolist() == [0, 1]
    assert found.graph.num_nodes == 13
    # n, b, 007, a, c, …: b has its new row, the others their old ones.
    assert torch.equal(found.x[:4], trained.x[[1, 3, 0, 1]])
    neighbours = found.graph.edge_index[0][found.graph.edge_index[1] == 1]
    assert neighbours.tolist() == [0, 3, 4]


def test_an_edge_in_both_tables_has_its_new_weight(nodes, edges):
    trained = load_tables(nodes, edges, weight="weight")
    new = pa.table({"id": ["n"], "age": [2], "kind": ["y"]})
    links = pa.table({"source": ["n", "b"], "target": ["a", "a"], "weight": [4.0, 7.0]})
    graph = predict(trained, new, links).graph
    # n, 007, a, b, …
    dense = graph.adjacency.to_dense()
    assert dense[2, 3] == dense[3, 2] == 7
    assert dense[0, 2] == 4
    assert dense[1, 2] == 1


def test_an_id_that_is_nowhere_is_refused_or_dropped(trained):
    new = pa.table({"id": ["n"], "age": [2], "kind": ["y"]})
    links = pa.table({"source": ["n", "n"], "target": ["a", "nowhere"]})
    with pytest.raises(DataError, match=r"row 1 .*: 1 edges mention 1 ids.*nodes\.csv: 'nowhere'"):
        predict(trained, new, links)
    with pytest.raises(DataError, match="leave such edges out with `unknown_ids='drop'`"):
        predict(trained, new, links)
    found = predict(trained, new, links, unknown_ids="drop")
    assert found.graph.num_edges == trained.graph.num_edges + 2


@pytest.mark.parametrize("rule", ["refuse", "drop"])
def test_without_the_training_tables_old_ids_are_an_error(trained, rule):
    new = pa.table({"id": ["n"], "age": [2], "kind": ["y"]})
    links = pa.table({"source": ["n"], "target": ["a"]})
    with pytest.raises(DataError, match=r"mention 1 ids .*'a'; the tables of training.*not to be"):
        predict(trained, new, links, known=False, unknown_ids=rule)


def test_no_new_edges_may_also_be_an_empty_table(trained):
    new = pa.table({"id": ["n"], "age": [2], "kind": ["y"]})
    for links in (pd.DataFrame({"source": [], "target": []}), None):
        assert predict(trained, new, links).graph.num_edges == 0


def test_weights_as_text_are_refused(trained):
    new = pa.table({"id": ["n"], "age": [2], "kind": ["y"]})
    links = pa.table({"source": ["n"], "target": ["a"], "weight": ["1"]})
    with pytest.raises(DataError, match="'weight': weights must be numbers, got numbers written"):
        predict(trained, new, links, weight="weight")


def test_degrees_of_the_joined_graph_stand_in_for_features(nodes, edges):
    trained = load_tables(nodes, edges, columns="")
    new = pa.table({"id": ["n"]})
    links = pa.table({"source": ["n", "n", "n"], "target": ["a", "b", "c"]})
    found = predict(trained, new, links)
    assert torch.allclose(found.x[0], torch.tensor([1, math.log(4)]))
    assert found.x.shape == (13, 2)


def test_integers_join_the_text_of_a_csv(write):
    nodes = write("n.csv", "id,label\n1,a\n2,b\n3,a\n4,b\n")
    edges = write("e.csv", "source,target\n1,2\n")
    trained = load_tables(nodes, edges, split="50/50/0")
    found = predict(trained, pa.table({"id": [9]}), pa.table({"source": [9], "target": [3]}))
    assert found.ids.to_pylist() == [9]
    assert found.graph.edge_index.T.tolist() == [[3, 0], [2, 1], [1, 2], [0, 3]]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"id": ["n"], "Age": [2]}, "lacks columns .*'age', 'kind'. Did you mean 'Age'"),
        ({"id": ["n"], "age": ["old"], "kind": ["x"]}, "column 'age': 'old' is no number"),
        ({"id": ["n"], "age": [float("inf")], "kind": ["x"]}, "'age': inf is too large"),
        ({"id": ["n"], "age": [1], "kind": [[1]]}, "'kind': expected texts, got list"),
        ({"id": ["n", "n"], "age": [1, 2], "kind": ["x", "x"]}, "an id of its own"),
        ({"id": [], "age": [], "kind": []}, "no rows"),
        ({"name": ["n"], "age": [1], "kind": ["x"]}, "no column 'id' for `id`"),
    ],
)
def test_tables_that_do_not_fit_the_model_are_refused(trained, table, words):
    with pytest.raises(DataError, match=words):
        predict(trained, pa.table(table), None)


def test_a_feature_cannot_hold_the_ids(trained, write):
    new = write("new.csv", "age,kind\n1,x\n")
    with pytest.raises(DataError, match=r"'age' is a feature of the model.*`id`"):
        read_for_prediction(TableSettings(), trained.recipe, nodes=new)


def test_missing_values_stay_refused(nodes, edges, write):
    whole = write("whole.csv", "id,label,age\n" + "".join(f"n{k},{k % 2},{k}\n" for k in range(9)))
    links = write("links.csv", "source,target\nn1,n2\n")
    trained = load_tables(whole, links, missing="refuse")
    new = write("new.csv", "id,age\na,1\nb,\n")
    with pytest.raises(DataError, match=r"new\.csv, line 3, column 'age': the value is missing"):
        predict(trained, new, None)
