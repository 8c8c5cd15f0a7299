"""Columns of pandas whose categories are no text."""

import numpy as np
import pandas as pd
import pytest

import akgnn
from akgnn.errors import DataError
from akgnn.estimator.classifier import AKGNNClassifier

AGE = pd.Series(np.arange(40) * 2.0)
EDGES = pd.DataFrame({"source": range(39), "target": range(1, 40)})


def nodes(**columns):
    return pd.DataFrame({"id": range(40), "label": ["a", "b"] * 20, **columns})


@pytest.mark.parametrize(
    "column",
    [
        pd.cut(AGE, [-1, 30, 60, 90]),
        pd.cut(AGE, [-1, 30, 60, 90]).astype(pd.IntervalDtype("float64")),
        pd.cut(AGE.where(AGE > 10), [-1, 30, 60, 90]),
    ],
)
def test_intervals_are_categories(column):
    (learned,) = akgnn.load_tables(nodes(bin=column), EDGES).recipe.columns
    bins = [text.replace(".0", "") for text in learned.categories]
    assert bins == ["(-1, 30]", "(30, 60]", "(60, 90]"]


def test_intervals_are_classes_and_columns_of_the_estimator():
    frame = nodes(age=AGE).assign(label=pd.cut(AGE, [-1, 40, 90]))
    assert akgnn.load_tables(frame, EDGES).class_names == ("(-1, 40]", "(40, 90]")
    columns = pd.DataFrame({"bin": pd.cut(AGE, 3), "age": AGE})
    fitted = AKGNNClassifier(epochs=2).fit(columns, ["a", "b"] * 20)
    assert len(fitted.predict(columns)) == 40


def test_categories_of_several_kinds_are_text():
    column = pd.Series([1, "a"] * 20).astype("category")
    (learned,) = akgnn.load_tables(nodes(c=column), EDGES).recipe.columns
    assert learned.categories == ("1", "a")


@pytest.mark.parametrize("kind", [">i8", ">i4", ">u2"])
def test_big_endian_edges_are_converted(kind, tmp_path):
    ends = EDGES.to_numpy()
    np.save(tmp_path / "little.npy", ends)
    np.save(tmp_path / "big.npy", np.asfortranarray(ends.astype(kind)))
    little, big = (
        akgnn.load_tables(nodes(x=AGE), tmp_path / f"{name}.npy").graph
        for name in ("little", "big")
    )
    assert big.edge_index.equal(little.edge_index)


@pytest.mark.parametrize(
    "array", [np.array(3), EDGES.to_numpy() + 0.5, np.zeros(3, [("a", "i4"), ("b", "i4")])]
)
def test_arrays_that_are_no_edges_are_refused(array, tmp_path):
    np.save(tmp_path / "edges.npy", array)
    with pytest.raises(DataError, match=r"edges are integers of shape \(edges, 2\)"):
        akgnn.load_tables(nodes(x=AGE), tmp_path / "edges.npy")
