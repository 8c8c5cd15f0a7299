import torch

from akgnn.distributed.exchange import DividedGraph, Halo
from akgnn.distributed.group import Group
from akgnn.ops.products import neighbour_product
from threads_group import on_threads

STARTS = [0, 4, 6, 10]
COLUMNS = [
    torch.tensor([1, 9, 5, 9, 0]),
    torch.tensor([4, 5], dtype=torch.int32),
    torch.tensor([0, 3, 7, 4, 3]),
]


def test_own_rows_come_first_and_then_those_that_were_asked_for():
    signal = torch.randn(10, 2)

    def work(group):
        halo = Halo([COLUMNS[group.rank]], STARTS, group)
        own = signal[STARTS[group.rank] : STARTS[group.rank + 1]]
        joined = torch.empty(halo.num_columns, 2)
        halo.join(own, None, joined)
        return len(halo.ids), joined[halo.positions(COLUMNS[group.rank]).long()]

    results = on_threads(3, work)
    # Nothing travels that nobody asked for, and nothing twice.
    assert [number for number, _ in results] == [2, 0, 3]
    for (_, seen), columns in zip(results, COLUMNS, strict=True):
        assert torch.equal(seen, signal[columns.long()])


def test_one_process_numbers_nothing_anew():
    (halo,) = on_threads(1, lambda group: Halo([torch.tensor([2, 0, 1])], [0, 3], group))
    columns = torch.tensor([2, 0, 1])
    assert halo.positions(columns) is columns


def test_a_signal_is_scaled_before_it_travels():
    signal, scale = torch.randn(10, 2), torch.rand(10, 1)

    def work(group):
        own = slice(*STARTS[group.rank : group.rank + 2])
        halo = Halo([COLUMNS[group.rank]], STARTS, group)
        joined = torch.empty(halo.num_columns, 2)
        halo.join(signal[own], scale[own], joined)
        return joined[own.stop - own.start :], halo.ids

    for received, ids in on_threads(3, work):
        assert torch.equal(received, (scale * signal)[ids])


def test_rows_of_a_few_parts_at_a_time_are_those_of_all():
    sizes, generator = (3, 1, 4), torch.Generator().manual_seed(2)
    parts = []
    for size in sizes:
        rows = [torch.randperm(8, generator=generator)[: size - row] for row in range(size)]
        rowptr = torch.tensor([0, *map(len, rows)]).cumsum(0)
        parts.append((rowptr, torch.cat(rows), torch.rand(int(rowptr[-1]), generator=generator)))

    def graph(at_once):
        halo = Halo([col for _, col, _ in parts], [0, 8], Group())
        facts = {"mean_degree": 1.0, "has_negative_weights": False}
        return DividedGraph(parts, halo, torch.ones(8), at_once=at_once, **facts)

    h, left, right = (torch.randn(8, width, generator=generator) for width in (5, 1, 5))
    expected = neighbour_product(graph(None), h, left, right)
    dense = torch.cat([matrix.to_dense() for _, matrix in graph(1).row_blocks()])
    torch.testing.assert_close(expected, left * (dense @ (right * h)))
    for at_once, blocks in ((1, 3), (2, 2), (3, 1)):
        divided = graph(at_once)
        assert len(list(divided.row_blocks())) == blocks
        assert (divided.num_nodes, divided.num_edges) == (8, sum(len(part[1]) for part in parts))
        assert torch.equal(neighbour_product(divided, h, left, right), expected)


def test_a_large_graph_is_multiplied_a_few_rows_at_a_time_in_one_place(monkeypatch):
    generator = torch.Generator().manual_seed(3)
    rows = [torch.randperm(8, generator=generator)[: 8 - row] for row in range(8)]
    rowptr = torch.tensor([0, *map(len, rows)]).cumsum(0)
    part = (rowptr, torch.cat(rows), torch.rand(int(rowptr[-1]), generator=generator))

    def graph(transpose=None):
        halo = Halo([part[1]], [0, 8], Group())
        facts = {"mean_degree": 1.0, "has_negative_weights": False}
        return DividedGraph([part], halo, torch.ones(8), transpose=transpose, **facts)

    h = torch.randn(8, 5, generator=generator)
    expected = neighbour_product(graph(), h)
    monkeypatch.setattr("akgnn.distributed.exchange._SMALL_GRAPH", 0)
    monkeypatch.setattr("akgnn.distributed.exchange._CHANNELS_AT_ONCE", 2)
    # As if rows of others were among them.
    monkeypatch.setattr(Halo, "num_processes", 2)
    monkeypatch.setattr("akgnn.distributed.exchange._ROWS_AT_ONCE", 3)
    large = graph(transpose=graph())
    assert [matrix.shape for _, matrix in large.row_blocks()] == [(3, 8), (3, 8), (2, 8)]
    assert large.num_edges == len(part[1])
    assert torch.equal(neighbour_product(large, h), expected)
    first = [columns.data_ptr() for _, columns in large.gathered(h, None)]
    assert {*first} == {columns.data_ptr() for _, columns in large.transpose.gathered(h, None)}
    assert (len(first), len({*first})) == (3, 1)
