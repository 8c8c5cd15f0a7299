import threading
import time

import pytest
import torch.distributed as dist

from akgnn.distributed.alarm import Alarm
from akgnn.errors import DataError, FailedRunsError, OutOfMemoryError


@pytest.fixture
def three():
    """The alarms of three processes that met at one store."""
    store = dist.HashStore()
    return [Alarm(store, rank, 3) for rank in range(3)]


def test_the_error_of_one_is_that_of_all_who_lose_it(three):
    told = three[1].tell(DataError("part-00003 is\ndamaged."))
    assert str(told) == "Process 1: part-00003 is damaged."
    for rank in (0, 2):
        error = three[rank].verdict("Connection closed by peer")
        assert isinstance(error, DataError)
        assert str(error) == "Process 1: part-00003 is damaged."


def test_running_out_of_memory_stays_that(three):
    assert isinstance(three[2].tell(MemoryError()), OutOfMemoryError)
    assert isinstance(three[0].verdict("Connection reset"), OutOfMemoryError)


def test_an_error_that_nobody_expects_keeps_its_kind_where_it_came(three):
    assert three[2].tell(RuntimeError("Wrong shape.")) is None
    assert str(three[0].verdict("Connection reset")) == "Process 2: Wrong shape."


def test_what_all_agreed_on_has_one_number(three):
    told = three[0].tell(DataError("Process 1: damaged."))
    assert str(told) == "Process 1: damaged."


def test_an_alarm_needs_no_memory_for_a_thread(three, monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        three[1].tell(MemoryError())
    assert isinstance(three[0].verdict("Connection reset"), OutOfMemoryError)


def test_who_does_not_answer_is_named_by_all():
    store = dist.HashStore()
    alarms = [Alarm(store, rank, 4) for rank in (0, 2)]
    errors = [alarm.verdict("Timed out") for alarm in alarms]
    for error in errors:
        assert isinstance(error, FailedRunsError)
        assert str(error).startswith("Processes 1, 3 are gone, or silent.")


def test_a_process_that_waits_elsewhere_answers(three):
    # Only the first has noticed anything; the threads of the others speak for them.
    error = three[0].verdict("Connection reset by peer")
    assert "all answer: Connection reset by peer" in str(error)


class GoneStore:
    """A store whose process is gone, or does not answer."""

    def __init__(self, wait_for=None):
        self.wait_for = wait_for

    def clone(self):
        return self

    def fail(self, *_):
        if self.wait_for is not None:
            self.wait_for.wait()
        raise dist.DistNetworkError("Connection reset by peer")

    set = get = check = compare_set = wait = fail


def test_a_store_that_is_gone_means_process_0():
    error = Alarm(GoneStore(), 2, 3).verdict("Connection reset by peer")
    assert str(error).startswith("Process 0 is gone, or silent.")


def test_a_store_that_never_answers_is_not_waited_for():
    released = threading.Event()
    alarm = Alarm(GoneStore(released), 1, 3)
    error = alarm.verdict("Timed out")
    released.set()
    assert str(error).startswith("Process 0 is gone, or silent.")


def test_at_a_good_end_all_threads_go(three):
    ends = [threading.Thread(target=alarm.end) for alarm in three]
    for thread in ends:
        thread.start()
    for thread in ends:
        thread.join()
    while any(alarm._listener.is_alive() for alarm in three):
        time.sleep(0.01)
