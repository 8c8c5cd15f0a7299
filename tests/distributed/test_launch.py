import os
import re
import signal
import socket
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
    check_environment,
    check_restarts,
    is_first_here,
    is_restart,
    joined,
    kill_stopped_siblings,
    own_device,
)
from akgnn.errors import FailedRunsError, InterruptedRunError, OutOfMemoryError, SettingsError


@pytest.fixture(autouse=True)
def nobody_started_this(monkeypatch):
    for name in [name for name in os.environ if name.startswith(("TORCHELASTIC_", "AKGNN_"))]:
        monkeypatch.delenv(name)
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    monkeypatch.setenv("MASTER_PORT", "29500")


@pytest.fixture
def by_torchrun(monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    monkeypatch.setenv("TORCHELASTIC_MAX_RESTARTS", "3")


def test_restarts_with_the_addresses_of_the_dead_are_refused(by_torchrun):
    with pytest.raises(SettingsError, match=f"start it as {NO_SHARED_STORE}=1 torchrun"):
        check_restarts()


def test_a_number_of_restarts_that_is_none_is_refused(by_torchrun, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_MAX_RESTARTS", "x")
    with pytest.raises(SettingsError, match=r"^TORCHELASTIC_MAX_RESTARTS must be .* got 'x'"):
        check_restarts()


def test_without_restarts_nothing_is_refused(by_torchrun, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_MAX_RESTARTS", "0")
    check_restarts()


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
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
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


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"RANK": "0"}, "RANK is set, but WORLD_SIZE is not"),
        ({"WORLD_SIZE": "2", "RANK": ""}, "WORLD_SIZE is set, but RANK is not"),
        ({"RANK": "a"}, "RANK must be a whole number from 0 to 1, got 'a'"),
        ({"RANK": "-1"}, "RANK must be a whole number from 0 to 1, got '-1'"),
        ({"RANK": "2"}, "RANK must be a whole number from 0 to 1, got '2'"),
        ({"RANK": "1.0"}, "RANK must be a whole number from 0 to 1, got '1.0'"),
        ({"WORLD_SIZE": "0"}, "WORLD_SIZE must be a whole number from 1 to 10000, got '0'"),
        ({"WORLD_SIZE": "9" * 5000}, "WORLD_SIZE must be a whole number from 1 to 10000"),
        ({"LOCAL_RANK": "x"}, "LOCAL_RANK must be a whole number"),
        ({"LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "2"}, "LOCAL_RANK must be .* from 0 to 1"),
        ({"LOCAL_WORLD_SIZE": "0"}, "LOCAL_WORLD_SIZE must be a whole number from 1"),
        ({"MASTER_ADDR": ""}, "MASTER_ADDR is not set"),
        ({"MASTER_PORT": ""}, "MASTER_PORT is not set"),
        ({"MASTER_PORT": "http"}, "MASTER_PORT must be a whole number from 1 to 65535"),
        ({"MASTER_PORT": "65536"}, "MASTER_PORT must be a whole number from 1 to 65535"),
        ({"AKGNN_MEETING": "/nowhere"}, "AKGNN_MEETING or AKGNN_STARTER is set, but not by"),
        ({"AKGNN_MEETING": "/", "AKGNN_STARTER": "me"}, "AKGNN_MEETING or AKGNN_STARTER is"),
    ],
)
def test_environments_in_which_nobody_meets_are_refused(monkeypatch, variables, message):
    start = {} if variables == {"RANK": "0"} else {"RANK": "1", "WORLD_SIZE": "2"}
    for name, value in {**start, **variables}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=f"^{message}"):
        check_environment()


@pytest.mark.parametrize("rank", ["1", "nonsense"])
def test_a_process_that_was_started_alone_keeps_its_files(monkeypatch, rank):
    monkeypatch.setenv("LOCAL_RANK", rank)
    assert is_first_here()


@pytest.mark.parametrize(("count", "started_again"), [("0", False), ("2", True)])
def test_torchrun_says_whether_it_started_a_process_again(monkeypatch, count, started_again):
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", count)
    assert not is_restart()
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert is_restart() is started_again


@pytest.mark.parametrize(
    ("rank", "host"), [("1", "no-such-host.invalid"), ("0", "..malformed"), ("1", "127.0.0.1")]
)
def test_a_first_process_that_cannot_be_reached_is_a_line(monkeypatch, rank, host):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = str(closed.getsockname()[1])
    start = {"RANK": rank, "WORLD_SIZE": "2", "MASTER_ADDR": host, "MASTER_PORT": port}
    for name, value in start.items():
        monkeypatch.setenv(name, value)
    where = re.escape(f"MASTER_ADDR={host}, MASTER_PORT={port}")
    with (
        pytest.raises(FailedRunsError, match=f"^Process {rank} cannot reach process 0 at {where}"),
        joined(torch.device("cpu"), 0.3),
    ):
        pass


@pytest.mark.usefixtures("alone")
def test_an_unknown_interface_is_named_with_those_that_there_are(monkeypatch):
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "nowhere0")
    with (
        pytest.raises(SettingsError, match=r"^GLOO_SOCKET_IFNAME=nowhere0 names no .*Choose from"),
        joined(torch.device("cpu"), 10),
    ):
        pass


def test_who_started_processes_by_hand_keeps_stopped_jobs(monkeypatch):
    killed = []
    monkeypatch.setattr(launch, "kill_stopped_siblings", lambda: killed.append(True))
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(launch, "rendezvous", lambda *_, **__: iter([(dist.HashStore(), 0, 1)]))
    handler = signal.getsignal(signal.SIGTERM)
    for by_torchrun in (False, True):
        if by_torchrun:
            monkeypatch.setenv("TORCHELASTIC_RUN_ID", "job")
        with pytest.raises(FailedRunsError), joined(torch.device("cpu"), 10):
            raise RuntimeError("Connection reset by peer")
        assert killed == [True] * by_torchrun
    signal.signal(signal.SIGTERM, handler)


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
