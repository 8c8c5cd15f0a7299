"""Mistakes of every kind are named in words."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.exceptions import NotFittedError

from akgnn.data.catalogue import load_dataset
from akgnn.errors import AkgnnError, DataError, SettingsError, UnknownNameError
from akgnn.estimator.classifier import AKGNNClassifier
from quick_estimator import quick

X = np.arange(24.0).reshape(12, 2)
Y = np.arange(12) % 2
HOLE = np.where(X == 3, np.nan, X)
BAD = [
    ({}, (HOLE, Y), {}, ValueError, "contains NaN"),
    ({}, (np.where(X == 3, np.inf, X), Y), {}, ValueError, "contains infinity"),
    ({}, (X.tolist()[0], Y), {}, ValueError, "Expected 2D array"),
    ({}, (X[:0], Y[:0]), {}, ValueError, "0 sample"),
    ({}, (X[:, :0], Y), {}, ValueError, "0 feature"),
    ({}, (X, Y[:5]), {}, ValueError, "inconsistent numbers of samples"),
    ({}, (X, None), {}, DataError, "requires y to be passed"),
    ({}, (X, np.full(12, -1)), {}, DataError, "No row of y has a label"),
    ({}, (X, np.full(12, np.nan)), {}, DataError, "No row of y has a label"),
    ({}, (X, [None] * 12), {}, DataError, "No row of y has a label"),
    ({}, (X, Y + 0.5), {}, DataError, "Unknown label type: continuous, y holds 0.5"),
    ({}, (X, np.where(Y, np.inf, 0)), {}, DataError, "must not be infinite"),
    ({}, (X, ["a", 1] * 6), {}, DataError, "of one kind, got int, str"),
    ({}, (X, Y + 1j), {}, ValueError, "[Cc]omplex|label type"),
    ({}, (X, np.stack([Y, Y], 1)), {}, ValueError, "1d array"),
    ({}, (X * 1e200, Y), {}, DataError, "Column 0 of X holds numbers too large"),
    ({"n_neighbors": 0}, (X, Y), {}, SettingsError, "n_neighbors must be from 1"),
    ({"n_neighbors": 2.5}, (X, Y), {}, SettingsError, "n_neighbors must be an integer"),
    ({"metric": "precomputed"}, (X, Y), {}, SettingsError, "pass the graph"),
    ({"metric": "euclid"}, (X, Y), {}, ValueError, "metric"),
    ({"standardize": "yes"}, (X, Y), {}, SettingsError, "standardize must be true or false"),
    ({"standardize": True}, (sparse.csr_array(X), Y), {}, SettingsError, "fill a sparse X"),
    ({"validation_fraction": 1.0}, (X, Y), {}, SettingsError, "at least 0 and below 1"),
    ({"preset": "any-grap"}, (X, Y), {}, UnknownNameError, "Did you mean 'any-graph'"),
    ({"kernel": "signd"}, (X, Y), {}, UnknownNameError, "Did you mean 'signed'"),
    ({"hidden_channels": 0}, (X, Y), {}, SettingsError, "hidden_channels must be from 1"),
    ({"dropout": 1.0}, (X, Y), {}, SettingsError, "dropout must be at least 0 and below 1"),
    ({"learning_rate": "fast"}, (X, Y), {}, SettingsError, "learning_rate must be a number"),
    ({"settings": {"reedout": "sum"}}, (X, Y), {}, UnknownNameError, "Did you mean 'readout'"),
    ({"settings": "readout=sum"}, (X, Y), {}, SettingsError, "settings must be a dictionary"),
    (
        {"settings": {"normalisation": "sym"}},
        (X, Y),
        {},
        SettingsError,
        "needs normalisation='row'",
    ),
    ({"device": "gpu"}, (X, Y), {}, AkgnnError, "Unknown device 'gpu'"),
    ({"random_state": "x"}, (X, Y), {}, ValueError, "cannot be used to seed"),
    ({}, (X, Y), {"graph": sparse.eye_array(5)}, DataError, "has 5 nodes, but X has 12 rows"),
    ({}, (X, Y), {"graph": [[0, 1], [1, 12]]}, AkgnnError, "mentions node 12"),
    ({}, (X, Y), {"graph": np.ones((12, 12))}, DataError, "csr_array converts a dense adjacency"),
    ({}, (X, Y), {"graph": "cora"}, DataError, "graph must be an akgnn Graph.*got str"),
    (
        {},
        (X, Y),
        {"graph": sparse.coo_array(-np.eye(12)[::-1])},
        AkgnnError,
        "negative edge weights",
    ),
]


@pytest.mark.parametrize(
    ("arguments", "given", "options", "kind", "message"), BAD, ids=[case[-1] for case in BAD]
)
def test_a_mistake_is_named(arguments, given, options, kind, message):
    with pytest.raises(kind, match=message):
        AKGNNClassifier(**{"epochs": 2, **arguments}).fit(*given, **options)


def test_mistakes_in_predicting_are_named(table, graph):
    x, y = table
    with pytest.raises(NotFittedError):
        quick().predict(x)
    without, on_graph = quick(epochs=2).fit(x, y), quick(epochs=2).fit(x, y, graph=graph)
    with pytest.raises(DataError, match="training had none"):
        without.predict(x, graph=graph)
    with pytest.raises(ValueError, match="X has 3 features, but AKGNNClassifier is expecting 4"):
        without.predict(x[:, :3])
    with pytest.raises(DataError, match="The graph has 90 nodes, but X has 30 rows"):
        on_graph.predict(x[:30], graph=graph)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        without.score(x, y[:9])
    with pytest.raises(DataError, match="There is no label to compare with"):
        without.score(x, np.full(90, -1))
    data = load_dataset("cora")
    with pytest.raises(DataError, match="leave y and graph out"):
        quick().fit(data, data.y)
    with pytest.raises(DataError, match="leave graph out"):
        on_graph.predict(data, graph=graph)
    with pytest.raises(DataError, match="trained on a table without a graph"):
        without.predict(data)


def test_an_edge_index_of_floats_is_refused(table):
    x, y = table
    with pytest.raises(DataError, match="got an array of float64 of shape"):
        quick().fit(x, y, graph=np.array([[0.0], [1.0]]))
    with pytest.raises(AkgnnError, match="must hold int32 or int64"):
        quick().fit(x, y, graph=torch.tensor([[0.0], [1.0]]))
