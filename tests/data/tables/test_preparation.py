import datetime

import numpy as np
import pyarrow as pa
import pytest
import torch

from akgnn.data.tables.features import learn_recipe, typed_columns
from akgnn.data.tables.recipe import (
    CategoryColumn,
    DateColumn,
    FeatureRecipe,
    NumberColumn,
    TextColumn,
)
from akgnn.data.tables.table import Table
from akgnn.files import json_text, parse_json
from akgnn.graph import Graph

SIZE = 400
RNG = np.random.default_rng(0)
WORDS = [f"word{k}" for k in range(40)]


def learn(standardise=False, missing="fill", **columns):
    """The recipe and the features by name; a recipe kept as JSON must give the same."""
    table = Table("n.csv", pa.table(columns))
    recipe, typed = learn_recipe(
        table, list(columns), prepare="auto", standardise=standardise, missing=missing
    )
    assert typed.equals(typed_columns(recipe, table))
    assert FeatureRecipe.from_dict(parse_json(json_text(recipe.to_dict()))) == recipe
    return recipe, features(recipe, table)


def features(recipe, table):
    graph = Graph.from_edge_index(torch.zeros(2, 0, dtype=torch.int64), num_nodes=len(table))
    x = recipe.apply(table, graph)
    x = x if isinstance(x, torch.Tensor) else x.to_dense()
    return dict(zip(recipe.feature_names, x.T, strict=True))


def sentences(size=SIZE, words=8):
    return [" ".join(RNG.choice(WORDS, words)) for _ in range(size)]


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e9])
def test_numbers_of_any_size_come_out_near_1(size):
    recipe, x = learn(a=RNG.normal(50, 9, SIZE) * size)
    assert 0.8 < float(x["a"].std()) < 1.2
    assert abs(float(x["a"].median())) < 0.01
    assert recipe.columns[0].is_squashed


def test_an_outlier_moves_nobody_and_stays_near():
    values = RNG.normal(0, 1, SIZE)
    _, before = learn(a=values)
    values[7] = 1e12
    _, after = learn(a=values)
    others = torch.arange(SIZE) != 7
    assert torch.allclose(before["a"][others], after["a"][others], atol=0.05)
    assert 10 < float(after["a"][7]) < 40


def test_bins_hold_as_many_nodes_each():
    recipe, x = learn(a=RNG.exponential(3, SIZE))
    bins = torch.stack([values for name, values in x.items() if "[" in name])
    assert len(bins) == 16
    assert (bins.sum(0) == 1).all()
    assert bins.sum(1).tolist() == [25] * 16
    assert len(recipe.columns[0].feature_names) == 17


def test_every_value_of_a_code_has_a_bin():
    codes = RNG.integers(3, 9, SIZE)
    _, x = learn(a=codes)
    bins = torch.stack([values for name, values in x.items() if "[" in name])
    assert bins.argmax(0).tolist() == (codes - 3).tolist()


def test_many_columns_of_numbers_have_few_bins_or_none():
    many = {f"x{k}": RNG.normal(0, 1, SIZE) for k in range(200)}
    assert len(learn(**many)[1]) == 200
    some = {f"x{k}": RNG.integers(0, 9, SIZE) for k in range(64)}
    assert len(learn(**some)[1]) <= 64 * 9


@pytest.mark.parametrize(
    "values",
    [
        RNG.integers(0, 2, SIZE),
        RNG.integers(0, 2, SIZE).astype(bool),
        RNG.integers(0, 2, SIZE).astype(float),
        RNG.poisson(0.3, SIZE),
        np.where(RNG.random(SIZE) < 0.8, 0, RNG.random(SIZE)),
    ],
    ids=["0/1", "boolean", "0.0/1.0", "counts", "shares"],
)
def test_words_and_counts_are_left_as_they_are(values):
    recipe, x = learn(a=values)
    assert recipe.columns[0].is_left
    assert torch.allclose(x["a"], torch.tensor(values).float())


