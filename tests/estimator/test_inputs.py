import numpy as np
import pytest
import torch
from scipy import sparse

from akgnn.errors import DataError, GraphError
from akgnn.estimator.inputs import as_features, as_graph, checked_table, fingerprint

X = np.array([[0.0, 2, 0], [1, 0, 3]])


def test_features_keep_their_numbers_and_their_sparsity():
    assert as_features(X).tolist() == X.tolist()
    assert as_features(X).dtype == torch.float32
    matrix = as_features(sparse.csc_matrix(X), torch.float64)
    assert matrix.num_entries == 3
    assert matrix.to_dense().tolist() == X.tolist()
    assert matrix.value.dtype == torch.float64


def test_features_are_copied():
    x = X.copy()
    tensor = as_features(x, torch.float64)
    x[0, 0] = 9
    assert tensor[0, 0] == 0


def test_repeated_entries_add_up():
    twice = sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(1, 2))
    assert as_features(twice).to_dense().tolist() == [[0, 3]]


def test_the_fingerprint_tells_tables_apart():
    assert fingerprint(X) == fingerprint(np.asfortranarray(X))
    assert fingerprint(np.where(X == 0, -0.0, X)) == fingerprint(X)
    different = [X + 1, X[::-1], X[:, :2], X.reshape(3, 2)]
    assert fingerprint(X) not in {fingerprint(other) for other in different}
    stored_zero = sparse.csr_array(([0.0, 2, 1, 3], ([0, 0, 1, 1], [0, 1, 0, 2])), shape=(2, 3))
    assert fingerprint(stored_zero) == fingerprint(sparse.csr_matrix(X))
    assert fingerprint(sparse.csr_array(X + 1)) != fingerprint(sparse.csr_array(X))


def test_the_last_nodes_may_have_no_edge():
    assert as_graph([[0], [1]], 5).num_nodes == 5
    assert as_graph(np.array([[0], [1]], dtype=np.uint8), 5).num_edges == 1


@pytest.mark.parametrize("graph", [object(), 3, {"a": 1}, np.zeros((3, 3)), [[0, 1]]])
def test_what_is_no_graph_is_refused(graph):
    with pytest.raises(DataError, match="graph must be an akgnn Graph, a SciPy sparse matrix"):
        as_graph(graph, 3)


def test_a_damaged_sparse_table_is_refused():
    table = sparse.random(9, 9, 0.5, format="csr", random_state=0)
    assert checked_table(table) is table
    table.indptr[3] = 10**6
    with pytest.raises(GraphError, match="X is a damaged csr matrix"):
        checked_table(table)
