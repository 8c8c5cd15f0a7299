import os
from dataclasses import replace

import pytest
import torch

from akgnn.distributed import calibrate
from akgnn.distributed.calibrate import measure, measure_here
from akgnn.distributed.forecast import forecast, num_messages
from akgnn.distributed.group import Group
from akgnn.distributed.hardware import Hardware
from akgnn.distributed.mesh import MeshShape
from akgnn.distributed.workload import planned
from threads_group import on_threads

CPU = torch.device("cpu")
KNOWN = Hardware(
    name="known", source="a test", step=0.01, part=0.0005, row_bytes=(64, 256), edge=(1.5, 4.0),
    signal=2.0, feature=4.0, multiply=0.06, sparse_feature=20.0, sparse_multiply=0.2,
)  # fmt: skip


LATENCY = 1e-3


@pytest.fixture(autouse=True)
def steady_memory(monkeypatch):
    """What is free changes from one moment to the next, and from one process to the other."""
    monkeypatch.setattr(calibrate, "free_bytes", lambda device: 2**30)


def told(each, device, group) -> list[float]:
    """The seconds of tries on hardware whose figures are known, one of them disturbed."""
    work = planned(
        num_nodes=each.nodes,
        num_edges=each.nodes * each.degree,
        num_features=each.features,
        num_classes=7,
        labelled=0,
        channels=each.channels,
    )
    entries = each.nodes * (each.entries or each.features)
    work = replace(
        work, num_parts=each.parts, is_sparse=each.entries is not None, feature_entries=entries
    )
    mesh = MeshShape(group.size, 1) if each.is_along_nodes else MeshShape(1, group.size)
    seconds = forecast(work, MeshShape(1, 1), KNOWN).seconds.total
    seconds += LATENCY * num_messages(work, mesh)
    return [seconds, 5 * seconds, seconds]


def test_figures_are_found_again(monkeypatch):
    monkeypatch.setattr(calibrate, "_step", told)
    found = measure(Group(), CPU, nodes=5000)
    for name in ("step", "part", "signal", "feature", "multiply", "sparse_feature"):
        assert getattr(found, name) == pytest.approx(getattr(KNOWN, name), rel=1e-6), name
    assert found.edge == pytest.approx(KNOWN.edge)
    assert found.wire is None
    assert "graphs of 5,000 nodes" in found.source


def test_graphs_are_neither_too_small_nor_too_large(monkeypatch):
    seen = []
    monkeypatch.setattr(calibrate, "_step", lambda each, *_: seen.append(each.nodes) or [1.0])
    for nodes in (3, 10**9):
        measure(Group(), CPU, nodes=nodes)
    assert {*seen} == {100, 2_000, 40_000}


def test_messages_are_told_by_steps_and_what_they_take_is_not_counted_as_computing(monkeypatch):
    monkeypatch.setattr(calibrate, "_step", told)
    # Sending rows one by one takes no time but what they weigh.
    monkeypatch.setattr(calibrate, "_seconds", lambda do: [1e-9 * do.args[2]])
    made = on_threads(2, lambda group: measure(group, CPU, nodes=5000))
    assert made[0] == made[1]
    assert made[0].latency == pytest.approx(LATENCY)
    for name in ("step", "part", "signal", "feature", "multiply", "sparse_feature"):
        assert getattr(made[0], name) == pytest.approx(getattr(KNOWN, name), rel=1e-6), name


def test_messages_are_timed_between_processes_and_the_slowest_counts(monkeypatch):
    monkeypatch.setattr(calibrate, "_step", lambda *_: [1.0])
    # A turn of twenty messages takes 20 ms, and of 8,000 rows a second more; one process waits.
    monkeypatch.setattr(
        calibrate,
        "_seconds",
        lambda do: [0.02 * (1 + do.args[0].rank) + (do.args[2] - 1) / 7999],
    )
    made = on_threads(2, lambda group: measure(group, CPU, link=60e6))
    assert made[0] == made[1]
    assert made[0].latency == pytest.approx(0.04 / 20)
    rate = 15 * 7999 * 64 * 4
    assert made[0].wire == 60e6
    assert made[0].efficiency == pytest.approx(rate / 60e6)
    assert on_threads(2, lambda group: measure(group, CPU))[0].wire == pytest.approx(rate)


def test_messages_are_as_large_as_those_of_the_halo_within_bounds(monkeypatch):
    monkeypatch.setattr(calibrate, "_step", told)
    sent = []
    monkeypatch.setattr(calibrate, "_seconds", lambda do: sent.append(do.args[2]) or [1e-3])
    for halo in (None, 3, 2_000, 10**9):
        on_threads(2, lambda group, halo=halo: measure(group, CPU, halo=halo))
    assert {*sent} == {1, 8_000, 500, 2_000, 16_000}


@pytest.mark.parametrize("is_along_nodes", [False, True])
def test_processes_take_the_steps_of_a_try_together(is_along_nodes, monkeypatch):
    monkeypatch.setattr(calibrate, "_EPOCHS", 3)
    each = calibrate._Try(60, channels=4, is_along_nodes=is_along_nodes)
    steps = on_threads(2, lambda group: calibrate._step(each, CPU, group))
    assert [len(seconds) for seconds in steps] == [1, 1]
    assert all(seconds > 0 for (seconds,) in steps)


def test_processes_of_one_machine_share_its_memory(monkeypatch):
    monkeypatch.setattr(calibrate, "_step", told)
    monkeypatch.setattr(calibrate, "free_bytes", lambda device: 8_000)
    assert measure(Group(), CPU, sharing=4).memory == 2_000


def test_a_try_is_really_trained(monkeypatch):
    monkeypatch.setattr(calibrate, "_EPOCHS", 3)
    for each in (calibrate._Try(60, parts=4), calibrate._Try(60, features=40, entries=5)):
        assert all(seconds > 0 for seconds in calibrate._step(each, CPU, Group()))


def test_this_machine_alone_is_measured_without_a_wire(monkeypatch):
    monkeypatch.setattr(calibrate, "_step", told)
    assert measure_here(1, CPU).wire is None


def test_processes_that_measure_this_machine_listen_on_loopback(monkeypatch, tmp_path):
    def spawned(measured, arguments, nprocs):
        monkeypatch.setenv("GLOO_SOCKET_IFNAME", "nowhere0")
        measured(0, *arguments)

    def join(*_, **__):
        raise InterruptedError(os.environ["GLOO_SOCKET_IFNAME"])

    monkeypatch.setattr(calibrate, "spawn", spawned)
    monkeypatch.setattr(calibrate.dist, "init_process_group", join)
    with pytest.raises(InterruptedError, match=r"^lo0?$"):
        measure_here(2, CPU)
