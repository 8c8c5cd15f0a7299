import pytest
import torch
import torch.distributed as dist

from akgnn.distributed.launch import NO_SHARED_STORE, check_restarts, environment_for, joined
from akgnn.errors import FailedRunsError, InterruptedRunError, SettingsError


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
def alone(monkeypatch, tmp_path):
    """A process that torchrun started as the only one."""
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    start = dist.init_process_group
    store = f"file://{tmp_path}/store"
    monkeypatch.setattr(
        dist,
        "init_process_group",
        lambda backend, timeout: start(
            backend, init_method=store, rank=0, world_size=1, timeout=timeout
        ),
    )


def test_the_loss_of_another_process_is_said_in_a_line(alone):
    lost = "[pair.cc:537] Read error: Connection reset by peer. Check the logs."
    with (
        pytest.raises(FailedRunsError, match=r"^Process 0 lost the others: .*reset by peer\. What"),
        joined(torch.device("cpu"), 10),
    ):
        raise RuntimeError(lost)
    assert not dist.is_initialized()


@pytest.mark.parametrize("error", [InterruptedRunError("Stopped."), RuntimeError("Wrong shape.")])
def test_other_errors_stay_what_they_are(alone, error):
    with pytest.raises(RuntimeError) as caught, joined(torch.device("cpu"), 10):
        raise error
    assert caught.value is error
