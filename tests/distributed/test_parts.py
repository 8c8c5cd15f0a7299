from dataclasses import replace

import pytest
import torch
from torch import Tensor

from akgnn.csr import CSR
from akgnn.data.catalogue import load_dataset
from akgnn.data.node_data import NodeData
from akgnn.distributed.parts import MemoryParts, cut_in_memory
from akgnn.errors import DataError
from akgnn.graph import Graph
from parts_data import KINDS, small_data, some_owner


def new_order(parts: MemoryParts) -> Tensor:
    """The original id of each new one."""
    return torch.cat([part.ids for part in parts.parts])


def dense_rows(parts: MemoryParts, *, transpose: bool = False) -> Tensor:
    """The adjacency put together from the rows of all parts, in the original order."""
    order = new_order(parts)
    matrix = torch.zeros(len(order), len(order), dtype=torch.float64)
    for part in parts.parts:
        rowptr, col, value = part.rowptr, part.col, part.value
        if transpose:
            assert part.transpose is not None
            rowptr, col, value = part.transpose
        row = part.ids.repeat_interleave(rowptr.diff())
        matrix[row, order[col.long()]] = 1.0 if value is None else value.double()
    return matrix


def whole(parts: MemoryParts, name: str) -> Tensor:
    """One array of all parts in the original order."""
    return torch.cat([getattr(part, name) for part in parts.parts])[new_order(parts).argsort()]


@pytest.fixture(params=KINDS)
def data(request: pytest.FixtureRequest) -> NodeData:
    return small_data(request.param)


@pytest.fixture
def parts(data: NodeData) -> MemoryParts:
    return cut_in_memory(data, some_owner(40))


def test_rows_of_all_parts_make_the_graph(data: NodeData, parts: MemoryParts):
    assert torch.equal(dense_rows(parts), data.graph.adjacency.to_dense(torch.float64))


def test_directed_parts_hold_the_transpose(data: NodeData, parts: MemoryParts):
    if data.graph.is_symmetric:
        assert all(part.transpose is None for part in parts.parts)
    else:
        expected = data.graph.adjacency.to_dense(torch.float64).T
        assert torch.equal(dense_rows(parts, transpose=True), expected)


def test_entries_of_a_row_keep_the_order_of_original_ids(parts: MemoryParts):
    order = new_order(parts)
    for part in parts.parts:
        for start, stop in zip(part.rowptr[:-1].tolist(), part.rowptr[1:].tolist(), strict=True):
            assert bool((order[part.col[start:stop].long()].diff() > 0).all())


def test_each_part_has_the_nodes_it_owns_ascending(parts: MemoryParts):
    owner = some_owner(40)
    for part in parts.parts:
        assert torch.equal(part.ids, (owner == part.index).nonzero().view(-1))
        low, high = parts.facts.starts[part.index : part.index + 2]
        assert high - low == part.num_nodes


def test_what_is_known_of_nodes_goes_with_them(data: NodeData, parts: MemoryParts):
    assert torch.equal(whole(parts, "y"), data.y)
    assert torch.equal(whole(parts, "degree"), data.graph.degree)
    x = torch.cat([p.x if isinstance(p.x, Tensor) else p.x.to_dense() for p in parts.parts])
    expected = data.x if isinstance(data.x, Tensor) else data.x.to_dense()
    assert torch.equal(x[new_order(parts).argsort()], expected)
    assert all(isinstance(part.x, CSR) == isinstance(data.x, CSR) for part in parts.parts)


@pytest.mark.parametrize("name", ["train", "val", "test"])
def test_split_is_in_rows_of_the_part(data: NodeData, parts: MemoryParts, name: str):
    nodes = torch.cat([part.ids[getattr(part.split, name)] for part in parts.parts])
    assert torch.equal(nodes.sort().values, getattr(data.split, name))
    rows = [getattr(part.split, name) for part in parts.parts]
    assert all(bool((each.diff() > 0).all()) for each in rows)


def test_facts_are_those_of_the_whole_graph(data: NodeData, parts: MemoryParts):
    facts, graph = parts.facts, data.graph
    assert (facts.num_nodes, facts.num_edges) == (graph.num_nodes, graph.num_edges)
    assert facts.mean_degree == graph.mean_degree
    assert facts.mean_out_degree == graph.transpose.mean_degree
    assert facts.is_symmetric == graph.is_symmetric
    assert facts.has_negative_weights == graph.has_negative_weights
    assert (facts.num_train, facts.num_val, facts.num_test) == (9, 6, 10)
    assert sum(facts.class_counts) == 9
    assert facts.split_fingerprint == data.split.fingerprint


def test_parts_may_be_without_training_nodes_and_of_one_node():
    data = small_data("dense")
    owner = torch.zeros(40, dtype=torch.int64)
    alone = int((data.y < 0).nonzero()[0])
    owner[alone] = 1
    part = cut_in_memory(data, owner).part(1)
    assert part.num_nodes == 1
    assert not part.split.train.numel()


def test_isolated_nodes_may_be_a_part():
    data = small_data("weighted")
    owner = (torch.arange(40) >= 38).long()
    part = cut_in_memory(data, owner).part(1)
    assert part.rowptr.tolist() == [0, 0, 0]
    assert not part.col.numel()
    assert part.value is not None
    assert part.degree.tolist() == [0, 0]


def test_content_names_cut_and_data(data: NodeData, parts: MemoryParts):
    again = cut_in_memory(replace(data, name="renamed"), some_owner(40))
    assert again.facts.content == parts.facts.content
    other = some_owner(40)
    other[-1] = (other[-1] + 1) % 3
    assert cut_in_memory(data, other).facts.content != parts.facts.content
    y = data.y.clone()
    y[int((y < 0).nonzero()[0])] = 0
    changed = cut_in_memory(replace(data, y=y), some_owner(40))
    assert changed.facts.content != parts.facts.content


def test_columns_are_int32_where_ids_fit(parts: MemoryParts):
    assert all(part.col.dtype == torch.int32 for part in parts.parts)
    assert all(part.rowptr.dtype == torch.int64 for part in parts.parts)


def test_cora_in_one_part_is_cora():
    data = load_dataset("cora")
    part = cut_in_memory(data, torch.zeros(2708, dtype=torch.int64)).part(0)
    assert torch.equal(part.col, data.graph.adjacency.pattern.col)
    assert torch.equal(part.split.test, data.split.test)


@pytest.mark.parametrize(
    ("owner", "message"),
    [
        (torch.zeros(39, dtype=torch.int64), "as many int64 numbers"),
        (torch.zeros(40), "as many int64 numbers"),
        (torch.arange(40) - 1, "numbered from 0 on, got -1"),
        (torch.arange(40) * 2, "Part 1 has no nodes"),
    ],
)
def test_wrong_owners_are_refused(owner: Tensor, message: str):
    with pytest.raises(DataError, match=message):
        cut_in_memory(small_data("dense"), owner)


def test_label_inputs_and_class_weights_are_refused():
    data = small_data("dense")
    with pytest.raises(DataError, match="without labels among its features"):
        cut_in_memory(data.with_label_inputs(), some_owner(40))
    with pytest.raises(DataError, match="without weights of its classes"):
        cut_in_memory(replace(data, class_weight=torch.ones(3)), some_owner(40))


def test_a_graph_without_edges_is_cut():
    data = small_data("dense")
    none = torch.empty(2, 0, dtype=torch.int64)
    parts = cut_in_memory(
        replace(data, graph=Graph.from_edge_index(none, num_nodes=40)), some_owner(40)
    )
    assert parts.facts.num_edges == 0
    assert parts.facts.mean_degree == 1.0
