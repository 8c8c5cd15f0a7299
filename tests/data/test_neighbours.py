import numpy as np
import pytest
from scipy import sparse

from akgnn.data.neighbours import Neighbours, nearest_rows

LINE = np.array([[0.0], [1], [3], [7], [15]])


@pytest.mark.parametrize("rows", [LINE, sparse.csr_array(LINE)], ids=["dense", "sparse"])
def test_each_row_takes_in_from_its_nearest(rows):
    neighbours = Neighbours.build(rows, 2, nearest_rows)
    assert np.sort(neighbours.nearest).tolist() == [[1, 2], [0, 2], [0, 1], [1, 2], [2, 3]]
    graph = neighbours.graph()
    assert not graph.is_symmetric
    assert graph.degree.tolist() == [2.0] * 5


@pytest.mark.parametrize("rows", [LINE, sparse.csr_array(LINE)], ids=["dense", "sparse"])
def test_new_rows_leave_the_others_alone(rows):
    neighbours = Neighbours.build(rows, 2, nearest_rows)
    both, graph = neighbours.attach(np.array([[2.0], [2.1]]))
    assert both.shape == (7, 1)
    source, target = graph.edge_index.numpy()
    assert source.max() < 5
    assert sorted(source[target == 5]) == [1, 2]
    assert graph.mean_degree == neighbours.graph().mean_degree


@pytest.mark.parametrize("rows", [LINE, sparse.csr_array(LINE)], ids=["dense", "sparse"])
def test_a_twin_has_the_same_neighbours(rows):
    neighbours = Neighbours.build(rows, 2, nearest_rows)
    _, graph = neighbours.attach(np.array([[3.0], [0.0]]))
    source, target = graph.edge_index.numpy()
    assert sorted(source[target == 5]) == sorted(neighbours.nearest[2])
    assert sorted(source[target == 6]) == sorted(neighbours.nearest[0])


def test_repeated_rows_are_neighbours_of_each_other():
    neighbours = Neighbours.build(np.array([[1.0], [1], [1], [5]]), 2, nearest_rows)
    assert all(row not in near for row, near in enumerate(neighbours.nearest.tolist()))
    assert np.sort(neighbours.nearest[:3]).tolist() == [[1, 2], [0, 2], [0, 1]]


def test_there_are_no_more_neighbours_than_rows():
    assert Neighbours.build(LINE, 100, nearest_rows).nearest.shape == (5, 4)
    alone = Neighbours.build(LINE[:1], 3, nearest_rows)
    assert alone.graph().num_edges == 0
    assert alone.attach(LINE)[1].num_edges == 0


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_every_pair_is_compared_block_by_block(make, monkeypatch):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((50, 4))
    distance = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distance, np.inf)
    expected = distance.argsort(axis=1)[:, :3]
    for pairs in (1, 120, 2**24):
        monkeypatch.setattr("akgnn.data.neighbours._AT_A_TIME", pairs)
        assert np.array_equal(nearest_rows(make(rows), None, 3), expected)
    assert np.array_equal(nearest_rows(make(rows), make(rows[:2]), 1), [[0], [1]])
