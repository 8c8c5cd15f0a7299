"""The cases of `hostile.py`: what is made wrong in a good folder, and what is run there.

The folder has `nodes.csv` and `edges.csv`; `run`, trained on them; `generated`, trained on a block
model; `state`, stopped in the middle; and `settings.toml`. In commands, `akgnn` is the command line
and `api CODE` runs Python, in which an error raised on purpose is one line and status 2.
"""

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Make = Callable[[Path], None]

TRAIN = "akgnn train --set epochs=2"
OWN = f"{TRAIN} --nodes nodes.csv --edges edges.csv"
CSBM = "csbm:num_nodes=100,num_features=4"
LOAD = "import akgnn; akgnn.load_tables('nodes.csv', 'edges.csv'{})"
NUMBER = "9" * 5000
DEEP = 20_000


def _nothing(folder: Path) -> None:
    pass


@dataclass(frozen=True)
class Case:
    """One wrong input.

    Attributes:
        name: What is wrong, its group first.
        run: Shell command, run in the folder.
        make: Makes the folder wrong.
        status: Which exit statuses are right.
        says: Words that must be printed.
        environment: Variables of the environment.
        leaves: Files that may be left where the command fails.
        lines: How many lines standard error may have.
        is_silent: Whether nothing at all may be said.
    """

    name: str
    run: str
    make: Make = _nothing
    status: frozenset[int] = frozenset({2})
    says: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    leaves: tuple[str, ...] = ()
    lines: int = 1
    is_silent: bool = False


def case(name: str, run: str, make: Make = _nothing, status: Any = 2, **more: Any) -> Case:
    """A case, its status given as one number or several."""
    right = frozenset({status} if isinstance(status, int) else status)
    return Case(name, run, make, right, **more)


# Making things wrong.


def text(name: str, content: str) -> Make:
    """Write a file."""
    return lambda folder: _write(folder / name, content.encode("utf-8", "surrogatepass"))


def data(name: str, content: bytes) -> Make:
    """Write a file of bytes."""
    return lambda folder: _write(folder / name, content)


def nodes(change: Callable[[list[str]], list[str]]) -> Make:
    """Change the lines of the node table."""
    return _lines("nodes.csv", change)


def edges(change: Callable[[list[str]], list[str]]) -> Make:
    """Change the lines of the edge table."""
    return _lines("edges.csv", change)


def cell(row: int, column: int, value: str, file: str = "nodes.csv") -> Make:
    """Put a text into a cell of a table."""

    def change(lines: list[str]) -> list[str]:
        cells = lines[row].split(",")
        cells[column] = value
        return [*lines[:row], ",".join(cells), *lines[row + 1 :]]

    return _lines(file, change)


