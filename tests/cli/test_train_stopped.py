"""`akgnn train` in a process of its own that is killed, or asked to stop."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest
import torch

from akgnn.cli.main import main

LONG = ["--dataset", "csbm:num_nodes=300", "--set", "epochs=150", "--set", "patience=150"]


def start(out, *arguments, session=False):
    command = [sys.executable, "-m", "akgnn", "train", "--out", str(out), *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment, start_new_session=session, **pipes)


@pytest.fixture
def finish(capsys):
    """Trains to the end, here, with as many threads as the processes have."""

    def finish(out, *arguments):
        assert main(["train", "--out", str(out), *arguments, "--json"]) == 0
        return {**json.loads(capsys.readouterr().out), "seconds": None}

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield finish
    torch.set_num_threads(threads)


def wait_for_epochs(out, process):
    deadline = time.monotonic() + 60
    while not list(out.glob("state-*")) and process.poll() is None:
        assert time.monotonic() < deadline, "no state was written"
        time.sleep(0.01)


def test_runs_killed_at_random_moments_resume_to_the_same_end(tmp_path, finish):
    whole = finish(tmp_path / "whole", *LONG)
    moments = random.Random(0)
    for number in range(int(os.environ.get("AKGNN_KILLS", "2"))):
        out = tmp_path / f"killed-{number}"
        process = start(out, *LONG, "--checkpoint-seconds", "0")
        if number % 4:
            wait_for_epochs(out, process)
        time.sleep(moments.uniform(0, 1.5))
        process.kill()
        process.communicate()
        again = finish(out, *LONG, "--resume", "--checkpoint-seconds", "0")
        assert again == whole, f"kill {number}"
        lines = [(path / "epochs.jsonl").read_bytes() for path in (out, tmp_path / "whole")]
        assert lines[0] == lines[1], f"kill {number}"


def test_seeds_killed_at_random_moments_resume_to_the_same_end(tmp_path, finish):
    several = [*LONG, "--seeds", "3"]
    whole = finish(tmp_path / "whole", *several)
    moments = random.Random(1)
    for number in range(int(os.environ.get("AKGNN_KILLS", "1"))):
        out = tmp_path / f"killed-{number}"
        process = start(out, *several, "--checkpoint-seconds", "0")
        wait_for_epochs(out / "seed-1", process)
        time.sleep(moments.uniform(0, 1.5))
        process.kill()
        process.communicate()
        again = finish(out, "--seeds", "3", "--resume")
        assert again["mean"] == pytest.approx(whole["mean"], abs=1)
        for one, other in zip(again["runs"], whole["runs"], strict=True):
            assert one["seed"] == other["seed"]
            assert one["epochs"] == other["epochs"]
            assert one["val_loss"] == pytest.approx(other["val_loss"], rel=1e-3)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_request_to_stop_leaves_a_state_to_go_on_from(tmp_path, number):
    out = tmp_path / "run"
    long = [*LONG[:2], "--set", "epochs=100000", "--set", "patience=100000"]
    process = start(out, *long, "--checkpoint-seconds", "0")
    wait_for_epochs(out, process)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Stopped after epoch" in stderr
    assert f"Go on with: akgnn train --out {out} --resume" in stderr
    assert stderr.count("\n") == 1
    record = json.loads((out / "run.json").read_text())
    assert record["status"] == "running"
    assert len(record["history"]["val_loss"]) >= 1


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """A folder of parts, and the bits of an undisturbed training on it."""
    place = tmp_path_factory.mktemp("stopped")
    words = ["--dataset", LONG[1], "--parts", "4", "--cut", "hash"]
    assert main(["partition", *words, "--out", str(place / "parts")]) == 0
    run = place / "whole"
    with start(run, "--parts", str(place / "parts"), *LONG[2:]) as process:
        process.communicate()
    return place / "parts", bits(run)


def bits(run):
    return [(run / name).read_bytes() for name in ("weights.safetensors", "epochs.jsonl")]


@pytest.mark.parametrize("from_terminal", [False, True])
def test_processes_that_are_asked_to_stop_keep_a_state_and_leave_nobody_behind(
    parts, tmp_path, from_terminal
):
    folder, whole = parts
    out = tmp_path / "run"
    words = ["--parts", str(folder), *LONG[2:], "--checkpoint-seconds", "0"]
    process = start(out, *words, "--processes", "2", "--mesh", "2x1", session=True)
    wait_for_epochs(out, process)
    if from_terminal:
        # Ctrl-C goes to all in the foreground.
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.terminate()
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    last = stderr.splitlines()[-1]
    assert re.fullmatch(
        r"akgnn: Stopped after epoch \d+. Go on with the same line and --resume.", last
    )
    assert "Traceback" not in stderr
    assert not (out / "weights.safetensors").exists()
    # Nobody holds the folder, nor writes to it.
    with start(out, *words, "--resume") as process:
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert bits(out) == whole


def test_processes_whose_starter_was_killed_stop_and_leave_nobody_behind(parts, tmp_path):
    folder, whole = parts
    out = tmp_path / "run"
    words = ["--parts", str(folder), *LONG[2:], "--checkpoint-seconds", "0"]
    process = start(out, *words, "--processes", "2", "--mesh", "2x1")
    wait_for_epochs(out, process)
    process.kill()
    process.wait()
    # They hold its pipes until they end.
    _, stderr = process.communicate(timeout=60)
    assert "Stopped after epoch" in stderr
    assert not (out / "weights.safetensors").exists()
    with start(out, *words, "--resume") as process:
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert bits(out) == whole
