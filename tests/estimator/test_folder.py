import hashlib
import json
import os
import random
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save
from scipy import sparse

import run_files
from akgnn.data.catalogue import load_dataset
from akgnn.errors import CheckpointError, RunFolderError, SettingsError
from akgnn.estimator.classifier import AKGNNClassifier
from akgnn.runs.folder import RUN_FILE, RunFolder
from akgnn.runs.jobs import Job, run_job
from akgnn.runs.load import load_run
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.run import EXTRA_TENSORS

# More mutations than one run of the tests has time for.
MUTATIONS = int(os.environ.get("AKGNN_MUTATIONS", "300"))


def quick(**arguments):
    few = {"epochs": 5, "hidden_channels": 4, "num_layers": 2, "random_state": 0}
    return AKGNNClassifier(**{**few, **arguments})


@pytest.fixture
def kept(table, tmp_path):
    folder = tmp_path / "kept"
    quick().fit(*table).save(folder)
    return folder


def rewrite(folder, change=None, tensors=None):
    """As a stranger would, with every checksum right."""
    record = json.loads((folder / RUN_FILE).read_text())
    if tensors is not None:
        blob = save(tensors(load_file(folder / record["weights"]["file"])))
        (folder / "changed.safetensors").write_bytes(blob)
        sha256 = hashlib.sha256(blob).hexdigest()
        record["weights"] = {
            "file": "changed.safetensors",
            "bytes": len(blob),
            "sha256": sha256,
        }
    if change is not None:
        change(record)
    run_files.rewrite(folder / RUN_FILE, record)


@pytest.mark.parametrize(
    "case", ["table", "sparse", "frame", "graph", "standardized graph", "weighted graph"]
)
def test_what_was_saved_says_the_same(table, graph, tmp_path, case):
    x, y = table
    options, arguments = {}, {}
    if case == "sparse":
        x = sparse.csr_array(np.where(x > 0, x, 0))
    if case == "frame":
        x, y = pd.DataFrame(x, columns=list("abcd")), np.array(["ü\n", "b", "c"])[y]
    if "graph" in case:
        options["graph"] = graph
        arguments["standardize"] = True if "standardized" in case else None
    if "weighted" in case:
        weight = 1.0 + np.arange(graph.num_edges) % 3
        options["graph"] = sparse.coo_array((weight, graph.edge_index.numpy()), shape=(90, 90))
    one = quick(**arguments).fit(x, y, **options)
    one.save(tmp_path / "new" / "folder")
    other = AKGNNClassifier.load(tmp_path / "new" / "folder")
    assert other.get_params() == one.get_params()
    assert np.array_equal(other.predict_proba(x), one.predict_proba(x))
    assert np.array_equal(other.transform(x), one.transform(x))
    for name in ("classes_", "lambda_max_", "neighbour_share_", "feature_names_in_"):
        if hasattr(one, name):
            assert np.array_equal(getattr(other, name), getattr(one, name))
            assert getattr(other, name).dtype == getattr(one, name).dtype
    assert (other.history_, other.best_epoch_) == (one.history_, one.best_epoch_)
    assert other.fitted_.preset == one.fitted_.preset


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float32", "float64"])
def test_classes_keep_their_type(table, tmp_path, dtype):
    x, y = table
    quick(epochs=1).fit(x, (y > 0).astype(dtype)).save(tmp_path)
    assert AKGNNClassifier.load(tmp_path).classes_.dtype == dtype


