"""Run folders as a stranger might hand them over: damaged in every way, or made to deceive.

AKGNN_MUTATIONS says how many are tried.
"""

import json
import os
import random
import shutil

import pytest
import torch

from akgnn.errors import AkgnnError
from akgnn.runs.folder import RunFolder
from akgnn.runs.jobs import Job, run_job
from akgnn.runs.load import load_run
from akgnn.runs.plan import RunPlan, RunSettings
from run_files import names_in, rewrite

NUMBER = int(os.environ.get("AKGNN_MUTATIONS", "150"))
# Values that a reader might stumble over.
ODD = [
    None, True, -1, 0, 1e308, float("nan"), 2**70, "", "../../etc/passwd", "/dev/zero", "\x1b[2J",
    [], {}, [[]] * 3, "x" * 10_000, "__import__('os').system('true')", {"file": "../run.json"},
]  # fmt: skip


@pytest.fixture(scope="module", params=[1, 2])
def run(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    plan = RunPlan.make(
        RunSettings(dataset="csbm:num_nodes=60", ensemble=request.param),
        {"hidden_channels": 4, "epochs": 3},
    )
    data = plan.load()
    run_job(Job(plan, RunFolder(folder)), data)
    return folder, data, answer(folder, data)


def answer(folder, data):
    """What the run in a folder predicts, under the names it has for the classes."""
    run = load_run(folder)
    with torch.no_grad():
        logits = run.model(data.x, data.graph)
    return list(run.facts.class_names), run.result.calibration.scaled(logits).softmax(1)


def test_a_run_answers_the_same_or_is_refused_whatever_was_done_to_it(run, tmp_path):
    folder, data, (names, probability) = run
    draw = random.Random(0)
    outcomes = {"same": 0, "refused": 0}
    for number in range(NUMBER):
        copy = tmp_path / str(number)
        shutil.copytree(folder, copy)
        done = mutate(copy, draw)
        try:
            found = answer(copy, data)
        except AkgnnError:
            outcomes["refused"] += 1
        else:
            assert found[0] == names, done
            assert torch.equal(found[1], probability), done
            outcomes["same"] += 1
        shutil.rmtree(copy)
    assert min(outcomes.values()) > 0


def mutate(folder, draw):
    """Do one thing to one file; says what."""
    file = folder / draw.choice(names_in(folder))
    kind = draw.choice(["flip", "cut", "insert", "remove", "swap", "value", "key", "stray"])
    if kind == "remove":
        file.unlink()
    elif kind == "stray":
        (folder / draw.choice(["setup.py", ".tmp-1-run.json", "model.pkl"])).write_text("1 / 0")
    elif kind in ("value", "key"):
        file = folder / "run.json"
        content = json.loads(file.read_text())
        where = draw.choice(list(places(content)))
        change(content, where, draw.choice(ODD) if kind == "value" else None)
        file.write_text(json.dumps(content))
        return kind, where
    else:
        file.write_bytes(damaged(kind, file.read_bytes(), draw))
    return kind, file.name


def damaged(kind, blob, draw):
    start = draw.randrange(len(blob))
    length = draw.randrange(1, 64)
    if kind == "flip":
        return blob[:start] + bytes([blob[start] ^ 1 << draw.randrange(8)]) + blob[start + 1 :]
    if kind == "cut":
        return blob[:start] + (b"" if draw.random() < 0.5 else blob[start + length :])
    extra = draw.randbytes(length) if kind == "insert" else blob[:length]
    return blob[:start] + extra + blob[start:]


def places(content, path=()):
    """Every place in nested JSON."""
    items = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def change(content, path, value):
    for key in path[:-1]:
        content = content[key]
    if value is None and isinstance(content, dict):
        content[f"{path[-1]}-"] = content.pop(path[-1])
    else:
        content[path[-1]] = value


def test_a_newer_run_says_so(run, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(run[0], copy)
    file = copy / "run.json"
    file.write_text(file.read_text().replace("akgnn-run-4", "akgnn-run-7"))
    with pytest.raises(AkgnnError, match="written by a newer version of akgnn, in format 7"):
        load_run(copy).model  # noqa: B018


@pytest.mark.parametrize("name", ["../weights.safetensors", "/etc/passwd", "a/../../b"])
def test_a_weights_file_outside_the_folder_is_never_read(run, tmp_path, name):
    copy = tmp_path / "run"
    shutil.copytree(run[0], copy)
    shutil.copy(copy / "weights.safetensors", tmp_path)
    (copy / "weights.safetensors").unlink()
    file = copy / "run.json"
    content = json.loads(file.read_text())
    content["weights"]["file"] = name
    rewrite(file, content)
    with pytest.raises(AkgnnError, match="is missing, or is no file"):
        load_run(copy).model  # noqa: B018
