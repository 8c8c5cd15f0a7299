import pytest
import torch

from akgnn.distributed.costs import Share, Survey
from akgnn.distributed.division import spans_of
from akgnn.distributed.parts import MemoryParts, cut_in_memory
from akgnn.graph import Graph
from parts_data import small_data, some_owner


def surveyed(parts: MemoryParts) -> Survey:
    survey = Survey(parts.facts.starts)
    for part in parts.parts:
        survey.add(part)
    return survey


def halo(parts: MemoryParts, group: range, *, transpose: bool = False) -> int:
    """The nodes beside a group of parts, counted as a set."""
    low, high = parts.facts.starts[group.start], parts.facts.starts[group.stop]
    needed: set[int] = set()
    for index in group:
        part = parts.part(index)
        col = part.transpose[1] if transpose and part.transpose is not None else part.col
        needed |= set(col.tolist())
    return len([node for node in needed if not low <= node < high])


@pytest.mark.parametrize("kind", ["dense", "weighted and directed"])
@pytest.mark.parametrize("num_parts", [4, 9])
def test_halos_are_those_of_the_process_that_needs_most(kind: str, num_parts: int):
    parts = cut_in_memory(small_data(kind), some_owner(40, num_parts))
    costs = surveyed(parts).costs("x")
    assert [share.processes for share in costs.shares] == [1, 2, 4, 8][: len(costs.shares)]
    for share in costs.shares:
        groups = [range(*span) for span in spans_of(num_parts, share.processes)]
        assert share.halo == max(halo(parts, group) for group in groups)
        assert share.transpose_halo == max(halo(parts, group, transpose=True) for group in groups)
    assert costs.shares[0].halo == 0
    assert costs.shares[0].nodes == 40


def test_more_parts_than_bits_of_a_word_are_told_apart():
    data = small_data("dense", num_nodes=80)
    parts = cut_in_memory(data, torch.arange(80))
    costs = surveyed(parts).costs("x")
    assert costs.shares[-1].processes == 64
    groups = [range(*span) for span in spans_of(80, 64)]
    assert costs.shares[-1].halo == max(halo(parts, group) for group in groups)
    assert costs.largest_halo == max(halo(parts, range(i, i + 1)) for i in range(80))


def test_edge_cut_and_balance_of_a_path():
    index = torch.tensor([[0, 1, 2], [1, 2, 3]])
    graph = Graph.from_edge_index(torch.cat([index, index.flip(0)], 1), num_nodes=40)
    from dataclasses import replace

    parts = cut_in_memory(replace(small_data("dense"), graph=graph), (torch.arange(40) > 1).long())
    costs = surveyed(parts).costs("order")
    assert costs.cut == "order"
    assert costs.edge_cut == pytest.approx(2 / 6)
    assert costs.largest_halo == 1
    # Three entries and 0.15 a node in either part, of 2 and 38 nodes.
    assert costs.work_balance == pytest.approx((3 + 38 * 0.15) / 6)


def test_a_graph_without_edges_is_balanced_by_its_nodes():
    from dataclasses import replace

    none = Graph.from_edge_index(torch.empty(2, 0, dtype=torch.int64), num_nodes=40)
    data = replace(small_data("dense"), graph=none)
    costs = surveyed(cut_in_memory(data, torch.arange(40) % 4)).costs("x")
    assert (costs.work_balance, costs.edge_cut, costs.largest_halo) == (1, 0, 0)


def test_bytes_and_memory_follow_the_formula():
    share = Share(
        processes=2, nodes=100, edges=1000, feature_bytes=5000, halo=30, transpose_halo=20
    )
    assert share.bytes_received(num_layers=5, channels=64) == 5 * (30 + 20) * 64 * 4
    with_evaluation = share.bytes_received(num_layers=5, channels=64, forward=2)
    assert with_evaluation == 5 * (30 + 20 + 30) * 64 * 4
    memory = share.memory(num_layers=5, channels=64)
    assert memory.graph == 4 * 1000 + 24 * 100
    assert memory.features == 5000
    # One a layer and five, scalings of each layer, and own rows that are gathered.
    assert memory.signals == 100 * ((5 + 5) * 64 * 4 + 5 * 3 * 4 + 64 * 4)
    # What arrives and what is sent, and who asks for what.
    assert memory.halo == 30 * (2 * 64 * 4 + 16)
    assert memory.total == sum((memory.graph, memory.features, memory.signals, memory.halo))


def test_rows_of_a_large_graph_are_gathered_32_channels_at_a_time():
    small, large = (
        Share(2, nodes, 0, 0, halo=30, transpose_halo=30).memory(num_layers=5, channels=64)
        for nodes in (2**16, 2**16 + 1)
    )
    assert small.halo == 30 * (2 * 64 * 4 + 16)
    assert large.halo == 30 * (2 * 32 * 4 + 16)
    assert large.signals < small.signals


def test_one_process_gathers_all_channels_of_a_large_graph():
    memory = Share(1, 2**18, 0, 0, halo=0, transpose_halo=0).memory(num_layers=5, channels=64)
    assert memory.signals == 2**18 * ((5 + 5) * 64 * 4 + 5 * 3 * 4 + 64 * 4)


def test_signals_of_bfloat16_are_those_of_the_fused_operations():
    share = Share(2, 100, 1000, 5000, halo=30, transpose_halo=20)
    memory = share.memory(num_layers=5, channels=64, number_bytes=2)
    assert memory.graph == 4 * 1000 + 8 * 100
    assert memory.signals == (5 + 6) * 100 * 64 * 2
    assert memory.halo == 2 * 30 * 64 * 2


@pytest.mark.parametrize("num_parts", [1, 2, 3, 63, 64, 65, 79])
def test_the_parts_of_processes_are_those_of_64_groups(num_parts: int):
    data = small_data("dense", num_nodes=80)
    owner = torch.arange(80) % num_parts
    parts = cut_in_memory(data, owner)
    costs = surveyed(parts).costs("x")
    for share in costs.shares:
        groups = [range(*span) for span in spans_of(num_parts, share.processes)]
        assert share.halo == max(halo(parts, group) for group in groups)
    assert costs.shares[-1].processes <= num_parts < 2 * costs.shares[-1].processes or (
        costs.shares[-1].processes == 64
    )