def pipe(name: str) -> Make:
    """A named pipe, in place of what is there."""

    def make(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return make


def link(name: str, target: str) -> Make:
    """A symbolic link, in place of what is there."""

    def make(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)

    return make


def record(*keys: str, value: Any, run: str = "run") -> Make:
    """Change a value in `run.json`, which is written in the first format, that has no SHA-256."""

    def make(folder: Path) -> None:
        file = folder / run / "run.json"
        content = json.loads(file.read_text())
        content.pop("sha256", None)
        content["format"] = "akgnn-run-1"
        place = content
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value
        file.write_text(json.dumps(content))

    return make


def tensors(change: str, run: str = "run") -> Make:
    """Change tensors by Python code, `t` their dictionary; the SHA-256 is made right again."""
    code = (
        "import sys, json, hashlib, torch, pathlib\n"
        "from safetensors.torch import load, save\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "content = json.loads((folder / 'run.json').read_text())\n"
        "file = folder / content['weights']['file']\n"
        "t = load(file.read_bytes())\n"
        f"{change}\n"
        "blob = save(t)\n"
        "file.write_bytes(blob)\n"
        "content['weights']['sha256'] = hashlib.sha256(blob).hexdigest()\n"
        "content.pop('sha256'); content['format'] = 'akgnn-run-1'\n"
        "(folder / 'run.json').write_text(json.dumps(content))\n"
    )
    return lambda folder: _python(code, folder / run)


def python(code: str) -> Make:
    """Run Python code in the folder, to write what is not text."""
    return lambda folder: _python(code, folder)


def both(*makes: Make) -> Make:
    """One after the other."""

    def make(folder: Path) -> None:
        for each in makes:
            each(folder)

    return make


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def _lines(name: str, change: Callable[[list[str]], list[str]]) -> Make:
    def make(folder: Path) -> None:
        lines = (folder / name).read_text().splitlines()
        (folder / name).write_bytes(("\n".join(change(lines)) + "\n").encode("utf-8", "surrogatepass"))

    return make


def _python(code: str, folder: Path) -> None:
    import sys

    subprocess.run([sys.executable, "-c", code, str(folder)], cwd=folder, check=True)


def make_base(folder: Path, environment: Mapping[str, str]) -> None:
    """Make the good folder."""
    rows = ["id,label,age,height"]
    rows += [f"n{i},{'ab'[i % 2]},{i % 7},{0.5 + i % 2 + i / 50}" for i in range(40)]
    (folder / "nodes.csv").write_text("\n".join(rows) + "\n")
    links = [f"n{i},n{(i + 2) % 40},{1 + i % 3}" for i in range(40)]
    links += [f"n{i},n{(i + 5) % 40},1" for i in range(0, 40, 3)]
    (folder / "edges.csv").write_text("\n".join(["source,target,weight", *links]) + "\n")
    (folder / "settings.toml").write_text(
        '[tables]\nnodes = "nodes.csv"\nedges = "edges.csv"\n[training]\nepochs = 2\n'
    )
    stopped = (
        "import akgnn\n"
        "from akgnn.training.callbacks import StopWhen\n"
        "try:\n"
        "    akgnn.train(nodes='nodes.csv', edges='edges.csv', settings={'epochs': 9}, out='state',\n"
        "                callbacks=[StopWhen(lambda: True)])\n"
        "except akgnn.errors.InterruptedRunError: pass\n"
    )
    for command in (
        ["akgnn", *OWN.split()[1:], "--out", "run"],
        ["akgnn", *TRAIN.split()[1:], "--dataset", CSBM, "--out", "generated"],
        ["python", "-c", stopped],
    ):
        subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)


