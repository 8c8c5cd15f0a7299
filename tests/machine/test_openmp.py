import subprocess
import sys

import pytest

from akgnn.machine import openmp
from akgnn.machine.openmp import spin_briefly


@pytest.fixture
def _without_torch(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch")


@pytest.mark.usefixtures("_without_torch")
def test_threads_spin_briefly_where_nobody_said_how_they_wait():
    environment = {"PATH": "/bin"}
    spin_briefly(environment)
    assert environment == {"PATH": "/bin", "GOMP_SPINCOUNT": "1000"}


@pytest.mark.usefixtures("_without_torch")
@pytest.mark.parametrize("name", ["OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"])
def test_what_the_user_said_stays(name):
    environment = {name: "7"}
    spin_briefly(environment)
    assert environment == {name: "7"}


def test_nothing_is_changed_once_torch_is_loaded(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", openmp)
    environment = {}
    spin_briefly(environment)
    assert environment == {}


@pytest.mark.parametrize(
    ("code", "rounds"),
    [
        ("import akgnn; akgnn.AKGNN", "None"),
        ("from akgnn.cli.main import main; main(['models'])", "1000"),
    ],
)
def test_the_command_decides_and_the_library_does_not(code, rounds, monkeypatch):
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"):
        monkeypatch.delenv(name, raising=False)
    code += "; import os, torch; print(os.environ.get('GOMP_SPINCOUNT'))"
    told = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    assert told.splitlines()[-1] == rounds
