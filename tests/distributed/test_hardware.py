from dataclasses import replace

import pytest

from akgnn.distributed.hardware import H200, HARDWARE, read_hardware, write_hardware
from akgnn.errors import DataError


def test_figures_are_read_as_they_were_written(tmp_path):
    for hardware in (*HARDWARE.values(), replace(H200, memory=None, wire=None, inside=None)):
        write_hardware(tmp_path / "h.json", hardware)
        assert read_hardware(tmp_path / "h.json") == hardware


def test_times_of_edges_lie_between_those_measured():
    assert H200.edge_time(64) == 0.029
    assert H200.edge_time(96) == pytest.approx((0.029 + 0.0425) / 2)
    # Narrow rows are no quicker than the narrowest, wide ones take their bytes.
    assert H200.edge_time(4) == 0.0245
    assert H200.edge_time(512) == pytest.approx(0.148)


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
