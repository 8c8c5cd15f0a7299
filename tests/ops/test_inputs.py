import math

import pytest
import torch

from akgnn.errors import GraphError, SettingsError
from akgnn.graph import Graph
from akgnn.ops import inputs
from akgnn.ops.inputs import as_graph, checked_weights, is_fused, num_groups, spread
from oracles import random_graph, sparse

GRAPH = random_graph(0)
H = torch.ones(12, 6)


def test_weights_become_rows_of_groups():
    column = torch.rand(3, 1)
    rows = checked_weights(GRAPH, H, "sym", column, 1.0)
    assert torch.equal(rows[0], column.view(3))
    assert rows[1] == 1.0


def test_weights_of_replicas_keep_their_rows():
    weight = torch.rand(2, 3)
    (row,) = checked_weights(GRAPH, H.expand(2, -1, -1), "sym", weight)
    assert row is weight


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ((-0.1, 1.0), "self_weight must not be negative, got -0.1"),
        ((torch.tensor([0.1, -0.1]), 1.0), "self_weight must not be negative"),
        ((1.0, math.nan), "neighbour_weight must be finite, got nan"),
        ((1.0, torch.ones(4)), "6 channels cannot be shared out evenly among 4 groups"),
        ((1.0, 1.0, 1.0), "out_weight needs normalisation='row'"),
    ],
)
def test_weights_that_make_no_step_are_refused(weights, message):
    with pytest.raises(SettingsError, match=message):
        checked_weights(GRAPH, H, "sym", *weights)


def test_graphs_that_the_form_does_not_take_are_refused():
    directed = Graph.from_edge_index(torch.tensor([[0], [1]]))
    with pytest.raises(GraphError, match="needs an undirected graph"):
        checked_weights(directed, H[:2], "sym", 1.0, 1.0)
    assert checked_weights(directed, H[:2], "row", 1.0, -1.0) == [1.0, -1.0]


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_spread_gives_each_channel_the_weight_of_its_group(groups):
    weight = torch.rand(2, groups)
    by_channel = torch.as_tensor(spread(weight, 6)).expand(2, 6)
    for channel in range(6):
        assert torch.equal(by_channel[:, channel], weight[:, channel * groups // 6])


@pytest.mark.parametrize(
    ("weight", "groups"), [(2.0, 1), (torch.tensor(2.0), 1), (torch.ones(3), 3)]
)
def test_groups_are_counted_by_the_last_axis(weight, groups):
    assert num_groups(weight) == groups


@pytest.fixture
def _no_triton(monkeypatch):
    monkeypatch.setattr(inputs, "find_spec", lambda name: None)
    inputs._has_triton.cache_clear()
    yield
    inputs._has_triton.cache_clear()


class OnGPU:
    """As much of a tensor on a GPU as is asked for."""

    is_cuda = True

    def __init__(self, dtype):
        self.dtype = dtype


def test_a_cpu_does_not_take_the_fused_ops():
    assert not is_fused(torch.zeros(2, 2))


def test_float64_stays_with_pytorch():
    assert not is_fused(OnGPU(torch.float64))


@pytest.mark.usefixtures("_no_triton")
def test_that_triton_is_missing_is_said_once():
    with pytest.warns(UserWarning, match=r"pip install 'akgnn\[gpu\]'"):
        assert not is_fused(OnGPU(torch.float32))
    # A second warning would be an error here.
    assert not is_fused(OnGPU(torch.bfloat16))


def test_with_triton_a_gpu_takes_the_fused_ops():
    pytest.importorskip("triton")
    assert is_fused(OnGPU(torch.float32))


def test_a_graph_stays_as_it_is():
    graph = random_graph(0)
    assert as_graph(graph, torch.ones(12, 2)) is graph


@pytest.mark.parametrize("kind", [lambda x: x, sparse])
def test_nodes_without_edges_count_by_their_rows(kind):
    graph = as_graph(torch.tensor([[0, 1], [1, 0]]), kind(torch.ones(5, 2)))
    assert (graph.num_nodes, graph.num_edges) == (5, 2)


def test_an_edge_to_a_node_without_a_row_is_refused():
    with pytest.raises(GraphError, match="mentions node 7"):
        as_graph(torch.tensor([[0], [7]]), torch.ones(5, 2))
