"""Processes that are threads of one, for tests of what they say to each other."""

import threading
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from akgnn.distributed.group import Group


class Threads(Group):
    """Processes that are threads of one: all meet before any of them goes on."""

    class Table:
        def __init__(self, size: int) -> None:
            self.size, self.values = size, [None] * size
            self.barrier = threading.Barrier(size, timeout=20)

    def __init__(self, table: "Threads.Table", rank: int) -> None:
        self.table, self.rank, self.size = table, rank, table.size
        self._group = self._control = object()

    def call_roll(self, seconds: float) -> None:
        self.everyone(None)

    def everyone(self, value: object) -> list:
        self.table.values[self.rank] = value
        self.table.barrier.wait()
        values = list(self.table.values)
        self.table.barrier.wait()
        return values

    def _split(self, groups: Sequence[Sequence[int]], own: int) -> Group:
        made = [Threads.Table(len(members)) for members in groups]
        # Those of the first thread.
        tables = self.everyone(made)[0]
        return Threads(tables[own], list(groups[own]).index(self.rank))

    def gather(self, tensor: Tensor) -> list[Tensor]:
        return [each.clone() for each in self.everyone(tensor)]

    def exchange(
        self, out: Tensor, rows: Tensor, received: Sequence[int], sent: Sequence[int]
    ) -> None:
        parts = self.everyone(rows.split(list(sent)))
        mine = [each[self.rank] for each in parts]
        assert [len(part) for part in mine] == list(received)
        out.copy_(torch.cat(mine))


def on_threads(size: int, work: Callable[[Group], object]) -> list:
    """What each of so many threads comes to."""
    table, results, troubles = Threads.Table(size), [None] * size, []

    def begin(rank: int) -> None:
        try:
            results[rank] = work(Group() if size == 1 else Threads(table, rank))
        except Exception as error:
            troubles.append(error)
            table.barrier.abort()

    threads = [threading.Thread(target=begin, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if troubles:
        raise troubles[0]
    return results
