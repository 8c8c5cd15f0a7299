import pytest
import torch

from akgnn.bench import contest
from akgnn.bench.contest import Contestant, copy_task, measure, reason, take_turns

CPU = torch.device("cpu")


def good(name="good"):
    return Contestant(name, ("a task",), lambda: [lambda: torch.ones(3).sum()])


def failing(error, name="bad", after=0):
    calls = 0

    def task():
        nonlocal calls
        calls += 1
        if calls > after:
            raise error

    return Contestant(name, ("a task",), lambda: [task])


@pytest.mark.parametrize("after", [0, 1], ids=["alone", "beside the others"])
def test_one_that_fails_leaves_the_others_alone(after):
    outcome = measure([good(), failing(RuntimeError("no\nway"), after=after), good("last")], 5, CPU)
    assert [timed.name for timed in outcome.timed] == ["good", "bad", "last"]
    assert [len(timed.seconds) for timed in outcome.timed] == [5, 0, 5]
    assert [timed.error for timed in outcome.timed] == [None, "no", None]
    assert len(outcome.copy_seconds) == 5
    assert outcome.copied_bytes == 2 * 2**16


def test_what_does_not_fit_is_not_tried(monkeypatch):
    monkeypatch.setattr(contest, "free_bytes", lambda device: 2**30)

    def build():
        raise AssertionError("It must not be built.")

    outcome = measure([Contestant("big", ("a task",), build, needs=3 * 2**30), good()], 5, CPU)
    assert outcome.timed[0].error == "does not fit: needs about 3.0 GiB, 1.0 GiB are free"
    assert outcome.timed[1].error is None


def test_a_mistake_in_the_code_is_not_a_failed_contestant():
    with pytest.raises(TypeError, match="a mistake"):
        measure([failing(TypeError("a mistake"))], 5, CPU)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (
            torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 238.42 GiB. GPU 0 has"),
            "out of memory, asked for 238.42 GiB more",
        ),
        (
            RuntimeError(
                "DefaultCPUAllocator: can't allocate memory: you tried to allocate "
                "4294967296 bytes. Error code 12"
            ),
            "out of memory, asked for 4.0 GiB more",
        ),
        (MemoryError(), "out of memory"),
        (RuntimeError("not implemented for 'BFloat16'\nmore"), "not implemented for 'BFloat16'"),
        (RuntimeError("red \x1b[31m text"), "red [31m text"),
        (RuntimeError(), "RuntimeError"),
    ],
)
def test_the_reason_takes_a_few_words(error, says):
    assert reason(error) == says


def test_tasks_take_turns(monkeypatch):
    monkeypatch.setattr(contest, "_MOST_LOOPS", 1)
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
        now += contest._SHORTEST / 4

    monkeypatch.setattr(contest.time, "perf_counter", lambda: now)
    times = take_turns({"quick": task}, 5, CPU)
    assert times["quick"] == pytest.approx([contest._SHORTEST / 4] * 5)
    # Once to see how quick it is, then once unseen and four times seen for each sample.
    assert now == pytest.approx(contest._SHORTEST / 4 * (1 + 5 * 5))


def test_a_slow_task_runs_once_a_sample(monkeypatch):
    now = 0.0

    def task():
        nonlocal now
        now += 1.0

    monkeypatch.setattr(contest.time, "perf_counter", lambda: now)
    assert take_turns({"slow": task}, 2, CPU)["slow"] == (1.0, 1.0)
    assert now == 3


def test_a_copy_reads_and_writes_every_byte():
    copy, moved = copy_task(torch.device("cpu"), 1000)
    target = copy()
    assert moved == 2000
    assert target.numel() == 1000
    assert not target.any()
