import pytest
import torch

from akgnn.training import free_memory
from akgnn.training.free_memory import free_bytes

CPU = torch.device("cpu")


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A machine with 8 GiB available, and no control group."""
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 16777216 kB\nMemAvailable:    8388608 kB\n")
    (tmp_path / "cgroup").write_text("0::/jobs/one\n")
    monkeypatch.setattr(free_memory, "_MEMORY", meminfo)
    monkeypatch.setattr(free_memory, "_GROUP", tmp_path / "cgroup")
    monkeypatch.setattr(free_memory, "_GROUPS", tmp_path / "groups")
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
