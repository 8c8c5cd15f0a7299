"""Specs and records for the tests of the report: small, and with numbers that are known."""

import base64
import json
import math
import re
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from akgnn.data.catalogue import generated_settings
from akgnn.experiments.record import Record, failed_record
from akgnn.experiments.spec import Spec
from akgnn.experiments.spec_files import read_spec
from akgnn.experiments.store import RecordStore
from akgnn.runs.facts import DataFacts
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.training.history import History
from akgnn.training.score import Score
from akgnn.training.state import RestartResult
from akgnn.tuning.search import Search
from akgnn.tuning.space import Dimension
from akgnn.tuning.study import Trial

FIRST, SECOND = "csbm:num_nodes=60", "csbm:num_nodes=80"
HOSTILE = "</script><img src=x onerror=alert(1)>"
VERSIONS = {"akgnn": "0.1.0", "commit": "abc123"}
ENVIRONMENT = {"device": "cpu", "threads": 2, "ended": "2026-01-02T03:04:05+00:00"}

TABLE = f"""
title = "Three methods"
about = "Test accuracy in per cent."
datasets = ["{FIRST}", "{SECOND}"]
seeds = 6
[[rows]]
label = "AKGNN"
model = "akgnn"
set = {{ num_layers = 3 }}
published = {{ "{FIRST}" = [80.0, 0.3] }}
[[rows]]
label = "GCN"
model = "gcn"
published = {{ "{FIRST}" = 90.0 }}
[[rows]]
label = "{HOSTILE}"
model = "sgc"
"""
FIGURE = """
title = "Figure {shows}"
shows = "{shows}"
datasets = ["csbm:num_nodes=60"]
seeds = 4
keep_history = {history}
[vary]
num_layers = [1, 2, 3]
[[rows]]
label = "AKGNN"
model = "akgnn"
set = {{ hidden_channels = {width} }}
"""
HOMOPHILY = """
title = "Over homophily"
shows = "homophily"
datasets = [
    "csbm:homophily=0.8,num_nodes=60,seed=#",
    "csbm:homophily=0,num_nodes=60,seed=#",
    "csbm:homophily=0.5,num_nodes=60,seed=#",
]
seeds = 4
draws = 2
[[rows]]
label = "AKGNN, signed"
model = "akgnn"
preset = "any-graph"
set = { num_layers = 2 }
[[rows]]
label = "AKGNN, paper's"
model = "akgnn"
preset = "any-graph"
set = { num_layers = 2, kernel = "paper" }
[[rows]]
label = "</script><img src=x onerror=alert(1)>"
model = "gcn"
preset = "any-graph"
"""
VARIED = f"""title = "Varied"
shows = "varied"
datasets = ["{FIRST}", "{SECOND}"]
seeds = 3
metric = {{ "{SECOND}" = "macro_f1" }}
[vary]
hidden_channels = [8, 16, 4]
[[rows]]
label = "AKGNN"
model = "akgnn"
[[rows]]
label = "{HOSTILE}"
model = "gcn"
"""
# Means of the rows in the table; seed s adds s / 10, so that differences are exact.
MEANS = {"AKGNN": 80.0, "GCN": 75.0, HOSTILE: 82.0}


def write_specs(folder: Path) -> list[Path]:
    """The files of the specs that the records belong to."""
    texts = {"mine": TABLE}
    for width, shows in enumerate(("loss", "lambda", "depth"), start=8):
        history = "true" if shows == "loss" else "false"
        texts[f"my{shows}"] = FIGURE.format(shows=shows, history=history, width=width)
    files = []
    for name, text in texts.items():
        files.append(folder / f"{name}.toml")
        files[-1].write_text(text, encoding="utf-8")
    return files


def table_spec(folder: Path) -> Spec:
    """The spec of the table."""
    return read_spec(write_specs(folder)[0])


def record_of(cell, seed: int, accuracy: float, *, epochs: int = 10, history: bool = False):
    """A finished run of a cell."""
    layers = cell.changes.get("num_layers", 0) if cell.row.model == "akgnn" else 0
    learned = tuple(2.5 - 0.5 * k for k in range(layers))
    falling = [1.0 / (epoch + 1) + seed / 100 for epoch in range(epochs)]
    kept = History(falling, [90.0] * epochs, falling, [80.0] * epochs, [list(learned)] * epochs)
    metrics = {"test_accuracy": accuracy, "train_accuracy": 99.0, "best_epoch": 5, "epochs": epochs}
    data = DataFacts(cell.dataset, 60, 100, 32, ("a", "b"), "public:12345678", {})
    return Record(
        plan=cell.plan(seed),
        error=None,
        data=data,
        versions=VERSIONS,
        environment=ENVIRONMENT,
        metrics=metrics,
        lambda_max=learned,
        neighbour_share=(),
        starts=(),
        seconds=1.0 + seed,
        peak_memory=100.0 + seed,
        history=kept if history else None,
    )


