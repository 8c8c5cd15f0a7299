from datetime import UTC, datetime, timedelta

import pytest

from akgnn.machine.provenance import environment, run_versions


@pytest.fixture
def fresh_versions():
    """They are found once for a process; a test that changes them must not be remembered."""
    run_versions.cache_clear()
    yield
    run_versions.cache_clear()


def test_the_environment_says_when():
    ended = datetime.fromisoformat(environment("cpu")["ended"])
    assert timedelta(seconds=-1) <= datetime.now(UTC) - ended < timedelta(minutes=1)


@pytest.mark.usefixtures("fresh_versions")
def test_a_copy_without_its_repository_may_say_the_commit(monkeypatch):
    monkeypatch.setenv("AKGNN_COMMIT", "abc123")
    assert run_versions()["commit"] == "abc123"


@pytest.mark.usefixtures("fresh_versions")
def test_without_git_there_is_no_commit(monkeypatch):
    monkeypatch.delenv("AKGNN_COMMIT", raising=False)
    monkeypatch.setenv("PATH", "")
    assert "commit" not in run_versions()
