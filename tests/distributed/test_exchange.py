import torch

from akgnn.distributed.exchange import Halo
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
        joined = halo.joined(own)
        return len(halo.ids), joined[halo.positions(COLUMNS[group.rank]).long()]

    results = on_threads(3, work)
    # Nothing travels that nobody asked for, and nothing twice.
    assert [number for number, _ in results] == [2, 0, 3]
    for (_, seen), columns in zip(results, COLUMNS, strict=True):
        assert torch.equal(seen, signal[columns.long()])


def test_one_process_copies_nothing():
    (halo,) = on_threads(1, lambda group: Halo([torch.tensor([2, 0, 1])], [0, 3], group))
    h = torch.randn(3, 2)
    assert halo.joined(h) is h
