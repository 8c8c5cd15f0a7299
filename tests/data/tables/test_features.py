import numpy as np
import pyarrow as pa
import pytest
import torch

from akgnn.data.tables.features import learn_recipe, typed_columns
from akgnn.data.tables.recipe import CategoryColumn, NumberColumn
from akgnn.data.tables.table import Table
from akgnn.errors import DataError
from akgnn.graph import Graph


def learn(standardise=False, missing="fill", prepare="plain", **columns):
    table = Table("n.csv", pa.table(columns))
    recipe, typed = learn_recipe(
        table, list(columns), prepare=prepare, standardise=standardise, missing=missing
    )
    assert typed.equals(typed_columns(recipe, table))
    graph = Graph.from_edge_index(torch.zeros(2, 0, dtype=torch.int64), num_nodes=len(table))
    return recipe, recipe.apply(table, graph)


def test_standardised_numbers_have_mean_0_and_standard_deviation_1():
    values = np.random.default_rng(0).normal(50, 9, 200)
    _, x = learn(standardise=True, a=values)
    assert np.allclose(x[:, 0], (values - values.mean()) / values.std(), atol=1e-6)


@pytest.mark.parametrize("value", [0.1, 7, 1e30])
def test_a_constant_column_becomes_0_when_standardised(value):
    recipe, x = learn(standardise=True, a=[value] * 7, b=[1, 2, 3, 4, 5, 6, None])
    assert recipe.columns[0].scale == 1
    assert torch.allclose(x[:, 0], torch.zeros(7), atol=1e-6 * value)
    assert x[6, 1] == 0


def test_missing_numbers_become_the_mean_of_the_others():
    _, x = learn(a=[1.0, None, 3.0, float("nan")])
    assert x[:, 0].tolist() == [1, 2, 3, 2]


def test_numbers_in_text_columns_are_categories_if_the_user_made_them_text():
    recipe, x = learn(code=["1", "10", "2", "", None])
    assert recipe.columns == (CategoryColumn("code", ("1", "10", "2")),)
    assert x.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]


def test_codes_of_which_some_are_letters_are_categories():
    recipe, _ = learn(code=["250", "V27", "428", "V45"] * 5)
    assert recipe.columns[0].categories == ("250", "428", "V27", "V45")
    with pytest.raises(DataError, match=r"row 3 .*'12O' is no number"):
        learn(code=["250", "427", "428", "12O"] + ["1"] * 60)


def test_truth_values_are_numbers_and_dictionaries_are_texts():
    recipe, x = learn(a=[True, False, None], b=pa.array(["u", "v", None]).dictionary_encode())
    assert [type(column) for column in recipe.columns] == [NumberColumn, CategoryColumn]
    assert x.tolist() == [[1, 1, 0], [0, 0, 1], [0.5, 0, 0]]


def test_features_are_sparse_where_few_are_not_0():
    few = {f"w{k}": [int(k == row) for row in range(20)] for k in range(20)}
    assert learn(**few)[0].is_sparse
    assert not learn(**few, standardise=True)[0].is_sparse
    assert not learn(a=[0, 1, 1], b=[0, 0, 0])[0].is_sparse