def _jsonl(*rows: Any) -> Make:
    return text("nodes.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


JSONL = f"{TRAIN} --nodes nodes.jsonl --edges edges.csv"
GOOD_ROWS = [{"id": f"n{i}", "label": "ab"[i % 2], "age": i} for i in range(40)]
FITTING = (
    "import numpy as np, scipy.sparse as s; from akgnn import AKGNNClassifier, Graph, load_dataset;"
    "m = s.random(40, 40, 0.2, format='csr', random_state=0); y = np.arange(40) % 2;"
    "x = np.random.default_rng(0).normal(size=(40, 4));"
)
DAMAGE = {
    "indptr out of order": "m.indptr[3] = 10**6",
    "indptr falling": "m.indptr[5] = m.indptr[9]; m.indptr[6] = 0",
    "indices too large": "m.indices[0] = 10**6",
    "indices negative": "m.indices[0] = -5",
    "indptr too short": "m.indptr = m.indptr[:5]",
    "data too short": "m.data = m.data[:3]",
}
LONG = "x" * 300
ENCODED = {"ascii": "ascii", "latin-1": "latin-1", "cp1252": "cp1252", "strict ascii": "ascii:strict"}
HUGE_FILE = "truncate -s 3G {0} && "


def _nested(depth: int, closed: bool = True) -> Make:
    deep = "[" * depth + ("]" * depth if closed else "")
    rows = [json.dumps(row) for row in GOOD_ROWS]
    rows[20] = rows[20][:-1] + f', "late": {deep}}}'
    return text("nodes.jsonl", "\n".join(rows) + "\n")


def _nested_objects(depth: int) -> Make:
    deep = '{"a":' * depth + "1" + "}" * depth
    rows = [json.dumps(row) for row in GOOD_ROWS]
    rows[-1] = rows[-1][:-1] + f', "late": {deep}}}'
    return text("nodes.jsonl", "\n".join(rows) + "\n")


def _toml(content: str) -> Make:
    return text("bad.toml", content)


CONFIG = "akgnn train --config bad.toml"
PARQUET = (
    "import pyarrow as pa, pyarrow.parquet as pq, pyarrow.csv as c;"
    "t = c.read_csv('nodes.csv');"
)
READONLY = "mkdir -p locked && mount -t tmpfs -o ro,size=1m none locked && trap 'umount locked' EXIT; "
TINY = "mkdir -p tiny && mount -t tmpfs -o size={0} none tiny && trap 'umount tiny' EXIT; "

ASKED: list[Case] = [
    # 1: nesting, and damaged sparse matrices.
    case("json nested 20,000 deep in a late column", JSONL, _nested(DEEP)),
    case("json nested 200,000 deep in a late column", JSONL, _nested(200_000)),
    case("json nested 1,000,000 deep, not closed", JSONL, _nested(1_000_000, closed=False)),
    case("json objects nested 20,000 deep", JSONL, _nested_objects(DEEP)),
    case("json nested 500 deep", JSONL, _nested(500)),
    case("json nested edges", f"{TRAIN} --nodes nodes.csv --edges nodes.jsonl", _nested(DEEP)),
    *(
        case(f"scipy {what}, {where}", f'api "{FITTING}{damage}; {call}"')
        for what, damage in DAMAGE.items()
        for where, call in {
            "Graph.from_scipy": "Graph.from_scipy(m)",
            "estimator X": "AKGNNClassifier(epochs=2).fit(m, y)",
            "estimator graph": "AKGNNClassifier(epochs=2).fit(x, y, graph=m)",
            "convert": "from akgnn.data.convert import from_scipy; from_scipy(s.eye(40), m, y)",
        }.items()
    ),
    # 2: encodings.
    *(
        case(f"encoding {name}, {what}", run, status=0, environment={"PYTHONIOENCODING": encoding})
        for name, encoding in ENCODED.items()
        for what, run in {
            "train": f"{TRAIN} --dataset {CSBM}",
            "seeds": f"{TRAIN} --dataset {CSBM} --seeds 2",
            "inspect": "akgnn inspect run",
            "json": "akgnn inspect run --json",
        }.items()
    ),
    *(
        case(f"encoding ascii, {what}", run, status=0, environment={"PYTHONIOENCODING": "ascii"})
        for what, run in {
            "folds": f"{OWN} --folds 2",
            "auto": f"{OWN} --model auto",
            "models": "akgnn models",
            "model": "akgnn models akgnn",
            "datasets": "akgnn datasets",
            "help": "akgnn train --help",
            "explain": "akgnn explain run n1",
            "predict": "akgnn predict run",
            "report": "akgnn report run --out page.html",
            "tune": f"akgnn tune --dataset {CSBM} --set epochs=2 --trials 1",
            "bench": "akgnn bench layer --edges 1e3 --repetitions 5 --channels 4",
        }.items()
    ),
    case(
        "encoding ascii, an error with a name that it lacks",
        "akgnn train --dataset çorà",
        environment={"PYTHONIOENCODING": "ascii"},
    ),
    case(
        "encoding ascii, classes that it lacks as csv",
        f"{OWN} --out own >/dev/null && akgnn predict own",
        nodes(lambda lines: [line.replace(",a,", ",ä,") for line in lines]),
        environment={"PYTHONIOENCODING": "ascii"},
        leaves=("own",),
    ),
    # 3: output.
    case("output closed, train", f"{TRAIN} --dataset {CSBM} >&-", status=(1, 2)),
    case("output closed, json", "akgnn inspect run --json >&-", status=(1, 2)),
    case("output closed, help", "akgnn --help >&-", status=(1, 2)),
    case("output closed, both", f"{TRAIN} --dataset {CSBM} >&- 2>&-", status=(1, 2), is_silent=True),
    case("errors closed", "akgnn train --dataset corra 2>&-", is_silent=True),
    case("output full, train", f"{TRAIN} --dataset {CSBM} >/dev/full", status=1),
    case("output full, predict", "akgnn predict run >/dev/full", status=1),
    case("output full, json", "akgnn inspect run --json >/dev/full", status=1),
    case("output full, help", "akgnn --help >/dev/full", status=1),
    case("output full, version", "akgnn --version >/dev/full", status=1),
    case("output full, models", "akgnn models >/dev/full", status=1),
    case("errors full", "akgnn train --dataset corra 2>/dev/full", is_silent=True),
    case("input closed", "akgnn models <&- >/dev/null", status=0),
    *(
        case(f"out {what}, {command}", run.format(out=out), make)
        for command, run in {
            "train": f"{OWN} --out {{out}}",
            "seeds": f"{OWN} --seeds 2 --out {{out}}",
            "tune": f"akgnn tune --dataset {CSBM} --trials 1 --set epochs=2 --out {{out}}",
            "predict": "akgnn predict run --out {out}",
            "report": "akgnn report run --out {out}",
            "export": "akgnn export run --out {out}.pt2",
            "onnx": "akgnn export run --onnx --out {out}.onnx",
            "init": "akgnn init {out}",
            "reproduce": "akgnn reproduce spec.toml --out {out}",
            "bench": "akgnn bench layer --edges 1e3 --repetitions 5 --channels 4 --out {out}",
            "tensorboard": f"{OWN} --track tensorboard:{{out}}",
            "mlflow": f"{OWN} --track mlflow:{{out}}",
            "estimator": 'api "' + FITTING
            + "AKGNNClassifier(epochs=2, n_neighbors=3).fit(x, y).save('{out}')\"",
        }.items()
        for what, out, make in (
            ("name too long", LONG, _nothing),
            ("below a file", "nodes.csv/out", _nothing),
        )
    ),
    *(
        case(f"out in a read-only folder, {command}", READONLY + run)
        for command, run in {
            "train": f"{OWN} --out locked/out",
            "train itself": f"{OWN} --out locked",
            "tune": f"akgnn tune --dataset {CSBM} --trials 1 --out locked/out",
            "predict": "akgnn predict run --out locked/out.csv",
            "report": "akgnn report run --out locked/out.html",
            "export": "akgnn export run --out locked/out.pt2",
            "init": "akgnn init locked/out.toml",
            "tensorboard": f"{OWN} --track tensorboard:locked",
            "mlflow": f"{OWN} --track mlflow:locked",
        }.items()
    ),
    case("out with a name of 250 letters", f"akgnn predict run --out {'x' * 250}", status=0),
    case("out is /dev/full, predict", "akgnn predict run --out /dev/full", status=2),
    case("out in a loop of links", "ln -s loop loop; akgnn predict run --out loop/x", leaves=("loop",)),
    # 4: pipes and devices.
    case("pipe as nodes", OWN, pipe("nodes.csv")),
    case("pipe as edges", OWN, pipe("edges.csv")),
    case("pipe as json lines", JSONL, pipe("nodes.jsonl")),
    case("pipe as parquet", f"{TRAIN} --nodes nodes.parquet --edges edges.csv", pipe("nodes.parquet")),
    case("pipe as run.json", "akgnn predict run", pipe("run/run.json")),
    case("pipe as run.json, resumed", f"{OWN} --out run --resume", pipe("run/run.json")),
    case("pipe as weights", "akgnn predict run", pipe("run/weights.safetensors")),
    case("pipe as config", "akgnn train --config settings.toml", pipe("settings.toml")),
    case("pipe as spec", "akgnn reproduce spec.toml", pipe("spec.toml")),
    case("pipe as records", "akgnn report records", both(text("records/x", ""), pipe("records/records.jsonl"))),
    case("pipe as nodes to predict", "akgnn predict run --nodes nodes.csv", pipe("nodes.csv")),
    case("pipe as study", f"akgnn tune --dataset {CSBM} --out t", both(text("t/x", ""), pipe("t/study.db"))),
    case("pipe as epochs.jsonl", "akgnn train --out state --resume", pipe("state/epochs.jsonl"), status=(0, 2)),
    case("pipe as output of init", "akgnn init settings.toml --force", pipe("settings.toml"), status=(0, 2)),
    case("pipe as output of predict", "akgnn predict run --out p", pipe("p"), status=(0, 2)),
    case("pipe as lock", "akgnn train --out state --resume", pipe("state/.lock"), status=(0, 2)),
    case("pipe as filtered data", "akgnn train --dataset chameleon-filtered --data-root .", both(text("filtered/x", ""), pipe("filtered/chameleon_filtered_directed.npz"))),
    case("pipe as mlflow", f"{OWN} --track mlflow:m", both(text("m/x", ""), pipe("m/mlflow.db"))),
    case("/dev/zero as nodes", OWN, link("nodes.csv", "/dev/zero")),
    case("/dev/zero as json lines", JSONL, link("nodes.jsonl", "/dev/zero")),
    case("/dev/zero as run.json", "akgnn predict run", link("run/run.json", "/dev/zero")),
    case("/dev/zero as run.json in python", "api \"import akgnn; akgnn.load_run('run')\"", link("run/run.json", "/dev/zero")),
    case("/dev/zero as weights", "akgnn predict run", link("run/weights.safetensors", "/dev/zero")),
    case("/dev/zero as config", "akgnn train --config bad.toml", link("bad.toml", "/dev/zero")),
    case("/dev/zero as spec", "akgnn reproduce spec.toml", link("spec.toml", "/dev/zero")),
    case("/dev/zero as spec of a report", "akgnn report run --spec spec.toml", link("spec.toml", "/dev/zero")),
    case("/dev/tty as nodes", f"{TRAIN} --nodes /dev/tty --edges edges.csv"),
    case("/dev/null as nodes", OWN, link("nodes.csv", "/dev/null")),
    case("a socket as nodes", OWN, both(lambda f: (f / "nodes.csv").unlink(), python("import socket; socket.socket(socket.AF_UNIX).bind('nodes.csv')"))),
    case("huge run.json", HUGE_FILE.format("run/run.json") + "akgnn predict run"),
    case("huge weights", HUGE_FILE.format("run/weights.safetensors") + "akgnn predict run"),
    case("huge config", HUGE_FILE.format("bad.toml") + CONFIG, leaves=("bad.toml",)),
    case("huge spec", HUGE_FILE.format("spec.toml") + "akgnn reproduce spec.toml", leaves=("spec.toml",)),
    case("huge csv of zeros", HUGE_FILE.format("nodes.csv") + OWN),
    case("huge json lines of zeros", HUGE_FILE.format("nodes.jsonl") + JSONL, leaves=("nodes.jsonl",)),
    case("huge parquet of zeros", HUGE_FILE.format("nodes.parquet") + f"{TRAIN} --nodes nodes.parquet --edges edges.csv", leaves=("nodes.parquet",)),
    case("huge filtered data", "mkdir -p filtered; " + HUGE_FILE.format("filtered/chameleon_filtered_directed.npz") + "akgnn train --dataset chameleon-filtered --data-root .", leaves=("filtered",)),
    case("huge records", "mkdir r; " + HUGE_FILE.format("r/records.jsonl") + "akgnn report r", leaves=("r",)),
    # 5: odd content.
    case("json text keys with lone surrogates", JSONL, text("nodes.jsonl", '{"id": "a", "label": "x", "\\ud800": "y"}\n')),
    case("csv of a byte-order mark", OWN, data("nodes.csv", b"\xef\xbb\xbf")),
    case("csv of a byte-order mark and a line end", OWN, data("nodes.csv", b"\xef\xbb\xbf\n")),
    case("csv edges of a byte-order mark", OWN, data("edges.csv", b"\xef\xbb\xbf\r\n\r\n")),
    case("tsv of a byte-order mark", f"{TRAIN} --nodes nodes.tsv --edges edges.csv", data("nodes.tsv", b"\xef\xbb\xbf")),
    case("jsonl of a byte-order mark", JSONL, data("nodes.jsonl", b"\xef\xbb\xbf")),
    *(
        case(f"5,000 digits, {what}", run.replace("N", NUMBER))
        for what, run in {
            "per class": f"{OWN} --split N-per-class",
            "shares": f"{OWN} --split N/20/20",
            "fold": f"{OWN} --split fold-N-of-5",
            "folds": f"{OWN} --split fold-0-of-N",
            "public": "akgnn train --split public-N",
            "split seed": f"{OWN} --split-seed N",
            "seed": f"{OWN} --seed N",
            "seeds": f"{OWN} --seeds N",
            "epochs": f"{OWN} --set epochs=N",
            "epochs as a power": f"{OWN} --set epochs=1eN",
            "learning rate": f"{OWN} --set learning_rate=N",
            "dataset": "akgnn train --dataset csbm:num_nodes=N",
            "checkpoint": f"{OWN} --checkpoint-seconds N --folds 1",
            "node": "akgnn explain generated N",
            "top": "akgnn explain run n1 --top N",
            "device": f"{OWN} --device cuda:N",
            "edges of bench": "akgnn bench layer --edges N",
            "trials": "akgnn tune --trials N",
            "label": f"{OWN} --label N",
        }.items()
    ),
    case("5,000 digits, config", CONFIG, _toml(f"[training]\nepochs = {NUMBER}\n")),
    case("5,000 digits, python", "api \"import akgnn; akgnn.load_tables('nodes.csv', 'edges.csv', split='9' * 5000 + '-per-class')\""),
    case("5,000 digits, json lines", JSONL, text("nodes.jsonl", '{"id": %s, "label": "a"}\n' % NUMBER)),
    case("5,000 digits, run.json", "akgnn predict run", lambda f: _write(f / "run/run.json", b'{"format": "akgnn-run-1", "n": %s}' % NUMBER.encode())),
    case("5,000 digits, ids", OWN, cell(1, 0, NUMBER)),
    case("5,000 digits, a feature", OWN, cell(1, 2, NUMBER), status=(0, 2), lines=2),
    case("json keys with lone surrogates", JSONL, text("nodes.jsonl", '{"id": "a", "label": "x", "\\ud800": 1}\n')),
    case("json late keys with lone surrogates", JSONL, text("nodes.jsonl", '{"id": "a", "label": "x"}\n{"id": "b", "label": "y", "\\udfff": 1}\n')),
    case("json values with lone surrogates", JSONL, text("nodes.jsonl", '{"id": "a", "label": "\\ud800"}\n')),
    case("json raw surrogates", JSONL, text("nodes.jsonl", '{"id": "a", "label": "\ud800"}\n')),
    case("run.json keys with lone surrogates", "akgnn predict run", record("\ud800", value=1), status=(0, 2), lines=2),
    case("run.json class with a lone surrogate", "akgnn predict run", record("data", "class_names", value=["\ud800", "b"])),
    case("learning rate 1e38", f"{OWN} --set learning_rate=1e38", status=(1, 2)),
    case("learning rate 1e38, out", f"{OWN} --set learning_rate=1e38 --out o", status=(1, 2), leaves=("o",)),
    case("learning rate 1e38, seeds", f"{OWN} --set learning_rate=1e38 --seeds 2", status=(1, 2)),
    case("weight decay 1e38", f"{OWN} --set weight_decay=1e38", status=(0, 1, 2), lines=2),
    case("phi learning rate 1e38", f"{OWN} --set phi_learning_rate=1e38", status=(0, 1, 2), lines=2),
    case("learning rate 1e-38", f"{OWN} --set learning_rate=1e-38", status=0),
    *(
        case(f"run.json of 10^18 features, {what}", run, record("data", "num_features", value=10**18))
        for what, run in {
            "predict": "akgnn predict run",
            "inspect": "akgnn inspect run",
            "export": "akgnn export run --out x.pt2",
            "report": "akgnn report run --out x.html",
            "load_run": "api \"import akgnn; akgnn.load_run('run').model\"",
        }.items()
    ),
    case("run.json of 10^18 features, resumed", "akgnn train --out state --resume", record("data", "num_features", value=10**18, run="state")),
    case("run.json of 10^30 features", "akgnn predict run", record("data", "num_features", value=10**30)),
    case("run.json of 10^9 hidden channels", "akgnn predict run", record("settings", "model", "hidden_channels", value=10**9)),
    case("run.json of 10^9 layers", "akgnn predict run", record("settings", "model", "num_layers", value=10**9)),
    case("run.json of 10^9 layers, inspect", "akgnn inspect run", record("settings", "model", "num_layers", value=10**9)),
    *(
        case(
            f"run.json of a graph of {size}, {what}",
            run,
            record("settings", "run", "dataset", value=dataset, run="generated"),
            status=status,
            lines=1,
        )
        for size, dataset in {
            "10^7 nodes": "csbm:num_nodes=10000000",
            "10^8 nodes": "csbm:num_nodes=100000000,num_features=100000",
            "10^9 nodes": "large:num_nodes=1000000000",
            "10^7 large nodes": "large:num_nodes=10000000,num_features=512",
            "many degrees": "csbm:degree=1e30",
        }.items()
        for what, run, status in (
            ("predict", "akgnn predict generated", 2),
            ("inspect", "akgnn inspect generated", (0, 2)),
            ("python", "api \"import akgnn; akgnn.load_run('generated').data()\"", 2),
        )
    ),
    case("predict on a graph of 10^8 nodes", "akgnn predict generated --dataset csbm:num_nodes=100000000,num_features=4", status=(1, 2)),
    case("predict on a large graph of 10^9 nodes", "akgnn predict generated --dataset large:num_nodes=1000000000,num_features=4", status=(1, 2)),
    case("train on a graph of 10^8 nodes", f"{TRAIN} --dataset csbm:num_nodes=100000000,num_features=100000", status=(1, 2)),
    case("train on 10^9 classes", f"{TRAIN} --dataset csbm:num_nodes=100000000,num_classes=10000000", status=(1, 2)),
    case("load_dataset of 10^8 nodes", "api \"import akgnn; akgnn.load_dataset('csbm:num_nodes=100000000,num_features=100000')\"", status=2),
    *(
        case(
            f"checkpoint with an Adam step of {step}",
            "akgnn train --out state --resume",
            tensors(f"t['optimizer/0.step'] = torch.tensor({step})", run="state"),
        )
        for step in ("-1.0", "float('nan')", "float('inf')", "0.5", "-1e30")
    ),
    case("checkpoint with negative squares", "akgnn train --out state --resume", tensors("t['optimizer/0.exp_avg_sq'] -= 5", run="state")),
    case("checkpoint with weights that are no numbers", "akgnn train --out state --resume", tensors("t = {k: v * float('nan') if k.startswith('model/') else v for k, v in t.items()}", run="state"), status=(1, 2), leaves=("state",)),
    # 6: a full disk.
    *(
        case(f"disk full, {what}", TINY.format(size) + run, status=status, leaves=("tiny",))
        for what, size, run, status in (
            ("export", "4k", "akgnn export run --out tiny/m.pt2", 2),
            ("export of half", "16k", "akgnn export run --out tiny/m.pt2", 2),
            ("onnx", "4k", "akgnn export run --onnx --out tiny/m.onnx", 2),
            ("train", "8k", f"{OWN} --out tiny/run", 2),
            ("train later", "24k", f"{OWN} --set epochs=300 --checkpoint-seconds 0 --out tiny/run", 2),
            ("tensorboard", "4k", f"{OWN} --set epochs=300 --track tensorboard:tiny/t", 2),
            ("tensorboard later", "24k", f"{OWN} --set epochs=2000 --set patience=2000 --track tensorboard:tiny/t", 2),
            ("mlflow", "4k", f"{OWN} --track mlflow:tiny/m", 2),
            ("mlflow later", "700k", f"{OWN} --set epochs=900 --set patience=900 --track mlflow:tiny/m", (0, 2)),
            ("predict", "4k", "akgnn predict run --out tiny/p.csv; akgnn predict run --out tiny/q.csv", 2),
            ("report", "64k", "akgnn report run --out tiny/r.html", 2),
            ("tune", "16k", f"akgnn tune --dataset {CSBM} --set epochs=2 --trials 1 --out tiny/t", 2),
            ("init", "0k,nr_inodes=1", "akgnn init tiny/a.toml", 2),
        )
    ),
    case("files limited, export", "ulimit -f 8; akgnn export run --out m.pt2"),
    case("files limited, tensorboard", f"ulimit -f 8; {OWN} --set epochs=300 --track tensorboard:t", leaves=("t",)),
    case("files limited, mlflow", f"ulimit -f 8; {OWN} --track mlflow:m", leaves=("m",)),
    case("files limited, train", f"ulimit -f 1; {OWN} --out own", leaves=("own",)),
    # 7: escape characters.
    *(
        case(f"escapes, {what}", run)
        for what, run in {
            "nodes": f"{TRAIN} --nodes $'\\e[31mred.csv' --edges edges.csv",
            "nodes with a line end": f"{TRAIN} --nodes $'a\\nb.csv' --edges edges.csv",
            "run": "akgnn predict $'\\e[31m'",
            "config": "akgnn train --config $'\\e]0;title\\a'",
            "dataset": "akgnn train --dataset $'\\e[31m'",
            "option": "akgnn train $'--\\e[31m'",
            "command": "akgnn $'\\e[31m'",
            "argument": "akgnn models a $'b\\nc\\e'",
            "out": f"{OWN} --out $'nodes.csv/\\e[31m'",
            "seed": f"{OWN} --seed $'\\e[1m'",
            "model": f"{OWN} --model $'\\r\\e[2K'",
            "device": f"{OWN} --device $'\\e[31m'",
            "tracker": f"{OWN} --track $'\\e[31m'",
            "split": f"{OWN} --split $'\\e[31m'",
            "label": f"{OWN} --label $'\\e[31m'",
            "set": f"{OWN} --set $'\\e[31m=1'",
            "spec": "akgnn reproduce $'\\e[31m.toml'",
            "right-to-left": "akgnn train --dataset $'\\u202efdp'",
            "not utf-8": "akgnn predict $'\\xff\\xfe'",
        }.items()
    ),
    *(
        case(f"escapes in a good path, {what}", run, status=0)
        for what, run in {
            "train": f"{OWN} --out $'\\e[31mred\\nb'",
            "predict": "akgnn predict run --out $'\\e[31mred'",
            "init": "akgnn init $'\\e[31m.toml'",
            "inspect": "mv run $'\\e[31m'; akgnn inspect $'\\e[31m'",
            "export": "akgnn export run --out $'\\e[31m.pt2'",
            "report": "akgnn report run --out $'\\e[31m.html'",
            "report of": "mv run $'\\e[31m'; akgnn report $'\\e[31m' --out p.html",
            "tune": f"akgnn tune --dataset {CSBM} --set epochs=2 --trials 1 --out $'\\e[31m'",
            "not utf-8": f"{OWN} --out $'\\xff'",
        }.items()
    ),
]

CASES = ASKED
