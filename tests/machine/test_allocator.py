import os
import subprocess
import sys

import pytest

from akgnn.machine import device as allocator
from akgnn.machine.device import (
    give_back_freed_memory,
    give_back_signals,
    keep_freed_memory,
)

FAULTS = """
import resource, torch
from akgnn.machine.device import keep_freed_memory, show_a_large_block
torch.set_num_threads(1)
{call}

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        blocks = [torch.ones({floats}) for _ in range({number})]
        while blocks:
            blocks.pop()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
print(faults())
"""


# Where glibc's own thresholds stand depends on what was freed before; with these they are fixed.
FIXED = {"MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}


def faults_with(call, environment=FIXED, mebibytes=4, number=10):
    program = FAULTS.format(call=call, floats=mebibytes * 2**18, number=number)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="glibc is Linux's")
def test_memory_that_was_freed_is_used_again_without_asking_the_system():
    # 40 MiB of blocks, fifty times over.
    assert faults_with("keep_freed_memory()") < 50_000 < faults_with("")


def test_elsewhere_nothing_happens(monkeypatch):
    monkeypatch.setattr(allocator.sys, "platform", "darwin")
    monkeypatch.setattr(allocator.ctypes, "CDLL", lambda name: 1 / 0)
    keep_freed_memory()
    give_back_freed_memory()
    give_back_signals()


KEPT = """
import torch
from akgnn.machine.device import give_back_freed_memory, keep_freed_memory
from akgnn.machine.memory import held_bytes

keep_freed_memory()
before = held_bytes("cpu")
torch.ones(2**26)
kept = held_bytes("cpu") - before
give_back_freed_memory()
print(kept, held_bytes("cpu") - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc is Linux's")
def test_a_large_block_that_was_shown_lets_glibc_keep_what_smaller_ones_leave():
    # Five of 12 MiB are less than twice the block, and more than twice one of them.
    assert faults_with("show_a_large_block()", {}, 12, 5) < 50_000
    # What a user has set stays.
    assert faults_with("show_a_large_block()", FIXED, 12, 5) > 50_000


@pytest.mark.skipif(sys.platform != "linux", reason="glibc is Linux's")
def test_what_was_kept_can_be_given_back():
    done = subprocess.run([sys.executable, "-c", KEPT], capture_output=True, text=True, check=True)
    kept, left = map(int, done.stdout.split())
    assert left < 2**26 < 2**28 <= kept + 2**20


HELD = """
import torch
from akgnn.machine.device import LARGE_SIGNAL, give_back_signals, keep_freed_memory
from akgnn.machine.memory import held_bytes

{call}
before, pinned = held_bytes("cpu"), []
for _ in range(16):
    signal = torch.ones(LARGE_SIGNAL)
    pinned.append(torch.ones(2000))
    del signal
print((held_bytes("cpu") - before) // LARGE_SIGNAL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc is Linux's")
def test_large_signals_go_back_to_the_system_as_soon_as_they_are_freed():
    def held(call: str) -> int:
        words = [sys.executable, "-c", HELD.format(call=call)]
        return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)

    # A signal of float32 is four times the bytes.
    assert held("give_back_signals()") == 0
    assert held("keep_freed_memory()") >= 4
