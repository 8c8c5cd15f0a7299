import pytest

from akgnn.distributed.launch import NO_SHARED_STORE, check_restarts, environment_for
from akgnn.errors import SettingsError


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
