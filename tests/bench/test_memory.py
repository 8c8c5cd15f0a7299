import pytest
import torch

from akgnn.bench import memory
from akgnn.bench.memory import extra_bytes, free_bytes

CPU = torch.device("cpu")
MIB = 2**20


def test_what_a_task_takes_is_seen_and_what_lay_there_is_not():
    held = torch.ones(64 * MIB // 4)
    extra = extra_bytes(lambda: held + 1, CPU)
    assert 60 * MIB < extra < 100 * MIB


def test_too_little_to_tell_is_none():
    assert extra_bytes(lambda: torch.ones(10), CPU) is None


def test_elsewhere_than_on_linux_nothing_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr("akgnn.training.peak_memory._STATUS", tmp_path / "no")
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "no")
    assert extra_bytes(lambda: torch.ones(64 * MIB // 4), CPU) is None
    assert free_bytes(CPU) is None


def test_free_memory_is_what_the_system_says(monkeypatch, tmp_path):
    file = tmp_path / "meminfo"
    file.write_text("MemTotal:  900 kB\nMemFree:  100 kB\nMemAvailable:  300 kB\n")
    monkeypatch.setattr(memory, "_MEMINFO", file)
    assert free_bytes(CPU) == 300 * 1024


@pytest.mark.gpu
def test_on_a_card_every_byte_is_seen():
    device = torch.device("cuda")
    assert extra_bytes(lambda: torch.ones(1024, device=device), device) == 4096
    assert free_bytes(device) > 0
