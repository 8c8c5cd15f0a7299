from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from akgnn.data import sorted_edges
from akgnn.data.sorted_edges import SortedEdges, with_transpose_in_files
from akgnn.graph import Graph

WEIGHTS = [0.0, -0.0, 0.25, 0.1, 1.0, 3.0, 1e-30, 1e30]


@st.composite
def edge_lists(draw: st.DrawFn) -> tuple[int, Tensor, Tensor]:
    nodes = draw(st.integers(1, 9))
    node = st.integers(0, nodes - 1)
    edges = draw(st.lists(st.tuples(node, node, st.sampled_from(WEIGHTS)), max_size=40))
    index = torch.tensor([edge[:2] for edge in edges], dtype=torch.int64).view(-1, 2).T
    return nodes, index, torch.tensor([edge[2] for edge in edges], dtype=torch.float32)


def assert_same(one: Graph, other: Graph) -> None:
    assert one.adjacency.shape == other.adjacency.shape
    assert torch.equal(one.adjacency.pattern.rowptr, other.adjacency.pattern.rowptr)
    assert torch.equal(one.adjacency.pattern.col, other.adjacency.pattern.col)
    if other.edge_weight is None:
        assert one.edge_weight is None
    else:
        assert one.edge_weight is not None
        assert one.edge_weight.dtype == other.edge_weight.dtype
        assert torch.equal(one.edge_weight, other.edge_weight)


@pytest.fixture
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_edges, "_BLOCK", 3)
    monkeypatch.setattr(sorted_edges, "_BUCKET", 4)


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("symmetrise", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edges=edge_lists())
def test_edges_sorted_on_disk_are_the_graph_made_in_memory(
    symmetrise: bool,
    weighted: bool,
    edges: tuple[int, Tensor, Tensor],
    tmp_path_factory: pytest.TempPathFactory,
):
    nodes, index, weight = edges
    expected = Graph.from_edge_index(index, weight if weighted else None, num_nodes=nodes)
    expected = expected.symmetrised() if symmetrise else expected
    made = SortedEdges(
        tmp_path_factory.mktemp("edges"),
        nodes,
        weight_dtype=torch.float32 if weighted else None,
        symmetrise=symmetrise,
    )
    for start in range(0, index.shape[1], 7):
        part = slice(start, start + 7)
        made.add(index[0, part], index[1, part], weight[part] if weighted else None)
    graph = made.finish()
    assert_same(graph, expected)
    both = with_transpose_in_files(graph, tmp_path_factory.mktemp("transpose"))
    assert_same(both.transpose, expected.transpose)


@pytest.mark.usefixtures("_small_blocks")
def test_only_the_graph_stays_in_the_folder(tmp_path: Path):
    made = SortedEdges(tmp_path, 50, symmetrise=True)
    made.add(torch.arange(49), torch.arange(1, 50))
    graph = made.finish()
    assert [file.name for file in tmp_path.iterdir()] == ["col"]
    assert str(tmp_path / "col") in Path("/proc/self/maps").read_text()
    assert graph.is_symmetric


def test_both_graphs_are_themselves_where_they_are_symmetric(tmp_path: Path):
    made = SortedEdges(tmp_path, 3, symmetrise=True)
    made.add(torch.tensor([0]), torch.tensor([1]))
    graph = made.finish()
    assert with_transpose_in_files(graph, tmp_path).transpose is graph


def test_a_hub_has_a_bucket_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sorted_edges, "_BUCKET", 4)
    made = SortedEdges(tmp_path, 30)
    made.add(torch.arange(1, 30), torch.zeros(29, dtype=torch.int64))
    made.add(torch.tensor([0]), torch.tensor([29]))
    assert made.finish().degree.tolist() == [29.0, *[0.0] * 28, 1.0]
