import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from akgnn.cli.main import main
from akgnn.experiments import SPECS
from akgnn.experiments.store import RecordStore
from worker_tasks import in_this_process

SPEC = """title = "Small"
about = "For the tests."
datasets = ["csbm:num_nodes=300"]
seeds = 4

[[rows]]
label = "SGC"
model = "sgc"
published = { "csbm:num_nodes=300" = 81.0 }
set = { epochs = 20 }

[[rows]]
label = "AKGNN"
model = "akgnn"
set = { epochs = 60, patience = 60, hidden_channels = 8 }
"""


@pytest.fixture
def spec(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SPEC)
    return str(file)


def start(spec, out, **options):
    command = [sys.executable, "-m", "akgnn", "reproduce", spec, "--out", str(out), "--jobs", "2"]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def finish(spec, out):
    assert main(["reproduce", spec, "--out", str(out), "--jobs", "2"]) == 0


def what_was_measured(out):
    """The records without what may differ from run to run: times, memory, order."""
    records = RecordStore(out).read().records
    return sorted(
        (r.plan.run.model, r.seed, tuple(r.metrics.items()), r.lambda_max) for r in records
    )


@pytest.fixture
def _no_workers(monkeypatch):
    monkeypatch.setattr("akgnn.experiments.runner.share_out", in_this_process)


@pytest.mark.usefixtures("_no_workers")
def test_a_second_time_does_nothing_and_says_so(spec, tmp_path, capsys):
    out = str(tmp_path / "results")
    command = ["reproduce", spec, "--seeds", "1", "--out", out, "--jobs", "1"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "2 runs trained, 0 were there" in shown
    assert "(81.0)" in shown
    before = RecordStore(tmp_path / "results").file.read_bytes()
    assert main(command) == 0
    assert f"Nothing to do: all 2 runs are in {out}." in capsys.readouterr().out
    assert RecordStore(tmp_path / "results").file.read_bytes() == before
    assert main([*command, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["runs"], result["trained"], result["failed"]) == (2, 0, [])
    row = result["experiments"]["small"][0]
    assert (row["label"], row["seeds"], row["published"]) == ("SGC", 1, 81.0)


@pytest.mark.usefixtures("_no_workers")
def test_numbers_of_runs_are_shown_where_rows_differ_in_them(spec, tmp_path, capsys):
    file = tmp_path / "differing.toml"
    file.write_text(
        SPEC.replace("seeds = 4", "seeds = 1").replace("set = {", "seeds = 2\nset = {", 1)
    )
    for name, head in ((spec, ["method"]), (str(file), ["method", "runs"])):
        command = ["reproduce", name, "--out", str(tmp_path / name[-9:]), "--jobs", "1"]
        command += ["--seeds", "1"] if name == spec else []
        assert main([*command, "--markdown"]) == 0
        first = capsys.readouterr().out.splitlines()[0]
        assert [text.strip() for text in first.split("|")[1:-1]] == [*head, "csbm:num_nodes=300"]
        assert main(command) == 0
        assert ("runs" in capsys.readouterr().out.partition("SGC")[0].split()) == ("runs" in head)


def test_killed_at_random_moments_it_ends_with_the_same_records(spec, tmp_path):
    finish(spec, tmp_path / "whole")
    moments = random.Random(1)
    out = tmp_path / "killed"
    for _ in range(int(os.environ.get("AKGNN_KILLS", "1"))):
        process = start(spec, out)
        time.sleep(moments.uniform(1.0, 6.0))
        process.kill()
        process.communicate()
        # A kill in the middle of writing a line.
        if RecordStore(out).exists() and moments.random() < 0.5:
            with RecordStore(out).file.open("ab") as stream:
                stream.write(b'{"format": "akgnn-rec')
    finish(spec, out)
    assert what_was_measured(out) == what_was_measured(tmp_path / "whole")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_request_to_stop_keeps_what_is_done_and_fails_nothing(spec, tmp_path, number):
    """The signal goes to the whole group, as Ctrl-C and `timeout` send it."""
    out = tmp_path / "results"
    process = start(spec, out, start_new_session=True)
    deadline = time.monotonic() + 120
    while not RecordStore(out).exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, number)
    _, stderr = process.communicate(timeout=60)
    # It may have been done before the signal came.
    if process.returncode:
        assert process.returncode == 1
        assert "the same command goes on" in stderr
        assert stderr.count("\n") == 1
    records = RecordStore(out).read().records
    assert records
    assert all(record.is_finished for record in records)


@pytest.mark.usefixtures("_no_workers")
def test_it_shows_the_same_whether_runs_were_there_or_not(spec, tmp_path, capsys):
    command = ["reproduce", spec, "--seeds", "2", "--out", str(tmp_path / "results"), "--jobs", "1"]
    shown = []
    for _ in range(2):
        assert main([*command, "--json"]) == 0
        shown.append({**json.loads(capsys.readouterr().out), "trained": None})
    assert shown[0] == shown[1]


@pytest.mark.usefixtures("_no_workers")
def test_skipped_lines_and_failed_runs_are_told(spec, tmp_path, capsys):
    out = tmp_path / "results"
    out.mkdir()
    RecordStore(out).file.write_text('{"format": "akgnn-record-9"}\n')
    bad = tmp_path / "bad.toml"
    bad.write_text(SPEC.replace("epochs = 20 }", "epochs = 20, learning_rate = 1e30 }"))
    command = ["reproduce", str(bad), "--seeds", "1", "--out", str(out), "--jobs", "1"]
    assert main(command) == 1
    captured = capsys.readouterr()
    assert "line 1 was skipped" in captured.err
    assert "1 of 2 runs failed, the first (sgc on csbm:num_nodes=300, seed 0):" in captured.err
    assert "failed" in captured.out


def test_the_help_names_every_experiment(capsys):
    assert main(["reproduce", "--help"]) == 0
    words = capsys.readouterr().out.replace(",", " ").split()
    assert {"patience", "searched", *SPECS} <= set(words)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["tabel1"], "Did you mean 'table1'?"),
        (["table1", "--seeds", "0"], "--seeds must be from 1"),
        (["table1", "--jobs", "0"], "--jobs must be from 1"),
        (["nowhere.toml"], "cannot be read"),
        (["table1", "--device", "tpu"], "tpu"),
        ([], "Missing argument"),
    ],
)
def test_wrong_use_is_one_line(arguments, says, capsys):
    assert main(["reproduce", *arguments]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


@pytest.mark.usefixtures("_no_workers")
def test_it_says_what_validation_chose(spec, tmp_path, capsys):
    with open(spec, "a") as file:
        file.write('\n[[rows]]\nlabel = "chosen"\nchooses = ["SGC", "AKGNN"]\n')
    command = ["reproduce", spec, "--seeds", "2", "--out", str(tmp_path / "out"), "--jobs", "1"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    # It asks for no runs of its own.
    assert "4 runs trained" in shown
    assert "chosen on csbm:num_nodes=300, chosen by validation: SGC: " in shown
    assert main([*command, "--json"]) == 0
    sgc, akgnn, chosen = json.loads(capsys.readouterr().out)["experiments"]["small"]
    assert sum(chosen["chosen"].values()) == chosen["seeds"] == 2
    assert (sgc["chosen"], akgnn["chosen"]) == (None, None)
    assert min(sgc["mean"], akgnn["mean"]) <= chosen["mean"] <= max(sgc["mean"], akgnn["mean"])
