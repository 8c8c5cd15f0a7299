import pytest
import torch

from akgnn.machine import device, memory
from akgnn.machine.device import free_bytes, size_text
from akgnn.machine.memory import extra_bytes, held_bytes, peak_bytes, reset_peak

CPU = torch.device("cpu")
MIB = 2**20


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A machine with 8 GiB available, and no control group."""
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 16777216 kB\nMemAvailable:    8388608 kB\n")
    (tmp_path / "cgroup").write_text("0::/jobs/one\n")
    monkeypatch.setattr(device, "_MEMORY", meminfo)
    monkeypatch.setattr(device, "_GROUP", tmp_path / "cgroup")
    monkeypatch.setattr(device, "_GROUPS", tmp_path / "groups")
    return tmp_path


def limit(folder, most):
    folder.mkdir(parents=True)
    (folder / "memory.max").write_text(f"{most}\n")
    (folder / "memory.current").write_text(f"{3 * 2**30}\n")
    (folder / "memory.stat").write_text(f"anon 5\ninactive_file {2**30}\n")


def test_the_machine_says_what_is_available(system):
    assert free_bytes(CPU) == 8 * 2**30


@pytest.mark.parametrize("place", ["groups/jobs/one", "groups"])
def test_the_limit_of_a_container_counts(place, system):
    limit(system / place, 6 * 2**30)
    assert free_bytes(CPU) == 4 * 2**30


@pytest.mark.parametrize("most", ["max", 100 * 2**30])
def test_a_limit_above_the_machine_does_not_matter(most, system):
    limit(system / "groups", most)
    assert free_bytes(CPU) == 8 * 2**30


def test_a_system_that_does_not_say_is_taken_as_it_is(system):
    (system / "meminfo").unlink()
    assert free_bytes(CPU) is None


@pytest.mark.gpu
def test_what_pytorch_keeps_for_later_is_free_too():
    device = torch.device("cuda")
    before = free_bytes(device)
    block = torch.empty(2**28, dtype=torch.uint8, device=device)
    assert free_bytes(device) == pytest.approx(before - 2**28, abs=2**24)
    del block
    assert free_bytes(device) == pytest.approx(before, abs=2**24)


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
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "no" / "status")
    monkeypatch.setattr(memory, "_RESET", tmp_path / "no" / "clear_refs")
    reset_peak("cpu")
    assert 50 * MIB < peak_bytes("cpu") < 20_000 * MIB
    assert held_bytes("cpu") is None


def test_what_a_task_takes_is_seen_and_what_lay_there_is_not():
    held = torch.ones(64 * MIB // 4)
    extra = extra_bytes(lambda: held + 1, CPU)
    assert 60 * MIB < extra < 100 * MIB


def test_too_little_to_tell_is_none():
    assert extra_bytes(lambda: torch.ones(10), CPU) is None


def test_elsewhere_than_on_linux_nothing_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "no")
    assert extra_bytes(lambda: torch.ones(64 * MIB // 4), CPU) is None


@pytest.mark.gpu
def test_on_a_card_every_byte_is_seen():
    device = torch.device("cuda")
    assert extra_bytes(lambda: torch.ones(1024, device=device), device) == 4096
    assert free_bytes(device) > 0


def test_sizes_are_written_for_readers():
    assert size_text(3 * 2**20) == "3.0 MiB"
    assert size_text(5 * 2**29) == "2.5 GiB"
    assert size_text(250 * 2**30) == "250 GiB"
