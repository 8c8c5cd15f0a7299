import pytest
import torch

from akgnn.distributed.group import Group
from akgnn.errors import DataError, FailedRunsError, OutOfMemoryError
from threads_group import on_threads


def test_what_processes_say_comes_by_rank_and_may_be_nothing():
    said = [b"", b"two\x00words", "λ".encode()]
    assert on_threads(3, lambda group: group.gather_bytes(said[group.rank])) == [said] * 3
    assert on_threads(2, lambda group: group.gather_bytes(b"")) == [[b"", b""]] * 2


def test_rows_of_different_numbers_are_gathered():
    counts = [2, 0, 3]

    def work(group):
        return group.gather_rows(torch.full((counts[group.rank], 2), group.rank), counts)

    for rows in on_threads(3, work):
        assert [len(each) for each in rows] == counts
        assert [each.unique().tolist() for each in rows] == [[0], [], [2]]


def test_nobody_has_an_error_and_all_go_on():
    assert on_threads(3, lambda group: group.agree_on(None)) == [None] * 3


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (DataError("Part 3\nis damaged."), DataError),
        (MemoryError("no memory"), OutOfMemoryError),
        (OSError("disk"), FailedRunsError),
    ],
)
def test_the_error_of_one_is_raised_by_all_with_its_rank(error, kind):
    def work(group):
        with pytest.raises(kind, match=r"^Process 1: [^\n]+$"):
            group.agree_on(error if group.rank == 1 else None)
        return True

    assert on_threads(3, work) == [True] * 3


def test_one_process_alone_raises_its_own_error():
    error = DataError("damaged")
    with pytest.raises(DataError) as caught:
        Group().agree_on(error)
    assert caught.value is error


def test_what_fails_in_one_process_fails_in_all():
    def work(group):
        def do():
            if group.rank == 2:
                raise DataError("damaged")
            return group.rank

        with pytest.raises(DataError, match=r"^Process 2: damaged$"):
            group.together(do)
        return group.together(lambda: group.rank)

    assert on_threads(3, work) == [0, 1, 2]
