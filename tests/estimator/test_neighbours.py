import numpy as np
import pytest
from scipy import sparse

from akgnn.errors import SettingsError
from akgnn.estimator.neighbours import Neighbours

LINE = np.array([[0.0], [1], [3], [7], [15]])


@pytest.mark.parametrize("rows", [LINE, sparse.csr_array(LINE)], ids=["dense", "sparse"])
def test_each_row_takes_in_from_its_nearest(rows):
    neighbours = Neighbours.build(rows, 2, "euclidean")
    assert np.sort(neighbours.nearest).tolist() == [[1, 2], [0, 2], [0, 1], [1, 2], [2, 3]]
    graph = neighbours.graph()
    assert not graph.is_symmetric
    assert graph.degree.tolist() == [2.0] * 5


@pytest.mark.parametrize("rows", [LINE, sparse.csr_array(LINE)], ids=["dense", "sparse"])
def test_new_rows_leave_the_others_alone(rows):
    neighbours = Neighbours.build(rows, 2, "euclidean")
    both, graph = neighbours.attach(np.array([[2.0], [2.1]]))
    assert both.shape == (7, 1)
    source, target = graph.edge_index.numpy()
    assert source.max() < 5
    assert sorted(source[target == 5]) == [1, 2]
    assert graph.mean_degree == neighbours.graph().mean_degree


@pytest.mark.parametrize("rows", [LINE, sparse.csr_array(LINE)], ids=["dense", "sparse"])
def test_a_twin_has_the_same_neighbours(rows):
    neighbours = Neighbours.build(rows, 2, "euclidean")
    _, graph = neighbours.attach(np.array([[3.0], [0.0]]))
    source, target = graph.edge_index.numpy()
    assert sorted(source[target == 5]) == sorted(neighbours.nearest[2])
    assert sorted(source[target == 6]) == sorted(neighbours.nearest[0])


def test_repeated_rows_are_neighbours_of_each_other():
    neighbours = Neighbours.build(np.array([[1.0], [1], [1], [5]]), 2, "euclidean")
    assert all(row not in near for row, near in enumerate(neighbours.nearest.tolist()))
    assert np.sort(neighbours.nearest[:3]).tolist() == [[1, 2], [0, 2], [0, 1]]


def test_there_are_no_more_neighbours_than_rows():
    assert Neighbours.build(LINE, 100, "euclidean").nearest.shape == (5, 4)
    alone = Neighbours.build(LINE[:1], 3, "euclidean")
    assert alone.graph().num_edges == 0
    assert alone.attach(LINE)[1].num_edges == 0


def test_the_metric_decides():
    rows = np.array([[1.0, 0], [10, 0], [0, 1], [0.5, 1]])
    assert Neighbours.build(rows, 1, "euclidean").nearest[0] == [3]
    assert Neighbours.build(rows, 1, "cosine").nearest[0] == [1]
    with pytest.raises(SettingsError, match="precomputed"):
        Neighbours.build(rows, 1, "precomputed")
