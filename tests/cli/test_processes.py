"""`akgnn train --parts --processes 2` as a user meets it: ports, signals, pipes."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from akgnn.cli.main import main
from listening import addresses

LONG = ["--set", "epochs=100000", "--set", "patience=100000", "--checkpoint-seconds", "0"]
PATIENCE = 120
# What another start, or nobody, has left in the environment.
STRAY = {
    "GLOO_SOCKET_IFNAME": "nowhere0", "NCCL_COMM_ID": "nonsense", "MASTER_ADDR": "192.0.2.1",
    "TORCHELASTIC_RESTART_COUNT": "x", "TORCHELASTIC_MAX_RESTARTS": "x", "LOCAL_RANK": "x",
    "AKGNN_MEETING": "/nowhere", "AKGNN_STARTER": "x",
}  # fmt: skip


@pytest.fixture(scope="module")
def parts(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("cut") / "parts"
    words = ["--dataset", "csbm:num_nodes=200,signal=2", "--parts", "2", "--cut", "hash"]
    assert main(["partition", *words, "--out", str(folder)]) == 0
    return folder


def start(parts, *words, stdout=subprocess.PIPE, **environment):
    command = [sys.executable, "-m", "akgnn", "train", "--parts", str(parts)]
    return subprocess.Popen(
        [*command, "--processes", "2", "--mesh", "2x1", *words],
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )


def other_interface() -> str:
    """An interface of the network, where this machine has one that Gloo could use."""
    from torch.distributed import ProcessGroupGloo

    for _, name in socket.if_nameindex():
        try:
            ProcessGroupGloo.create_device(interface=name)
        except RuntimeError:
            continue
        if not name.startswith("lo"):
            return name
    return "lo"


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs Linux's /proc")
def test_nothing_listens_beyond_loopback_and_a_second_ctrl_c_is_a_line(parts, tmp_path):
    out = tmp_path / "run"
    environment = {**STRAY, "GLOO_SOCKET_IFNAME": other_interface()}
    with start(parts, *LONG, "--out", str(out), **environment) as process:
        end = time.monotonic() + PATIENCE
        while not list(out.glob("state-*")) and process.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.05)
        listening = addresses(process.pid)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE)
    assert len(listening) >= 2
    assert all(address.is_loopback for address in listening)
    assert process.returncode == 1
    assert not list(out.glob(".tmp-*"))
    # The epoch may just have ended.
    assert re.fullmatch(r"akgnn: Stopped [^\n]*\. Go on with the same line and --resume\.\n", said)


def test_a_reader_that_has_had_enough_is_no_reason_to_start_again(parts):
    reader, writer = os.pipe()
    os.close(reader)
    few = ["--set", "epochs=2", "--json"]
    with start(parts, *few, stdout=writer, **STRAY) as process:
        os.close(writer)
        _, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, said) == (1, "")


@pytest.mark.parametrize(
    ("words", "environment", "message"),
    [
        (["--processes", "2"], {"RANK": "0", "WORLD_SIZE": "3"}, "--processes 2 starts processes"),
        ([], {"RANK": "0"}, "RANK is set, but WORLD_SIZE is not"),
        ([], {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": ""}, "MASTER_ADDR is not set"),
        ([], {"RANK": "x", "WORLD_SIZE": "1"}, "RANK must be a whole number from 0 to 0, got 'x'"),
        ([], {"RANK": "0", "WORLD_SIZE": "0"}, "WORLD_SIZE must be a whole number from 1"),
    ],
)
def test_wrong_environments_are_answered_in_a_line(
    parts, monkeypatch, capsys, words, environment, message
):
    for name, value in {"MASTER_ADDR": "localhost", "MASTER_PORT": "1", **environment}.items():
        monkeypatch.setenv(name, value)
    assert main(["train", "--parts", str(parts), *words]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_training_in_one_process_takes_no_notice_of_the_environment(monkeypatch, capsys):
    for name, value in {"RANK": "nonsense", **STRAY}.items():
        monkeypatch.setenv(name, value)
    assert main(["train", "--dataset", "csbm:num_nodes=60", "--set", "epochs=2"]) == 0
    assert "test accuracy" in capsys.readouterr().out
