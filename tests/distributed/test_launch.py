import os
import signal
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from akgnn.distributed import launch
from akgnn.distributed.launch import (
    NO_SHARED_STORE,
    backend_for,
    check_restarts,
    environment_for,
    joined,
    kill_stopped_siblings,
    own_device,
)
from akgnn.errors import FailedRunsError, InterruptedRunError, OutOfMemoryError, SettingsError


@pytest.fixture
def by_torchrun(monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    monkeypatch.setenv("TORCHELASTIC_MAX_RESTARTS", "3")


def test_restarts_with_the_addresses_of_the_dead_are_refused(by_torchrun):
    with pytest.raises(SettingsError, match=f"start it as {NO_SHARED_STORE}=1 torchrun"):
        check_restarts()


def test_without_restarts_nothing_is_refused(by_torchrun, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_MAX_RESTARTS", "0")
    check_restarts()


def test_processes_get_stores_of_their_own_and_share_the_cores(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    environment = environment_for(3)
    assert (environment[NO_SHARED_STORE], environment["OMP_NUM_THREADS"]) == ("1", "2")


def test_what_the_user_set_stays(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert environment_for(3)["OMP_NUM_THREADS"] == "5"


@pytest.fixture
def two_gpus(monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setenv("RANK", "5")
    monkeypatch.setenv("WORLD_SIZE", "8")


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize(("rank", "gpu"), [("0", 0), ("1", 1), ("2", 0), ("3", 1)])
def test_processes_of_a_host_share_out_its_gpus(monkeypatch, rank, gpu):
    monkeypatch.setenv("LOCAL_RANK", rank)
    assert own_device(torch.device("cuda")) == torch.device("cuda", gpu)
    assert own_device(torch.device("cuda", 0)) == torch.device("cuda", 0)
    assert own_device(torch.device("cpu")) == torch.device("cpu")


def test_a_process_that_torchrun_did_not_start_keeps_its_device(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    assert own_device(torch.device("cuda")) == torch.device("cuda")


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize(("here", "backend"), [("1", "nccl"), ("2", "nccl"), ("3", "gloo")])
def test_processes_that_share_a_gpu_talk_by_gloo(monkeypatch, here, backend):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", here)
    assert backend_for(torch.device("cuda")) == backend
    assert backend_for(torch.device("cpu")) == "gloo"


@pytest.fixture
def alone(monkeypatch):
    """A process that torchrun started as the only one."""
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    meeting = [(dist.HashStore(), 0, 1)]
    monkeypatch.setattr(launch, "rendezvous", lambda url, timeout: iter(meeting))
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("alone")
def test_the_loss_of_another_process_is_said_in_a_line():
    lost = "[pair.cc:537] Read error: Connection reset by peer. Check the logs."
    with (
        pytest.raises(FailedRunsError, match=r"^Processes lost .*reset by peer\. What [^\n]*$"),
        joined(torch.device("cpu"), 10),
    ):
        raise RuntimeError(lost)
    assert not dist.is_initialized()


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("error", [InterruptedRunError("Stopped."), RuntimeError("Wrong shape.")])
def test_other_errors_stay_what_they_are(error):
    with pytest.raises(RuntimeError) as caught, joined(torch.device("cpu"), 10):
        raise error
    assert caught.value is error


@pytest.mark.usefixtures("alone")
def test_a_process_without_memory_lets_go_of_what_did_not_fit():
    class Large:
        """Stands for a tensor."""

    def work():
        large = Large()
        held.append(weakref.ref(large))
        raise MemoryError

    held = []
    with pytest.raises(OutOfMemoryError), joined(torch.device("cpu"), 10):
        work()
    assert held[0]() is None


@pytest.mark.usefixtures("alone")
def test_who_finds_nobody_says_so(monkeypatch):
    def nobody(url, timeout):
        raise dist.DistNetworkError("The client socket has timed out")

    monkeypatch.setattr(launch, "rendezvous", nobody)
    with (
        pytest.raises(FailedRunsError, match=r"^Process 0 did not find the others: The client"),
        joined(torch.device("cpu"), 10),
    ):
        pass


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_sibling_that_stands_still_is_killed_and_no_other(monkeypatch):
    # Their parent is this process, which stands for torchrun.
    monkeypatch.setattr("os.getppid", os.getpid)
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    with subprocess.Popen(sleep) as stopped, subprocess.Popen(sleep) as running:
        stopped.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, stopped.pid, os.WSTOPPED | os.WNOWAIT)
        kill_stopped_siblings()
        assert stopped.wait() == -signal.SIGKILL
        assert running.poll() is None
        running.kill()