def test_another_process_says_the_same_to_the_last_bit(table, kept, tmp_path):
    x, y = table
    np.save(tmp_path / "x.npy", x)
    code = (
        "import sys, numpy as np; from akgnn import AKGNNClassifier\n"
        "fitted = AKGNNClassifier.load(sys.argv[1])\n"
        "sys.stdout.buffer.write(fitted.predict_proba(np.load(sys.argv[2])).tobytes())"
    )
    command = [sys.executable, "-c", code, kept, tmp_path / "x.npy"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stdout == quick().fit(x, y).predict_proba(x).tobytes()


def test_cora_fits_into_a_folder(tmp_path):
    data = load_dataset("cora")
    one = quick(preset="paper", epochs=2).fit(data)
    one.save(tmp_path)
    assert np.array_equal(
        AKGNNClassifier.load(tmp_path).predict_proba(data), one.predict_proba(data)
    )


def test_an_estimator_is_a_run_with_what_it_needs_beside_the_model(table, kept):
    content = json.loads((kept / RUN_FILE).read_text())
    assert (content["format"], content["status"]) == ("akgnn-run-4", "finished")
    fitted = AKGNNClassifier.load(kept)
    run = load_run(kept)
    assert run.plan.preset == fitted.fitted_.preset
    assert run.facts.class_names == ("0", "1", "2")
    assert run.result.best_epoch == fitted.best_epoch_
    weights = fitted.fitted_.run.model.state_dict()
    assert all(torch.equal(tensor, weights[n]) for n, tensor in run.model.state_dict().items())


def test_an_estimator_is_replaced_and_leaves_nothing_behind(table, kept):
    x, y = table
    (kept / ".tmp-1-run.json").touch()
    other = quick(random_state=1).fit(x, y)
    other.save(kept)
    assert np.array_equal(AKGNNClassifier.load(kept).predict_proba(x), other.predict_proba(x))
    other.save(kept)
    assert np.array_equal(AKGNNClassifier.load(kept).predict_proba(x), other.predict_proba(x))
    assert len(list(kept.iterdir())) == 2


def test_a_run_is_no_estimator_and_is_not_replaced_by_one(table, tmp_path):
    plan = RunPlan.make(RunSettings(dataset="csbm:num_nodes=60"), {"epochs": 1})
    run_job(Job(plan, RunFolder(tmp_path)), plan.load())
    before = (tmp_path / RUN_FILE).read_bytes()
    with pytest.raises(CheckpointError, match=r"a run and no estimator; akgnn\.load_run"):
        AKGNNClassifier.load(tmp_path)
    with pytest.raises(RunFolderError, match="holds a run and no estimator; choose another folder"):
        quick(epochs=1).fit(*table).save(tmp_path)
    assert (tmp_path / RUN_FILE).read_bytes() == before


def test_other_files_are_left_alone(table, tmp_path):
    (tmp_path / "thesis.tex").touch()
    fitted = quick(epochs=1).fit(*table)
    with pytest.raises(RunFolderError, match="holds other files"):
        fitted.save(tmp_path)
    with pytest.raises(RunFolderError, match=r"thesis\.tex is a file, not a folder"):
        fitted.save(tmp_path / "thesis.tex")
    with pytest.raises(RunFolderError, match="Cannot write to the folder"):
        fitted.save(tmp_path / "thesis.tex" / "below")


def test_what_json_cannot_hold_is_named(table, tmp_path):
    fitted = quick(epochs=1).fit(*table)
    fitted.settings = {"readout": object()}
    with pytest.raises(SettingsError, match="that JSON cannot hold"):
        fitted.save(tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_generator_is_not_kept(table, tmp_path):
    quick(epochs=1, random_state=np.random.RandomState(0)).fit(*table).save(tmp_path)
    assert AKGNNClassifier.load(tmp_path).random_state is None


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (
            "akgnn-run-5",
            "by a newer version of akgnn, in format 5; this one reads format 4. Update",
        ),
        ("akgnn-run-3", "by an earlier version of akgnn, in format 3; .* Train the run again"),
        ("akgnn-estimator-1", "was not written by akgnn"),
        (7, "was not written by akgnn"),
    ],
)
def test_another_format_is_refused_by_name(kept, found, message):
    record = json.loads((kept / RUN_FILE).read_text())
    (kept / RUN_FILE).write_text(json.dumps({**record, "format": found}))
    with pytest.raises(CheckpointError, match=message):
        AKGNNClassifier.load(kept)


