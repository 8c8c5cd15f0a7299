"""Shared by the tests of commands."""

import pytest


@pytest.fixture(autouse=True)
def _lines_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the tests run, what a command prints is not wrapped unless a test says so."""
    for name in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
