import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline

import run_files
from akgnn.errors import CheckpointError, DataError, SettingsError
from akgnn.estimator.classifier import AKGNNClassifier
from akgnn.estimator.frames import holds_other_than_numbers, is_frame
from akgnn.runs.folder import RUN_FILE
from quick_estimator import quick

KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.fixture(scope="module")
def mixed():
    """Columns of every kind, with gaps, and 30 rows of each of three classes."""
    rng = np.random.default_rng(0)
    code = np.repeat([0, 1, 2], 30)
    words = [[f"{name}{number}" for number in range(8)] for name in ("ant", "bee", "cat")]
    sizes = (3.0 * code + rng.standard_normal(90)).round(3).tolist()
    likely = np.where(rng.random(90) < 0.7, code, rng.integers(0, 3, 90))
    cities = np.array(["Rome", "Oslo", "Bern"])[likely].tolist()
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(100 * code + rng.integers(0, 50, 90), "D")
    columns = {
        "size": [None if row % 7 == 0 else value for row, value in enumerate(sizes)],
        "city": [None if row % 5 == 0 else value for row, value in enumerate(cities)],
        "note": [" ".join(rng.choice(words[k], 5)) for k in code],
        "day": days.to_pydatetime().tolist(),
        "paid": (rng.random(90) < 0.5).tolist(),
    }
    return columns, np.array(["a", "b", "c"])[code]


@pytest.fixture(scope="module", params=KINDS)
def frame(request, mixed):
    return KINDS[request.param](mixed[0])


def first(frame, number):
    return frame.slice(0, number) if hasattr(frame, "slice") else frame.iloc[:number]


def test_columns_of_any_kind_are_learned_from(frame, mixed):
    y = mixed[1]
    fitted = quick().fit(frame, y)
    assert fitted.feature_names_in_.tolist() == ["size", "city", "note", "day", "paid"]
    assert fitted.n_features_in_ == 5
    assert "1 text (24 features), 1 date" in fitted.fitted_.recipe.in_words
    assert fitted.score(frame, y) > 0.95
    # Medians and words are those of training, not of what is asked about.
    alone = fitted.predict_proba(first(frame, 1))
    assert np.allclose(alone, fitted.predict_proba(frame)[:1], rtol=0, atol=1e-12)


def test_every_library_says_the_same(mixed):
    columns, y = mixed
    expected = quick().fit(pd.DataFrame(columns), y).predict_proba(pd.DataFrame(columns))
    for kind in (pl.DataFrame, pa.table):
        fitted = quick().fit(kind(columns), y)
        assert np.array_equal(fitted.predict_proba(kind(columns)), expected)


def test_it_goes_wherever_scikit_learn_takes_a_classifier(frame, mixed):
    y = mixed[1]
    few = quick(epochs=10)
    grid = {"akgnnclassifier__n_neighbors": [3, 5]}
    search = GridSearchCV(make_pipeline("passthrough", few), grid, cv=2).fit(frame, y)
    assert search.score(frame, y) > 0.8
    assert np.mean(cross_val_predict(few, frame, y, cv=2) == y) > 0.8
    assert CalibratedClassifierCV(few, cv=2).fit(frame, y).predict_proba(frame).shape == (90, 3)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_embeddings_come_as_frames_where_asked(frame, mixed, library):
    fitted = quick(epochs=2).set_output(transform=library).fit(frame, mixed[1])
    embedded = fitted.transform(frame)
    assert isinstance(embedded, KINDS[library])
    assert embedded.shape == (90, 8)
    assert list(embedded.columns) == fitted.get_feature_names_out().tolist()


def test_a_graph_may_come_with_them(frame, mixed, graph):
    y = mixed[1]
    fitted = quick().fit(frame, y, graph=graph)
    assert fitted.score(frame, y) > 0.95
    part = graph.edge_index[:, (graph.edge_index < 30).all(0)]
    assert fitted.predict(first(frame, 30), graph=part).tolist() == ["a"] * 30
    with pytest.raises(DataError, match="X is not the table that came with it"):
        fitted.predict(first(frame, 30))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_frame_of_numbers_is_the_array_of_them(table, kind):
    x, y = table
    names = ["a", "b", "c", "d"]
    columns = {name: x[:, place] for place, name in enumerate(names)}
    columns["e"], more = y > 1, np.column_stack([x, y > 1])
    fitted = quick().fit(kind(columns), y)
    assert not fitted.fitted_.is_prepared
    assert fitted.feature_names_in_.tolist() == [*names, "e"]
    # A frame lies in memory by columns, so its means may differ in the last digit.
    expected = quick().fit(more, y).predict_proba(more)
    assert np.allclose(fitted.predict_proba(kind(columns)), expected, rtol=0, atol=1e-6)


def test_a_frame_of_numbers_is_prepared_where_asked(table):
    x, y = table
    frame = pd.DataFrame(x, columns=list("abcd"))
    fitted = quick(prepare=True).fit(frame, y)
    assert fitted.fitted_.recipe.in_words.startswith("4 numbers scaled")
    assert fitted.score(frame, y) > 0.9
    with pytest.raises(DataError, match=r"prepare=True needs a DataFrame, .* got ndarray"):
        quick(prepare=True).fit(x, y)


def test_nothing_is_prepared_where_that_is_not_wanted(mixed):
    columns, y = mixed
    with pytest.raises(ValueError, match="could not convert string to float"):
        quick(prepare=False).fit(pd.DataFrame(columns), y)


