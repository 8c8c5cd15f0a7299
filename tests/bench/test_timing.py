import pytest
import torch

from akgnn.bench import timing
from akgnn.bench.timing import copy_task, take_turns

CPU = torch.device("cpu")


def test_tasks_take_turns(monkeypatch):
    monkeypatch.setattr(timing, "_MOST_LOOPS", 1)
    order = []
    tasks = {name: lambda name=name: order.append(name) for name in "ab"}
    times = take_turns(tasks, 3, CPU)
    # Once to see how quick they are; then quick ones run once unseen before each sample.
    assert "".join(order) == "ab" + "aabb" * 3
    assert {name: len(values) for name, values in times.items()} == {"a": 3, "b": 3}


def test_a_quick_task_is_repeated_within_a_sample(monkeypatch):
    # A clock that a call of the task moves on by a quarter of the shortest sample.
    now = 0.0

    def task():
        nonlocal now
        now += timing._SHORTEST / 4

    monkeypatch.setattr(timing.time, "perf_counter", lambda: now)
    times = take_turns({"quick": task}, 5, CPU)
    assert times["quick"] == pytest.approx([timing._SHORTEST / 4] * 5)
    # Once to see how quick it is, then once unseen and four times seen for each sample.
    assert now == pytest.approx(timing._SHORTEST / 4 * (1 + 5 * 5))


def test_a_slow_task_runs_once_a_sample(monkeypatch):
    now = 0.0

    def task():
        nonlocal now
        now += 1.0

    monkeypatch.setattr(timing.time, "perf_counter", lambda: now)
    assert take_turns({"slow": task}, 2, CPU)["slow"] == (1.0, 1.0)
    assert now == 3


def test_a_copy_reads_and_writes_every_byte():
    copy, moved = copy_task(torch.device("cpu"), 1000)
    target = copy()
    assert moved == 2000
    assert target.numel() == 1000
    assert not target.any()
