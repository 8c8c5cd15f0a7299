import json
import math

import pyarrow as pa
import pytest
import torch

from akgnn.csr import CSR
from akgnn.data.tables.recipe import CategoryColumn, FeatureRecipe, NumberColumn, normalises_rows
from akgnn.data.tables.table import Table
from akgnn.errors import AkgnnError, DataError
from akgnn.graph import Graph

RECIPE = FeatureRecipe(
    (NumberColumn("age", 2.0, 1.0, 0.5), CategoryColumn("kind", ("x", "y")), NumberColumn("w", 0.0))
)
PATH = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]), num_nodes=3)


def table(**columns):
    return Table("new.csv", pa.table(columns))


def test_a_recipe_survives_json():
    others = FeatureRecipe((), "refuse"), FeatureRecipe((), is_sparse=True, normalise_rows=True)
    for recipe in (RECIPE, *others):
        assert FeatureRecipe.from_dict(json.loads(json.dumps(recipe.to_dict()))) == recipe
    assert json.loads(json.dumps(RECIPE.to_dict())) == RECIPE.to_dict()


def test_rows_are_divided_by_their_sum_at_the_end():
    new = table(age=[1.5, 2.0, 1.0], kind=["y", "x", None], w=[2, 4, 0])
    expected = [[0.25, 0, 0.25, 0.5], [2 / 7, 1 / 7, 0, 4 / 7], [0, 0, 0, 0]]
    for is_sparse in (False, True):
        recipe = FeatureRecipe(RECIPE.columns, is_sparse=is_sparse, normalise_rows=True)
        x = recipe.apply(new, PATH)
        assert torch.allclose(x.to_dense() if is_sparse else x, torch.tensor(expected))


def test_left_to_the_data_sparse_features_without_negative_numbers_are_divided():
    dense, col = torch.eye(20), torch.arange(20)
    rowptr = torch.arange(21)
    binary, counts, signed = (
        CSR.from_arrays(rowptr, col, value, (20, 20))
        for value in (None, torch.full((20,), 2.0), torch.linspace(-1, 1, 20))
    )
    words = FeatureRecipe((NumberColumn("w", 0.0),))
    found = [
        normalises_rows(x, "auto", recipe, by_kind=by_kind)
        for recipe, by_kind in ((words, True), (RECIPE, False), (RECIPE, True))
        for x in (dense, binary, counts, signed)
    ]
    # Where columns are prepared by their kind, scaled ones and categories are not divided.
    assert found == [0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0]
    for x in (dense, signed):
        assert normalises_rows(x, "row-normalised", RECIPE, by_kind=True)
    assert not normalises_rows(binary, "raw", words, by_kind=True)


def test_columns_are_found_by_name_scaled_filled_and_encoded():
    new = table(kind=["y", "new", None], w=[5, 6, None], other=[1, 2, 3], age=[1.5, None, 0])
    expected = [[1, 0, 1, 5], [2, 0, 0, 6], [-2, 0, 0, 0]]
    assert RECIPE.apply(new, PATH).tolist() == expected
    sparse = FeatureRecipe(RECIPE.columns, is_sparse=True).apply(new, PATH)
    assert isinstance(sparse, CSR)
    assert sparse.to_dense().tolist() == expected
    assert RECIPE.feature_names == ["age", "kind=x", "kind=y", "w"]


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(9, 2), pa.bool_()]
)
def test_every_kind_of_number_is_taken(kind):
    recipe = FeatureRecipe((NumberColumn("w", 0.0),))
    column = pa.array([1, 0, None], kind) if kind != pa.bool_() else pa.array([True, False, None])
    assert recipe.apply(table(w=column), PATH).tolist() == [[1], [0], [0]]


def test_without_columns_degrees_stand_in():
    x = FeatureRecipe(()).apply(table(id=[1, 2, 3]), PATH)
    assert torch.allclose(x, torch.tensor([[1, math.log(2)], [1, math.log(2)], [1, 0]]))
    assert FeatureRecipe(()).feature_names == ["1", "log(1 + degree)"]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"Age": [1] * 3, "kind": ["x"] * 3, "w": [1] * 3}, "lacks columns .* 'age'.*mean 'Age'"),
        ({"kind": ["x"] * 3}, "'age', 'w'"),
        ({"age": ["a", "b", "c"], "kind": ["x"] * 3, "w": [1] * 3}, "row 0 .*'age': 'a' is no"),
        ({"age": ["1", "2", "3"], "kind": ["x"] * 3, "w": [1] * 3}, "numbers written as text"),
        ({"age": [1] * 3, "kind": [b"x"] * 3, "w": [1] * 3}, "'kind': expected texts, got binary"),
    ],
)
def test_columns_that_do_not_fit_are_named(columns, words):
    with pytest.raises(DataError, match=words):
        RECIPE.apply(table(**columns), PATH)


@pytest.mark.parametrize(
    "change",
    [
        {"columns": None},
        {"columns": "age"},
        {"columns": ["age"]},
        {"columns": [{"name": "a"}]},
        {"columns": [{"name": "a", "fill": 0, "mean": 0, "scale": 0}]},
        {"columns": [{"name": "a", "fill": 0, "mean": math.nan, "scale": 1}]},
        {"columns": [{"name": "a", "fill": 10**400, "mean": 0, "scale": 1}]},
        {"columns": [{"name": "a", "fill": "0", "mean": 0, "scale": 1}]},
        {"columns": [{"name": "a", "fill": True, "mean": 0, "scale": 1}]},
        {"columns": [{"name": "a\x1b", "fill": 0, "mean": 0, "scale": 1}]},
        {"columns": [{"name": 3, "fill": 0, "mean": 0, "scale": 1}]},
        {"columns": [{"name": "a", "fill": 0, "mean": 0, "scale": 1}] * 2},
        {"columns": [{"name": "a", "categories": "xy"}]},
        {"columns": [{"name": "a", "categories": []}]},
        {"columns": [{"name": "a", "categories": ["y", "x"]}]},
        {"columns": [{"name": "a", "categories": ["x", "x"]}]},
        {"columns": [{"name": "a", "categories": [1, 2]}]},
        {"columns": [{"name": "a", "categories": ["a", "b\x1b[2J"]}]},
        {"columns": [{"name": "a", "categories": [[], {}]}]},
        {"columns": [{"name": "a", "categories": [str(k) for k in range(1001)]}]},
        {"missing": "ignore"},
        {"missing": []},
        {"is_sparse": 1},
        {"normalise_rows": 1},
    ],
)
def test_a_recipe_of_another_hand_is_checked(change):
    misfits = (KeyError, TypeError, ValueError, AttributeError, OverflowError, AkgnnError)
    with pytest.raises(misfits):
        FeatureRecipe.from_dict(RECIPE.to_dict() | change)


@pytest.mark.parametrize("content", [None, [], {}, "recipe", {"columns": []}])
def test_what_is_no_recipe_is_refused(content):
    with pytest.raises((KeyError, TypeError, ValueError)):
        FeatureRecipe.from_dict(content)
