import pytest
import torch

from akgnn.training import peak_memory
from akgnn.training.peak_memory import held_bytes, peak_bytes, reset_peak

MIB = 2**20


def test_the_peak_counts_from_the_reset_on():
    reset_peak("cpu")
    before = held_bytes("cpu")
    # Large enough for memory of its own, which is given back when freed.
    torch.ones(256 * MIB // 4)
    first = peak_bytes("cpu") - before
    assert 250 * MIB < first < 400 * MIB
    reset_peak("cpu")
    assert peak_bytes("cpu") - held_bytes("cpu") < 100 * MIB


@pytest.mark.gpu
def test_on_a_card_the_peak_is_what_torch_took():
    reset_peak("cuda")
    before = held_bytes("cuda")
    torch.ones(64 * MIB // 4, device="cuda")
    assert peak_bytes("cuda") - before == 64 * MIB
    assert held_bytes("cuda") == before


def test_elsewhere_than_linux_the_peak_is_that_of_the_process(tmp_path, monkeypatch):
    monkeypatch.setattr(peak_memory, "_STATUS", tmp_path / "no" / "status")
    monkeypatch.setattr(peak_memory, "_RESET", tmp_path / "no" / "clear_refs")
    reset_peak("cpu")
    assert 50 * MIB < peak_bytes("cpu") < 20_000 * MIB
    assert held_bytes("cpu") is None
