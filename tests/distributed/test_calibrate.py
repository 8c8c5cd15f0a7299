import time
from dataclasses import replace

import pytest
import torch

from akgnn.distributed import calibrate
from akgnn.distributed.calibrate import measure, measure_here
from akgnn.distributed.forecast import forecast
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
    seconds = forecast(work, MeshShape(1, 1), KNOWN).seconds.total
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


def test_a_step_is_over_when_it_is_in_all_processes():
    """The clock of who is quick waits for who is slow."""

    def timed(group):
        clock = calibrate._Clock(CPU, group)
        time.sleep(0.2 * group.rank)
        clock.after_epoch([])
        return clock.times[-1]

    quick, slow = on_threads(2, timed)
    assert quick == pytest.approx(slow, abs=0.15)


def test_messages_are_timed_between_processes_and_the_slowest_counts(monkeypatch):
    monkeypatch.setattr(calibrate, "_step", told)
    # A message of one row takes 1 ms, one of 8,000 rows a second more.
    monkeypatch.setattr(calibrate, "_seconds", lambda do: [1e-3 + (do.args[2] - 1) / 7999])
    made = on_threads(2, lambda group: measure(group, CPU, link=4e6))
    assert made[0] == made[1]
    assert made[0].latency == pytest.approx(1e-3)
    assert made[0].wire == 4e6
    assert made[0].efficiency == pytest.approx(7999 * 64 * 4 / 4e6)
    assert on_threads(2, lambda group: measure(group, CPU))[0].wire == pytest.approx(7999 * 256)


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