def table_records(spec: Spec) -> list[Record]:
    """Six seeds a cell; on the second graph one run of GCN failed with a hostile reason."""
    records = []
    for cell in spec.cells:
        for seed in range(6):
            if cell.row.label == "GCN" and cell.dataset == SECOND and seed == 5:
                failed = failed_record(
                    cell.plan(seed), HOSTILE, versions=VERSIONS, environment=ENVIRONMENT
                )
                records.append(failed)
            else:
                records.append(record_of(cell, seed, MEANS[cell.row.label] + seed / 10))
    return records


def figure_records(spec: Spec) -> list[Record]:
    """Four seeds a cell, which stop after 10, 11, 12 and 13 epochs."""
    return [
        record_of(cell, seed, 70.0 + seed, epochs=10 + seed, history=spec.keeps_history)
        for cell in spec.cells
        for seed in range(4)
    ]


def homophily_spec(folder: Path) -> Path:
    """The file of a spec of a figure over homophily."""
    file = folder / "myhomophily.toml"
    file.write_text(HOMOPHILY, encoding="utf-8")
    return file


def homophily_records(spec: Spec) -> list[Record]:
    """Four runs a cell: scores rise with homophily, and layer 1 goes from subtracting to averaging.

    One row has shares, one has λ from before there were shares, and one has no kernels.
    """
    records = []
    for cell in spec.cells:
        homophily = generated_settings(cell.plan(0).run.dataset).homophily
        for seed in range(4):
            record = record_of(cell, seed, 50 + 50 * homophily - seed)
            if cell.row.label == "AKGNN, signed":
                share = (homophily - 0.5 + seed / 100, 0.5)
                kept = "1" if homophily else "-1"
                starts = tuple(RestartResult(n, 10, 0.5, 80.0, n == kept) for n in ("1", "-1"))
                record = replace(record, lambda_max=(), neighbour_share=share, starts=starts)
            records.append(record)
    return records


def varied_records(spec: Spec) -> list[Record]:
    """Three seeds a cell: 70, one more for each cell, and a tenth for each seed."""
    records = []
    for place, cell in enumerate(spec.cells):
        for seed in range(3):
            score = 70.0 + place + seed / 10
            record = record_of(cell, seed, score)
            records.append(replace(record, metrics={**record.metrics, "test_macro_f1": score}))
    return records


def write_results(folder: Path, files: list[Path]) -> Path:
    """A folder of records for the specs, with a torn line at the end."""
    folder.mkdir()
    store = RecordStore(folder)
    for file in files:
        spec = read_spec(file)
        make = table_records if spec.shows == "table" else figure_records
        for record in make(spec):
            store.append(record)
    with store.file.open("a") as stream:
        stream.write('{"format": "akgnn-rec')
    return folder


def some_search():
    """A search of five trials that ended in every way, the best of them number 3."""
    space = (
        Dimension("learning_rate", 0.001, 0.1, log=True),
        Dimension("num_layers", 1, 40),
        Dimension("readout", choices=("sum", "mean")),
    )

    def trial(number, state, score, rate, depth, readout, error=""):
        values = {"learning_rate": rate, "num_layers": depth, "readout": readout}
        return Trial(number, state, score, values, 10, 1.5, error)

    trials = (
        trial(0, "failed", math.nan, 0.1, 2, "sum", HOSTILE),
        trial(1, "finished", 70.0, 0.01, 9, "mean"),
        trial(2, "pruned", 99.0, 0.05, 3, "sum"),
        trial(3, "finished", 80.0, 0.002, 1, "sum"),
        trial(4, "finished", 75.0, 0.02, 5, "mean"),
    )
    plan = RunPlan.make(RunSettings(dataset="cora"))
    return Search(plan, space, Score.of("accuracy"), "public-without-test:12345678", trials)


def read_packed(text, name):
    """What a page carries compressed under a name, as bytes."""
    packed = re.search(rf'id="packed-{name}">([^<]*)<', text)[1]
    return zlib.decompress(base64.b64decode(packed), -zlib.MAX_WBITS)


def read_drawn(text):
    """What a page gives to its scripts."""
    return json.loads(read_packed(text, "drawn"))


def read_arrays(listed, content):
    """The arrays of an atlas as the script reads them."""
    found, at = {}, 0
    for name, kind, length in listed:
        dtype = np.dtype(f"<{kind[0]}{int(kind[1:]) // 8}")
        part = np.frombuffer(content, np.uint8, length * dtype.itemsize, at)
        planes = part.reshape(dtype.itemsize, length).T
        found[name] = np.ascontiguousarray(planes).view(dtype).reshape(-1)
        at += length * dtype.itemsize
    return found
