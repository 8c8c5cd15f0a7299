"""A copy that takes no time."""

import pytest

from akgnn.bench import contest


@pytest.fixture(autouse=True)
def _small_copy(monkeypatch):
    monkeypatch.setitem(contest._COPIED, "cpu", 2**16)