def test_frequent_words_beside_rare_ones_are_left_too():
    words = {f"w{k}": RNG.poisson(0.1, SIZE) for k in range(60)}
    recipe, x = learn(**words, the=RNG.poisson(4, SIZE), nobody=np.zeros(SIZE, dtype=int))
    assert recipe.is_words
    assert recipe.left_out == {}
    assert len(x) == 62
    # A few features of other kinds beside them do not change that.
    assert learn(**words, kind=["x", "y"] * (SIZE // 2))[0].is_words
    assert not learn(**words, pay=RNG.normal(9e4, 1e4, SIZE))[0].is_words


def test_missing_numbers_are_filled_and_marked_where_there_are_several():
    values = [*RNG.normal(5, 1, SIZE - 40), *[None] * 40]
    _, x = learn(a=values)
    assert x["a missing"].tolist() == [0] * (SIZE - 40) + [1] * 40
    assert (x["a"][-40:] == 0).all()
    bins = torch.stack([values for name, values in x.items() if "[" in name])
    assert (bins[:, -40:] == 0).all()
    values[-39:] = RNG.normal(5, 1, 39)
    assert "a missing" not in learn(a=values)[1]


def test_a_value_that_is_there_or_not_is_a_feature():
    _, x = learn(a=[7.0] * 300 + [None] * 100, b=["yes"] * 300 + [None] * 100)
    assert x["a missing"].sum() == 100
    assert x["b=yes"].sum() == 300


def test_rare_and_unseen_categories_share_a_feature():
    cities = [f"city {k % 60}" for k in range(360)] + [f"village {k}" for k in range(40)]
    recipe, x = learn(a=cities)
    (column,) = recipe.columns
    assert isinstance(column, CategoryColumn)
    assert len(column.categories) == 60
    assert x["a=(other)"].tolist() == [0] * 360 + [1] * 40
    new = features(recipe, Table("new", pa.table({"a": ["city 3", "Rome", None]})))
    assert new["a=(other)"].tolist() == [0, 1, 0]
    assert new["a=city 3"].tolist() == [1, 0, 0]


def test_any_number_of_categories_is_taken():
    recipe, x = learn(a=[f"c{k}" for k in range(3000)] * 6)
    assert len(x) == 1001
    assert recipe.is_sparse


def test_few_categories_are_all_kept_however_rare():
    recipe, _ = learn(a=["a"] * 398 + ["b", "c"])
    assert recipe.columns == (CategoryColumn("a", ("a", "b", "c")),)


def test_dates_become_age_and_cycles():
    start = datetime.datetime(2020, 1, 1)
    when = [start + datetime.timedelta(hours=int(h)) for h in RNG.integers(0, 30_000, SIZE)]
    recipe, x = learn(a=when)
    assert isinstance(recipe.columns[0], DateColumn)
    assert list(x) == [
        "a", "a sin(year)", "a cos(year)", "a sin(week)", "a cos(week)", "a sin(day)", "a cos(day)",
    ]  # fmt: skip
    hour = torch.tensor([each.hour for each in when])
    assert torch.allclose(x["a sin(day)"], torch.sin(2 * torch.pi * hour / 24), atol=1e-4)
    assert float(x["a"].abs().max()) < 3


@pytest.mark.parametrize("as_text", [False, True])
def test_days_have_no_hour(as_text):
    days = [datetime.date(2019, 1, 1) + datetime.timedelta(days=k) for k in range(SIZE)]
    recipe, _ = learn(a=[str(day) for day in days] if as_text else days)
    assert recipe.columns[0].cycles == ("year", "week")


def test_sentences_become_words():
    recipe, x = learn(a=sentences())
    assert isinstance(recipe.columns[0], TextColumn)
    assert len(x) == 40
    assert recipe.columns[0].name == "a"


def test_names_of_two_words_that_repeat_are_texts():
    first, last = [f"First{k}" for k in range(20)], [f"Last{k}" for k in range(20)]
    names = [f"{a} {b}" for a in first for b in last]
    assert isinstance(learn(a=names)[0].columns[0], TextColumn)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([f"user{k}" for k in range(SIZE)], "a value for every node"),
        ([f"K{k:05d}" for k in RNG.permutation(SIZE)], "a value for every node"),
        (list(RNG.permutation(SIZE) + 17), "a number for every row"),
        ([3.5] * SIZE, "one value throughout"),
        (["same"] * SIZE, "one value throughout"),
        ([datetime.date(2020, 1, 1)] * SIZE, "one value throughout"),
        ([None] * SIZE, "no values"),
        ([""] * SIZE, "no values"),
        ([float("nan")] * SIZE, "no values"),
        ([[1, 2]] * SIZE, "a column of list<item: int64>"),
        ([b"ab"] * SIZE, "a column of binary"),
    ],
)
def test_columns_that_tell_nothing_are_left_out_with_the_reason(values, reason):
    recipe, _ = learn(a=values, b=RNG.normal(0, 1, SIZE))
    assert recipe.left_out == {"a": reason}
    assert recipe.column_names == ["b"]
    assert f"`a` left out: {reason}" in recipe.in_words


def test_where_nothing_is_left_the_graph_stands_in():
    recipe, x = learn(a=[1] * SIZE)
    assert list(x) == ["1", "log(1 + degree)"]
    assert "`a` left out" in recipe.in_words


def test_a_line_says_what_was_done():
    recipe, _ = learn(
        pay=RNG.normal(9e4, 1e4, SIZE),
        w1=RNG.integers(0, 2, SIZE),
        w2=RNG.integers(0, 2, SIZE),
        kind=["x", "y"] * (SIZE // 2),
        day=[datetime.date(2019, 1, 1) + datetime.timedelta(days=k) for k in range(SIZE)],
        text=sentences(),
        name=[f"user{k}" for k in range(SIZE)],
    )
    assert recipe.in_words == (
        "1 number scaled (17 features), 2 numbers left as they are, 1 category column "
        "(2 features), 1 date (5 features), 1 text (40 features); `name` left out: a value for "
        "every node"
    )


def test_all_numbers_are_standardised_on_request():
    values = RNG.integers(0, 2, SIZE)
    recipe, x = learn(a=values, standardise=True)
    mean, scale = float(values.mean()), pytest.approx(values.std())
    assert recipe.columns == (NumberColumn("a", mean, mean, recipe.columns[0].scale),)
    assert recipe.columns[0].scale == scale
    assert abs(float(x["a"].mean())) < 1e-5


def test_new_nodes_are_prepared_by_the_numbers_of_training():
    when = [datetime.datetime(2020, 1, 1) + datetime.timedelta(hours=k) for k in range(SIZE)]
    columns = {
        "pay": RNG.normal(9e4, 1e4, SIZE),
        "kind": ["x", "y"] * (SIZE // 2),
        "when": when,
        "text": sentences(),
    }
    recipe, x = learn(**columns)
    one = Table("new", pa.table({name: [values[5]] for name, values in columns.items()}))
    for name, values in features(recipe, one).items():
        assert values[0] == x[name][5], name
    nothing = Table("new", pa.table({name: pa.nulls(1) for name in columns}))
    assert all(float(values[0]) == 0 for values in features(recipe, nothing).values())