@pytest.mark.parametrize(
    ("column", "is_other"),
    [
        ([1, 2, 3], False),
        ([True, False, True], False),
        (np.array([1, 2.5, True], dtype=object), False),
        ([1.0, np.nan, 2.0], True),
        (pd.array([1, None, 2], dtype="Int64"), True),
        (np.array([1, None, 2], dtype=object), True),
        (["1", "2", "3"], True),
        (pd.Categorical([1, 2, 1]), True),
        (pd.to_datetime(["2024-01-01"] * 3), True),
        (pd.arrays.SparseArray([0.0, 0, 1]), False),
    ],
    ids=lambda value: str(getattr(value, "dtype", type(value).__name__)),
)
def test_what_is_no_plain_number_is_told(column, is_other):
    assert holds_other_than_numbers(pd.DataFrame({"n": [1, 2, 3], "c": column})) is is_other


@pytest.mark.parametrize("x", [np.eye(2), sparse.eye(2), [[1, 2]], pl.LazyFrame({"a": [1]}), None])
def test_other_things_are_no_frames(x):
    assert not is_frame(x)
    assert not holds_other_than_numbers(x)


def test_columns_must_be_those_of_training(mixed):
    columns, y = mixed
    frame = pd.DataFrame(columns)
    fitted = quick(epochs=2).fit(frame, y)
    for wrong, message in (
        (frame.drop(columns="city"), r"now missing:\n- city"),
        (frame[frame.columns[::-1]], "in the same order"),
        (frame.assign(more=1), r"unseen at fit time:\n- more"),
        (frame.assign(size="big"), "column 'size': 'big' is no number.*X.drop"),
        (frame.iloc[:0], "X has columns but no rows"),
        (frame.to_numpy(), "must be a DataFrame with the columns size, city, .* got ndarray"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted.predict(wrong)


def test_columns_without_names_go_by_their_order(mixed):
    columns, y = mixed
    frame = pd.DataFrame(columns)
    nameless = frame.set_axis(range(5), axis=1)
    fitted = quick(epochs=5).fit(nameless, y)
    assert not hasattr(fitted, "feature_names_in_")
    expected = quick(epochs=5).fit(frame, y).predict_proba(frame)
    assert np.array_equal(fitted.predict_proba(nameless), expected)
    assert np.array_equal(fitted.predict_proba(nameless.set_axis(range(7, 12), axis=1)), expected)


def test_columns_that_tell_nothing_are_refused():
    frame = pd.DataFrame({"a": ["x"] * 6, "b": [None] * 6})
    with pytest.raises(DataError, match="no column to learn from; `a` left out: one value"):
        quick().fit(frame, [0, 1] * 3)


def test_a_fit_on_numbers_forgets_the_frame_before(mixed, table):
    columns, y = mixed
    fitted = quick(epochs=2).fit(pd.DataFrame(columns), y).fit(*table)
    assert (fitted.n_features_in_, fitted.fitted_.recipe) == (4, None)
    assert not hasattr(fitted, "feature_names_in_")


def test_labels_are_no_inputs_here(table):
    for arguments in ({"preset": "mixed-columns"}, {"settings": {"strategy": "masked-labels"}}):
        with pytest.raises(SettingsError, match="takes no labels as inputs"):
            quick(**arguments).fit(*table)


@pytest.mark.parametrize("has_graph", [False, True])
def test_what_was_saved_prepares_alike(mixed, graph, tmp_path, has_graph):
    columns, y = mixed
    frame = pd.DataFrame(columns)
    new = frame.assign(city="Paris", size=np.nan)
    one = quick(epochs=5).fit(frame, y, **({"graph": graph} if has_graph else {}))
    one.save(tmp_path)
    other = AKGNNClassifier.load(tmp_path)
    assert other.n_features_in_ == 5
    assert other.feature_names_in_.tolist() == list(columns)
    assert other.fitted_.recipe == one.fitted_.recipe
    link = {"graph": graph} if has_graph else {}
    assert np.array_equal(other.predict_proba(new, **link), one.predict_proba(new, **link))


def test_sparse_features_are_linked_and_kept_too(tmp_path):
    """Many words, of which a row has few."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    words = [f"w{number}" for number in range(200)]
    texts = [" ".join(rng.choice(words[100 * k : 100 * k + 100], 8)) for k in y]
    frame = pd.DataFrame({"text": texts})
    fitted = quick().fit(frame, y)
    assert sparse.issparse(fitted.fitted_.neighbours.rows)
    assert fitted.score(frame, y) > 0.95
    fitted.save(tmp_path)
    other = AKGNNClassifier.load(tmp_path)
    assert np.array_equal(other.predict_proba(frame), fitted.predict_proba(frame))


def test_a_recipe_that_does_not_fit_is_told(mixed, tmp_path):
    columns, y = mixed
    quick(epochs=1).fit(pd.DataFrame(columns), y).save(tmp_path)
    record = json.loads((tmp_path / RUN_FILE).read_text())
    for change, message in (
        (lambda r: r["data"].pop("recipe"), "recipe does not fit the columns"),
        (lambda r: r["estimator"].update(num_columns=4), "5 names for 4 features"),
        (lambda r: r["data"]["recipe"]["columns"].pop(), "recipe does not fit the features"),
        (lambda r: r["data"]["recipe"]["columns"][0].update(name="z"), "does not fit the columns"),
    ):
        changed = json.loads(json.dumps(record))
        change(changed)
        run_files.rewrite(tmp_path / RUN_FILE, changed)
        with pytest.raises(CheckpointError, match=message):
            AKGNNClassifier.load(tmp_path)
