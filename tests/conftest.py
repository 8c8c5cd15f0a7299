"""Shared by all tests."""

import os

import pytest
import torch
from hypothesis import settings

# Triton decides when it is first imported, by whoever that is, whether to compile or to interpret.
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"

settings.register_profile("akgnn", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("akgnn")


@pytest.fixture(autouse=True)
def _same_numbers_every_time() -> None:
    torch.manual_seed(0)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if torch.cuda.is_available():
        return
    skip = pytest.mark.skip(reason="needs a CUDA device")
    for item in items:
        if "gpu" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def _lines_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the tests run, what a command prints is not wrapped unless a test says so."""
    for name in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
