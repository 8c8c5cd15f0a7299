from dataclasses import replace

import pytest

from akgnn.distributed.hardware import H200, HARDWARE, read_hardware, write_hardware
from akgnn.errors import DataError


def test_figures_are_read_as_they_were_written(tmp_path):
    for hardware in (*HARDWARE.values(), replace(H200, memory=None, wire=None, inside=None)):
        write_hardware(tmp_path / "h.json", hardware)
        assert read_hardware(tmp_path / "h.json") == hardware


BOX = replace(
    H200,
    row_bytes=(16, 64, 128),
    edge=(1.0, 2.0, 4.0),
    large_edge=(3.0, 4.0, 8.0),
    edge_nodes=(100, 300),
)


def test_times_of_edges_lie_between_those_measured():
    assert BOX.edge_time(64) == 2.0
    assert BOX.edge_time(96) == 3.0
    # Narrow rows are no quicker than the narrowest, wide ones take their bytes.
    assert BOX.edge_time(4) == 1.0
    assert BOX.edge_time(512) == 16.0


@pytest.mark.parametrize(
    ("nodes", "time"), [(0, 2.0), (100, 2.0), (200, 3.0), (300, 4.0), (9999, 4.0)]
)
def test_edges_of_large_graphs_take_longer(nodes, time):
    assert BOX.edge_time(64, nodes) == time
    assert replace(BOX, large_edge=()).edge_time(64, nodes) == 2.0


def test_processes_of_one_machine_have_its_own_wire():
    assert H200.bandwidth(8) == 300e9
    assert H200.bandwidth(9) == 50e9
    assert replace(H200, inside=None, efficiency=0.5).bandwidth(2) == 25e9


@pytest.mark.parametrize(
    "wrong",
    [
        {"wire": 0},
        {"memory": 0},
        {"latency": -1.0},
        {"step": float("inf")},
        {"row_bytes": ()},
        {"row_bytes": (32, 16, 64, 128, 256)},
        {"edge": (1.0,)},
        {"edge": (1.0, 0.0, 1.0, 1.0, 1.0)},
        {"large_edge": (1.0,)},
        {"large_edge": (1.0, 0.0, 1.0, 1.0, 1.0)},
        {"edge_nodes": (5, 5)},
    ],
)
def test_figures_that_no_machine_has_are_refused(wrong):
    with pytest.raises(ValueError, match="must"):
        replace(H200, **wrong)


@pytest.mark.parametrize("text", ["", "[]", "{}", "nothing", '{"name": 3}', "[" * 5000])
def test_a_file_without_figures_is_refused_in_one_line(text, tmp_path):
    file = tmp_path / "h.json"
    file.write_text(text)
    with pytest.raises(DataError, match="has no figures of hardware") as caught:
        read_hardware(file)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(DataError, match=r"nothing\.json"):
        read_hardware(tmp_path / "nothing.json")
