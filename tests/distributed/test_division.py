import pytest
import torch

from akgnn.distributed.division import PartDivision, spans_of
from akgnn.distributed.group import Group
from threads_group import on_threads

ROWS = torch.tensor([3, 0, 5, 2, 7, 1, 4])
STARTS = [0, *ROWS.cumsum(0).tolist()]
# Sums of such different sizes come out otherwise in any other order.
VALUES = (
    torch.randn(7, 4, generator=torch.Generator().manual_seed(0)) * 10.0 ** torch.arange(7)[:, None]
)


def division_of(group: Group) -> tuple[PartDivision, slice, int]:
    spans = spans_of(7, group.size)
    first, last = spans[group.rank]
    begin = STARTS[first]
    blocks = [slice(STARTS[p] - begin, STARTS[p + 1] - begin) for p in range(first, last)]
    return PartDivision(blocks, spans, group), slice(first, last), begin


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
def test_a_total_has_the_same_bits_whoever_holds_the_parts(size):
    def work(group):
        division, own, _ = division_of(group)
        return division.total(VALUES[own])

    # The tree: halves of halves, the shorter one first.
    v = VALUES
    expected = (v[0] + (v[1] + v[2])) + ((v[3] + v[4]) + (v[5] + v[6]))
    for total in on_threads(size, work):
        assert torch.equal(total, expected)


@pytest.mark.parametrize("num_parts", [*range(1, 18), 24, 28])
def test_branches_that_are_added_together_have_the_bits_of_each_by_itself(num_parts):
    generator = torch.Generator().manual_seed(num_parts)
    scale = 10.0 ** torch.arange(num_parts)[:, None, None].remainder(7)
    values = torch.randn(num_parts, 3, 5, generator=generator) * scale

    def plain(first, last):
        middle = (first + last) // 2
        return values[first] if last - first == 1 else plain(first, middle) + plain(middle, last)

    def work(group):
        spans = spans_of(num_parts, group.size)
        own = slice(*spans[group.rank])
        return PartDivision([slice(0)] * (own.stop - own.start), spans, group).total(values[own])

    for size in {1, min(3, num_parts)}:
        for total in on_threads(size, work):
            assert torch.equal(total, plain(0, num_parts))


@pytest.mark.parametrize("size", [1, 3, 5])
def test_rows_of_all_come_in_the_order_of_the_parts(size):
    everyone = torch.arange(STARTS[-1])
    wanted = torch.tensor([0, 2, 3, 9, 10, 17, 21])

    def work(group):
        division, own, begin = division_of(group)
        end = STARTS[own.stop]
        mine = wanted[(wanted >= begin) & (wanted < end)] - begin
        selected = division.selected(mine)
        assert division.selected(mine) is selected
        assert [b.stop - b.start for b in selected.blocks] == [
            int(((wanted >= STARTS[p]) & (wanted < STARTS[p + 1])).sum())
            for p in range(own.start, own.stop)
        ]
        return division.gathered(everyone[begin:end]), selected.gathered(mine + begin)

    for rows, some in on_threads(size, work):
        assert torch.equal(rows, everyone)
        assert torch.equal(some, wanted)


def test_parts_are_shared_out_evenly():
    assert spans_of(7, 3) == [(0, 2), (2, 4), (4, 7)]
    assert spans_of(3, 3) == [(0, 1), (1, 2), (2, 3)]