def test_an_empty_folder_holds_no_estimator(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(CheckpointError, match=r"holds no estimator: there is no run\.json"):
            AKGNNClassifier.load(folder)


def put(*path, value):
    def change(content):
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value

    return change


def without(*path):
    def change(content):
        for key in path[:-1]:
            content = content[key]
        del content[path[-1]]

    return change


RECORDS = {
    # No path leads out of the folder.
    "path": (put("weights", "file", value="../../etc/passwd"), "kept/passwd cannot be read: it"),
    "missing file": (put("weights", "file", value="x.safetensors"), "is missing, or is no file"),
    "no weights": (without("weights"), "has no weights yet"),
    "no estimator": (without("estimator"), "holds a run and no estimator"),
    "estimator": (put("estimator", value=[]), "not an object"),
    "unknown argument": (put("estimator", "arguments", "evil", value=1), "arguments are not those"),
    "lacking argument": (without("estimator", "arguments", "kernel"), "arguments are not those"),
    "arguments": (put("estimator", "arguments", value=[]), "arguments is .*, not an object"),
    "huge": (put("data", "num_features", value=10**15), "num_features is 1000000000000000"),
    "negative": (
        put("data", "num_features", value=-4),
        "num_features: -4 is not an integer from 0",
    ),
    "huge hidden": (
        put("settings", "model", "hidden_channels", value=10**6),
        "do not fit the model",
    ),
    "other model": (put("settings", "run", "model", value="sgc"), "Unknown setting"),
    "setting": (put("settings", "model", "evil", value=1), "Unknown setting 'evil'"),
    "kernel": (put("settings", "model", "kernel", value="os.system"), "Unknown kernel"),
    "strategy": (put("settings", "strategy", "strategy", value="x"), "Unknown strategy"),
    "settings": (put("settings", value=3), "damaged or foreign"),
    "class kind": (
        put("estimator", "classes", "kind", value="object"),
        "no list of text or numbers",
    ),
    "class twice": (put("estimator", "classes", "labels", value=[0, 0, 1]), "listed twice"),
    "class of another kind": (
        put("estimator", "classes", "labels", value=["a", 1, 2]),
        "damaged or foreign",
    ),
    "class too large": (
        put("estimator", "classes", "labels", value=[0, 1, 2**80]),
        "damaged or foreign",
    ),
    "more classes": (
        put("estimator", "classes", "labels", value=[0, 1, 2, 3]),
        "classes are not as many as the model's",
    ),
    "more names of classes": (
        put("data", "class_names", value=["0", "1", "2", "3"]),
        "do not fit the model",
    ),
    "names": (put("estimator", "feature_names", value=["a"]), "1 names for 4 features"),
    "names of numbers": (put("estimator", "feature_names", value=[1, 2, 3, 4]), "1 is not text"),
    "history": (put("history", "val_loss", value=[1.0]), "has another length"),
    "best epoch": (put("result", "best_epoch", value="last"), "is not an integer"),
    "metric": (put("estimator", "metric", value=7), "7 is not printable text"),
}


@pytest.mark.parametrize(("change", "message"), RECORDS.values(), ids=RECORDS)
def test_a_strangers_record_is_checked(kept, change, message):
    rewrite(kept, change)
    with pytest.raises(CheckpointError, match=message):
        AKGNNClassifier.load(kept)


def test_a_model_that_is_no_akgnn_is_refused(kept, tmp_path):
    plan = RunPlan.make(RunSettings(dataset="csbm:num_nodes=60", model="mlp"), {"epochs": 1})
    run_job(Job(plan, RunFolder(tmp_path / "other")), plan.load())
    estimator = json.loads((kept / RUN_FILE).read_text())["estimator"]
    classes = {"kind": "int64", "labels": [0, 1, 2, 3]}
    rewrite(
        tmp_path / "other",
        put("estimator", value={**estimator, "classes": classes, "metric": None}),
    )
    with pytest.raises(CheckpointError, match="its model is mlp, not akgnn"):
        AKGNNClassifier.load(tmp_path / "other")


TENSORS = {
    "lost weight": (
        lambda t: {n: v for n, v in t.items() if n != "layers.0.phi"},
        "do not fit",
    ),
    "double": (
        lambda t: {n: v if n.startswith(EXTRA_TENSORS) else v.double() for n, v in t.items()},
        "float64",
    ),
    "nan": (lambda t: {**t, "estimator/table": t["estimator/table"] * torch.nan}, "not finite"),
    "narrow table": (
        lambda t: {**t, "estimator/table": t["estimator/table"][:, :2].contiguous()},
        "table does not fit",
    ),
    "flat table": (
        lambda t: {**t, "estimator/table": t["estimator/table"][0].contiguous()},
        "table does not fit",
    ),
    "float32 table": (
        lambda t: {**t, "estimator/table": t["estimator/table"].float()},
        "float64 is expected",
    ),
    "neighbour": (
        lambda t: {**t, "estimator/nearest": t["estimator/nearest"] + 1},
        "mentions node 90",
    ),
    "below": (lambda t: {**t, "estimator/nearest": t["estimator/nearest"] - 1}, "mentions node -1"),
    "fewer": (
        lambda t: {**t, "estimator/nearest": t["estimator/nearest"][:9].contiguous()},
        "neighbours do not fit",
    ),
    "flat": (
        lambda t: {**t, "estimator/nearest": t["estimator/nearest"][:, 0].contiguous()},
        "neighbours do not fit",
    ),
    "scale": (
        lambda t: {**t, "estimator/scaling/scale": -t["estimator/scaling/scale"]},
        "scaling does not fit",
    ),
    "mean": (
        lambda t: {**t, "estimator/scaling/mean": t["estimator/scaling/mean"][:1].clone()},
        "scaling does not fit",
    ),
    "no mean": (
        lambda t: {n: v for n, v in t.items() if n != "estimator/scaling/scale"},
        "is missing",
    ),
    "no table": (lambda t: {n: v for n, v in t.items() if n != "estimator/table"}, "is missing"),
}


@pytest.mark.parametrize(("tensors", "message"), TENSORS.values(), ids=TENSORS)
def test_a_strangers_tensors_are_checked(kept, tensors, message):
    rewrite(kept, tensors=tensors)
    with pytest.raises(CheckpointError, match=message):
        AKGNNClassifier.load(kept)


def test_a_strangers_graph_is_checked(table, graph, tmp_path):
    quick(epochs=1).fit(*table, graph=graph).save(tmp_path)
    rewrite(tmp_path, tensors=lambda t: {**t, "estimator/graph/col": t["estimator/graph/col"] + 80})
    with pytest.raises(CheckpointError, match="mentions column"):
        AKGNNClassifier.load(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_pipe_is_not_waited_for(kept):
    (kept / RUN_FILE).unlink()
    os.mkfifo(kept / RUN_FILE)
    with pytest.raises(CheckpointError, match="is no file"):
        AKGNNClassifier.load(kept)


def mutated(content: bytes, rng: random.Random) -> bytes:
    """One of the things that happen to files: bits, bytes, holes, ends and repeats."""
    out = bytearray(content)
    start = rng.randrange(len(out))
    stop = min(len(out), start + rng.choice([1, 2, 8, 64, 1000]))
    match rng.randrange(7):
        case 0:
            out[start] ^= 1 << rng.randrange(8)
        case 1:
            out[start:stop] = rng.randbytes(stop - start)
        case 2:
            del out[start:stop]
        case 3:
            del out[start:]
        case 4:
            out[start:start] = out[start:stop]
        case 5:
            out[start:stop] = bytes(stop - start)
        case _:
            # A digit for a digit keeps JSON what it is.
            digits = [place for place, byte in enumerate(out) if chr(byte).isdigit()]
            out[rng.choice(digits)] = ord(rng.choice("0123456789"))
    return bytes(out)


@pytest.mark.parametrize("case", ["table", "graph"])
def test_a_mutated_folder_says_the_same_or_is_refused(table, graph, tmp_path, case):
    x, y = table
    fitted = quick().fit(x, y, graph=graph if case == "graph" else None)
    fitted.save(tmp_path / "whole")
    expected, hurt = fitted.predict_proba(x), tmp_path / "hurt"
    shutil.copytree(tmp_path / "whole", hurt)
    files = sorted((tmp_path / "whole").iterdir())
    refusals = []
    for number in range(MUTATIONS // 2):
        rng = random.Random(number)
        file = files[number % len(files)]
        (hurt / file.name).write_bytes(mutated(file.read_bytes(), rng))
        try:
            assert np.array_equal(AKGNNClassifier.load(hurt).predict_proba(x), expected)
        except CheckpointError as error:
            refusals.append(str(error))
        (hurt / file.name).write_bytes(file.read_bytes())
    assert np.array_equal(AKGNNClassifier.load(hurt).predict_proba(x), expected)
    assert len(refusals) > MUTATIONS // 4
    assert all(str(hurt) in refusal for refusal in refusals)


def test_a_damaged_estimator_is_not_replaced_and_says_so(kept, table):
    for text in ("{", "[]", '{"format": "akgnn-run-3"}', ""):
        (kept / RUN_FILE).write_text(text)
        with pytest.raises(RunFolderError, match=r"cannot be read, which is not replaced; choose"):
            quick().fit(*table).save(kept)
        assert (kept / RUN_FILE).read_text() == text


def test_an_estimator_whose_tensors_are_damaged_is_replaced(kept, table):
    for file in kept.glob("*.safetensors"):
        file.write_bytes(b"x")
    one = quick().fit(*table)
    one.save(kept)
    assert np.array_equal(AKGNNClassifier.load(kept).predict(table[0]), one.predict(table[0]))


@pytest.mark.parametrize("weight", ["balanced", {0: 2.0, 2: 0.5}, {np.int64(1): 3}])
def test_weights_of_classes_are_kept(table, tmp_path, weight):
    quick(class_weight=weight).fit(*table).save(tmp_path / "kept")
    assert AKGNNClassifier.load(tmp_path / "kept").class_weight == weight


@pytest.mark.parametrize("weight", [[3], [[1]], [[[], 1.0]], [[{}, 1.0]]])
def test_weights_of_classes_that_are_none_are_refused(kept, weight):
    rewrite(kept, lambda record: record["estimator"]["arguments"].update(class_weight=weight))
    with pytest.raises(CheckpointError, match="class_weight is no list of classes"):
        AKGNNClassifier.load(kept)
