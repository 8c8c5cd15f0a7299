import time

import pytest

from akgnn.experiments.workers import Death, share_out
from worker_tasks import double, pause


@pytest.mark.parametrize("num_workers", [1, 2])
def test_every_task_has_its_result(num_workers):
    assert dict(share_out(double, [1, 2, 3, 4, 5], num_workers)) == {k: 2 * k for k in range(1, 6)}


def test_a_worker_that_dies_costs_its_own_task_alone():
    results = dict(share_out(double, [1, "die", 2, "exit", 3], 1))
    assert [results[k] for k in (1, 2, 3)] == [2, 4, 6]
    assert isinstance(results["die"], Death)
    assert "out of memory" in results["die"].reason
    assert results["exit"].reason == "The process ended with status 3."


def test_a_request_to_stop_ends_the_workers():
    started = time.monotonic()
    assert list(share_out(pause, [1, 2], 1, should_stop=lambda: True)) == []
    assert time.monotonic() - started < 50


def test_no_tasks_start_no_workers():
    assert list(share_out(double, [], 2)) == []
