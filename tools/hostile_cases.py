"""The cases of `hostile.py`: what is made wrong in a good folder, and what is run there.

The folder has `nodes.csv` and `edges.csv`; `run`, trained on them; `generated`, trained on a block
model; `parts`, the same in two parts; `state`, stopped in the middle; and `settings.toml`. In commands, `akgnn` is the command line
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
OPEN = f"{TRAIN} --nodes nodes.csv --edges edges.csv"
OWN = f"{OPEN} --preset mixed-columns"
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
    """Change a value in `run.json`, whose own SHA-256 is made right again."""

    def make(folder: Path) -> None:
        file = folder / run / "run.json"
        content = json.loads(file.read_text())
        place = content
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value
        from akgnn.runs.folder import sealed

        file.write_bytes(sealed(content))

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
        "content['weights'].update(sha256=hashlib.sha256(blob).hexdigest(), bytes=len(blob))\n"
        "from akgnn.runs.folder import sealed\n"
        "(folder / 'run.json').write_bytes(sealed(content))\n"
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
        (folder / name).write_bytes(
            ("\n".join(change(lines)) + "\n").encode("utf-8", "surrogatepass")
        )

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
        "                preset='mixed-columns',\n"
        "                callbacks=[StopWhen(lambda: True)])\n"
        "except akgnn.errors.InterruptedRunError: pass\n"
    )
    for command in (
        ["akgnn", *OWN.split()[1:], "--out", "run"],
        ["akgnn", *TRAIN.split()[1:], "--dataset", CSBM, "--out", "generated"],
        ["akgnn", *f"partition --dataset {CSBM} --cut hash --parts 2 --out parts".split()],
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
ENCODED = {
    "ascii": "ascii",
    "latin-1": "latin-1",
    "cp1252": "cp1252",
    "strict ascii": "ascii:strict",
}
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
    "import pyarrow as pa, pyarrow.parquet as pq, pyarrow.csv as c;t = c.read_csv('nodes.csv');"
)
READONLY = (
    "mkdir -p locked && mount -t tmpfs -o ro,size=1m none locked && trap 'umount locked' EXIT; "
)
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
            "auto": f"{OPEN} --model auto",
            "choice": OPEN,
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
    case(
        "output closed, both", f"{TRAIN} --dataset {CSBM} >&- 2>&-", status=(1, 2), is_silent=True
    ),
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
            "ensemble": f"{OWN} --ensemble 2 --out {{out}}",
            "tune": f"akgnn tune --dataset {CSBM} --trials 1 --set epochs=2 --out {{out}}",
            "predict": "akgnn predict run --out {out}",
            "report": "akgnn report run --out {out}",
            "export": "akgnn export run --out {out}.pt2",
            "onnx": "akgnn export run --onnx --out {out}.onnx",
            "init": "akgnn init {out}",
            "partition": f"akgnn partition --dataset {CSBM} --cut hash --parts 2 --out {{out}}",
            "reproduce": "akgnn reproduce spec.toml --out {out}",
            "bench": "akgnn bench layer --edges 1e3 --repetitions 5 --channels 4 --out {out}",
            "tensorboard": f"{OWN} --track tensorboard:{{out}}",
            "mlflow": f"{OWN} --track mlflow:{{out}}",
            "estimator": 'api "'
            + FITTING
            + "AKGNNClassifier(epochs=2, n_neighbors=3).fit(x, y).save('{out}')\"",
        }.items()
        for what, out, make in (
            ("name too long", LONG, _nothing),
            ("below a file", "nodes.csv/out", _nothing),
        )
    ),
    *(
        case(f"out in a read-only folder, {command}", READONLY + run, leaves=("locked",))
        for command, run in {
            "train": f"{OWN} --out locked/out",
            "train itself": f"{OWN} --out locked",
            "tune": f"akgnn tune --dataset {CSBM} --trials 1 --out locked/out",
            "predict": "akgnn predict run --out locked/out.csv",
            "report": "akgnn report run --out locked/out.html",
            "export": "akgnn export run --out locked/out.pt2",
            "init": "akgnn init locked/out.toml",
            "partition": f"akgnn partition --dataset {CSBM} --cut hash --out locked/out",
            "tensorboard": f"{OWN} --track tensorboard:locked",
            "mlflow": f"{OWN} --track mlflow:locked",
        }.items()
    ),
    case("out with a name of 250 letters", f"akgnn predict run --out {'x' * 250}", status=0),
    case("out is /dev/full, predict", "akgnn predict run --out /dev/full", status=2),
    case(
        "out in a loop of links",
        "ln -s loop loop; akgnn predict run --out loop/x",
        leaves=("loop",),
    ),
    # 4: pipes and devices.
    case("pipe as nodes", OWN, pipe("nodes.csv")),
    case("pipe as edges", OWN, pipe("edges.csv")),
    case("pipe as json lines", JSONL, pipe("nodes.jsonl")),
    case(
        "pipe as parquet", f"{TRAIN} --nodes nodes.parquet --edges edges.csv", pipe("nodes.parquet")
    ),
    case("pipe as run.json", "akgnn predict run", pipe("run/run.json")),
    case("pipe as run.json, resumed", f"{OWN} --out run --resume", pipe("run/run.json")),
    case("pipe as weights", "akgnn predict run", pipe("run/weights.safetensors")),
    case("pipe as config", "akgnn train --config settings.toml", pipe("settings.toml")),
    case("pipe as spec", "akgnn reproduce spec.toml", pipe("spec.toml")),
    case(
        "pipe as records",
        "akgnn report records",
        both(text("records/x", ""), pipe("records/records.jsonl")),
    ),
    case("pipe as nodes to predict", "akgnn predict run --nodes nodes.csv", pipe("nodes.csv")),
    case(
        "pipe as study",
        f"akgnn tune --dataset {CSBM} --out t",
        both(text("t/.lock", ""), pipe("t/study.db")),
    ),
    case(
        "pipe as epochs.jsonl",
        "akgnn train --out state --resume",
        pipe("state/epochs.jsonl"),
        status=(0, 2),
    ),
    case(
        "pipe as output of init",
        "akgnn init settings.toml --force",
        pipe("settings.toml"),
        status=(0, 2),
    ),
    case("pipe as output of predict", "akgnn predict run --out p", pipe("p"), status=(0, 2)),
    case("pipe as lock", "akgnn train --out state --resume", pipe("state/.lock"), status=(0, 2)),
    case(
        "pipe as filtered data",
        "akgnn train --dataset chameleon-filtered --data-root .",
        both(text("filtered/x", ""), pipe("filtered/chameleon_filtered_directed.npz")),
    ),
    case("pipe as mlflow", f"{OWN} --track mlflow:m", both(text("m/x", ""), pipe("m/mlflow.db"))),
    case("/dev/zero as nodes", OWN, link("nodes.csv", "/dev/zero")),
    case("/dev/zero as json lines", JSONL, link("nodes.jsonl", "/dev/zero")),
    case("/dev/zero as run.json", "akgnn predict run", link("run/run.json", "/dev/zero")),
    case(
        "/dev/zero as run.json in python",
        "api \"import akgnn; akgnn.load_run('run')\"",
        link("run/run.json", "/dev/zero"),
    ),
    case("/dev/zero as weights", "akgnn predict run", link("run/weights.safetensors", "/dev/zero")),
    case("/dev/zero as config", "akgnn train --config bad.toml", link("bad.toml", "/dev/zero")),
    case("/dev/zero as spec", "akgnn reproduce spec.toml", link("spec.toml", "/dev/zero")),
    case(
        "/dev/zero as spec of a report",
        "akgnn report run --spec spec.toml",
        link("spec.toml", "/dev/zero"),
    ),
    case("/dev/tty as nodes", f"{TRAIN} --nodes /dev/tty --edges edges.csv"),
    case("/dev/null as nodes", OWN, link("nodes.csv", "/dev/null")),
    case(
        "a socket as nodes",
        OWN,
        both(
            lambda f: (f / "nodes.csv").unlink(),
            python("import socket; socket.socket(socket.AF_UNIX).bind('nodes.csv')"),
        ),
    ),
    case("huge run.json", HUGE_FILE.format("run/run.json") + "akgnn predict run"),
    case("huge weights", HUGE_FILE.format("run/weights.safetensors") + "akgnn predict run"),
    case("huge config", HUGE_FILE.format("bad.toml") + CONFIG, leaves=("bad.toml",)),
    case(
        "huge spec",
        HUGE_FILE.format("spec.toml") + "akgnn reproduce spec.toml",
        leaves=("spec.toml",),
    ),
    case("huge csv of zeros", HUGE_FILE.format("nodes.csv") + OWN),
    case(
        "huge json lines of zeros", HUGE_FILE.format("nodes.jsonl") + JSONL, leaves=("nodes.jsonl",)
    ),
    case(
        "huge parquet of zeros",
        HUGE_FILE.format("nodes.parquet") + f"{TRAIN} --nodes nodes.parquet --edges edges.csv",
        leaves=("nodes.parquet",),
    ),
    case(
        "huge filtered data",
        "mkdir -p filtered; "
        + HUGE_FILE.format("filtered/chameleon_filtered_directed.npz")
        + "akgnn train --dataset chameleon-filtered --data-root .",
        leaves=("filtered",),
    ),
    case(
        "huge records",
        "mkdir r; " + HUGE_FILE.format("r/records.jsonl") + "akgnn report r",
        leaves=("r",),
    ),
    # 5: odd content.
    case(
        "json text keys with lone surrogates",
        JSONL,
        text("nodes.jsonl", '{"id": "a", "label": "x", "\\ud800": "y"}\n'),
    ),
    case("csv of a byte-order mark", OWN, data("nodes.csv", b"\xef\xbb\xbf")),
    case("csv of a byte-order mark and a line end", OWN, data("nodes.csv", b"\xef\xbb\xbf\n")),
    case("csv edges of a byte-order mark", OWN, data("edges.csv", b"\xef\xbb\xbf\r\n\r\n")),
    case(
        "tsv of a byte-order mark",
        f"{TRAIN} --nodes nodes.tsv --edges edges.csv",
        data("nodes.tsv", b"\xef\xbb\xbf"),
    ),
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
            "ensemble": f"{OWN} --ensemble N",
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
    case(
        "5,000 digits, python",
        "api \"import akgnn; akgnn.load_tables('nodes.csv', 'edges.csv', split='9' * 5000 + '-per-class')\"",
    ),
    case(
        "5,000 digits, json lines",
        JSONL,
        text("nodes.jsonl", f'{{"id": {NUMBER}, "label": "a"}}\n'),
    ),
    case(
        "5,000 digits, run.json",
        "akgnn predict run",
        lambda f: _write(
            f / "run/run.json", b'{"format": "akgnn-run-4", "n": %s}' % NUMBER.encode()
        ),
    ),
    case("5,000 digits, ids", OWN, cell(1, 0, NUMBER)),
    case("5,000 digits, a feature", OWN, cell(1, 2, NUMBER), status=(0, 2), lines=2),
    case(
        "json keys with lone surrogates",
        JSONL,
        text("nodes.jsonl", '{"id": "a", "label": "x", "\\ud800": 1}\n'),
    ),
    case(
        "json late keys with lone surrogates",
        JSONL,
        text("nodes.jsonl", '{"id": "a", "label": "x"}\n{"id": "b", "label": "y", "\\udfff": 1}\n'),
    ),
    case(
        "json values with lone surrogates",
        JSONL,
        text("nodes.jsonl", '{"id": "a", "label": "\\ud800"}\n'),
    ),
    case("json raw surrogates", JSONL, text("nodes.jsonl", '{"id": "a", "label": "\ud800"}\n')),
    case(
        "run.json keys with lone surrogates",
        "akgnn predict run",
        record("\ud800", value=1),
        status=(0, 2),
        lines=2,
    ),
    case(
        "run.json class with a lone surrogate",
        "akgnn predict run",
        record("data", "class_names", value=["\ud800", "b"]),
    ),
    case("learning rate 1e38", f"{OWN} --set learning_rate=1e38", status=(1, 2)),
    case(
        "learning rate 1e38, out",
        f"{OWN} --set learning_rate=1e38 --out o",
        status=(1, 2),
        leaves=("o",),
    ),
    case("learning rate 1e38, seeds", f"{OWN} --set learning_rate=1e38 --seeds 2", status=(1, 2)),
    case("weight decay 1e38", f"{OWN} --set weight_decay=1e38", status=(0, 1, 2), lines=2),
    case(
        "phi learning rate 1e38", f"{OWN} --set phi_learning_rate=1e38", status=(0, 1, 2), lines=2
    ),
    case("learning rate 1e-38", f"{OWN} --set learning_rate=1e-38", status=0),
    *(
        case(
            f"run.json of 10^18 features, {what}", run, record("data", "num_features", value=10**18)
        )
        for what, run in {
            "predict": "akgnn predict run",
            "inspect": "akgnn inspect run",
            "export": "akgnn export run --out x.pt2",
            "report": "akgnn report run --out x.html",
            "load_run": "api \"import akgnn; akgnn.load_run('run').model\"",
        }.items()
    ),
    case(
        "run.json of 10^18 features, resumed",
        "akgnn train --out state --resume",
        record("data", "num_features", value=10**18, run="state"),
    ),
    case(
        "run.json of 10^30 features",
        "akgnn predict run",
        record("data", "num_features", value=10**30),
    ),
    case(
        "run.json of 10^9 hidden channels",
        "akgnn predict run",
        record("settings", "model", "hidden_channels", value=10**9),
    ),
    case(
        "run.json of 10^9 layers",
        "akgnn predict run",
        record("settings", "model", "num_layers", value=10**9),
    ),
    case(
        "run.json of 10^9 layers, inspect",
        "akgnn inspect run",
        record("settings", "model", "num_layers", value=10**9),
    ),
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
    case(
        "predict on a graph of 10^8 nodes",
        "akgnn predict generated --dataset csbm:num_nodes=100000000,num_features=4",
        status=(1, 2),
    ),
    case(
        "predict on a large graph of 10^9 nodes",
        "akgnn predict generated --dataset large:num_nodes=1000000000,num_features=4",
        status=(1, 2),
    ),
    case(
        "train on a graph of 10^8 nodes",
        f"{TRAIN} --dataset csbm:num_nodes=100000000,num_features=100000",
        status=(1, 2),
    ),
    case(
        "train on 10^9 classes",
        f"{TRAIN} --dataset csbm:num_nodes=100000000,num_classes=10000000",
        status=(1, 2),
    ),
    case(
        "load_dataset of 10^8 nodes",
        "api \"import akgnn; akgnn.load_dataset('csbm:num_nodes=100000000,num_features=100000')\"",
        status=2,
    ),
    *(
        case(
            f"checkpoint with an Adam step of {step}",
            "akgnn train --out state --resume",
            tensors(f"t['optimizer/0.step'] = torch.tensor({step})", run="state"),
        )
        for step in ("-1.0", "float('nan')", "float('inf')", "0.5", "-1e30")
    ),
    case(
        "checkpoint with negative squares",
        "akgnn train --out state --resume",
        tensors("t['optimizer/0.exp_avg_sq'] -= 5", run="state"),
    ),
    case(
        "checkpoint with weights that are no numbers",
        "akgnn train --out state --resume",
        tensors(
            "t = {k: v * float('nan') if k.startswith('model/') else v for k, v in t.items()}",
            run="state",
        ),
        status=(1, 2),
        leaves=("state",),
    ),
    # 6: a full disk.
    *(
        # The map of a run is kept for the next page.
        case(
            f"disk full, {what}",
            TINY.format(size) + run,
            status=status,
            leaves=("tiny", "run/map.json"),
        )
        for what, size, run, status in (
            ("export", "4k", "akgnn export run --out tiny/m.pt2", 2),
            ("export of half", "16k", "akgnn export run --out tiny/m.pt2", 2),
            ("onnx", "4k", "akgnn export run --onnx --out tiny/m.onnx", 2),
            ("train", "8k", f"{OWN} --out tiny/run", 2),
            (
                "train later",
                "24k",
                f"{OWN} --set epochs=300 --checkpoint-seconds 0 --out tiny/run",
                2,
            ),
            ("tensorboard", "4k", f"{OWN} --set epochs=300 --track tensorboard:tiny/t", 2),
            (
                "tensorboard later",
                "24k",
                f"{OWN} --set epochs=2000 --set patience=2000 --track tensorboard:tiny/t",
                2,
            ),
            ("mlflow", "4k", f"{OWN} --track mlflow:tiny/m", 2),
            (
                "mlflow later",
                "700k",
                f"{OWN} --set epochs=900 --set patience=900 --track mlflow:tiny/m",
                (0, 2),
            ),
            (
                "predict",
                "4k",
                "akgnn predict run --out tiny/p.csv; akgnn predict run --out tiny/q.csv",
                2,
            ),
            ("report", "64k", "akgnn report run --out tiny/r.html", 2),
            (
                "tune",
                "16k",
                f"akgnn tune --dataset {CSBM} --set epochs=2 --trials 1 --out tiny/t",
                2,
            ),
            ("init", "0k,nr_inodes=1", "akgnn init tiny/a.toml", 2),
        )
    ),
    case("files limited, export", "ulimit -f 8; akgnn export run --out m.pt2"),
    case(
        "files limited, tensorboard",
        f"ulimit -f 8; {OWN} --set epochs=300 --track tensorboard:t",
        leaves=("t",),
    ),
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

RESUME = "akgnn train --out state --resume"
PLAN = "akgnn plan --num-edges 9 --num-features 3 --num-classes 2"
PREDICT = "akgnn predict run"


def _api(code: str) -> str:
    return f'api "{code}"'


def _own(**options: str) -> str:
    return " ".join(
        [OWN, *(f"--{name.replace('_', '-')} {value}" for name, value in options.items())]
    )


def _with_jsonl(*rows: Any) -> Make:
    return _jsonl(*GOOD_ROWS, *rows)


MORE: list[Case] = [
    # Options of the command line.
    *(
        case(f"option {what}", run)
        for what, run in {
            "empty model": f"{OWN} --model ''",
            "empty dataset": f"{TRAIN} --dataset ''",
            "empty split": f"{OWN} --split ''",
            "empty label": f"{OWN} --label ''",
            "empty id": f"{OWN} --id ''",
            "empty columns": f"{OWN} --columns '!!'",
            "empty out": f"{OWN} --out ''",
            "empty preset": f"{OWN} --preset ''",
            "empty device": f"{OWN} --device ''",
            "empty tracker": f"{OWN} --track ''",
            "empty config": f"{TRAIN} --config ''",
            "empty set": f"{OWN} --set ''",
            "set without a name": f"{OWN} --set =3",
            "set without a value": f"{OWN} --set num_layers=",
            "set twice with nonsense": f"{OWN} --set num_layers=2=3",
            "set nan": f"{OWN} --set learning_rate=nan",
            "set minus infinity": f"{OWN} --set weight_decay=-inf",
            "set a fraction for an integer": f"{OWN} --set num_layers=2.5",
            "set underscores": f"{OWN} --set epochs=1__0",
            "set other digits": f"{OWN} --set epochs=٣٣ --set patience=-١",
            "set negative dropout": f"{OWN} --set input_dropout=-0.1",
            "set dropout of 1": f"{OWN} --set input_dropout=1",
            "set a wrong kernel": f"{OWN} --kernel papper",
            "kernel of another model": f"{OWN} --model gcn --kernel paper",
            "seed too large": f"{OWN} --seed 9223372036854775808",
            "negative seed": f"{OWN} --seed -1",
            "seeds beyond the largest": f"{OWN} --seed 9223372036854775807 --seeds 2",
            "no seeds": f"{OWN} --seeds 0",
            "too many seeds": f"{OWN} --seeds 10001",
            "no ensemble": f"{OWN} --ensemble 0",
            "negative ensemble": f"{OWN} --ensemble -1",
            "half an ensemble": f"{OWN} --ensemble 1.5",
            "too large an ensemble": f"{OWN} --ensemble 201",
            "ensemble beyond the largest seed": f"{OWN} --seed 9223372036854775807 --ensemble 2",
            "ensemble and seeds": f"{OWN} --ensemble 3 --seeds 2",
            "ensemble and folds": f"{OWN} --ensemble 3 --folds 3",
            "ensemble without validation": f"{OWN} --ensemble 2 --split 100/0/0",
            "one fold": f"{OWN} --folds 1",
            "more folds than nodes": f"{OWN} --folds 999",
            "folds and seeds": f"{OWN} --folds 3 --seeds 2",
            "folds and split": f"{OWN} --folds 3 --split 60/20/20",
            "checkpoint seconds nan": f"{OWN} --checkpoint-seconds nan",
            "negative checkpoint seconds": f"{OWN} --checkpoint-seconds -1",
            "resume without out": f"{OWN} --resume",
            "split beyond 100 per cent": f"{OWN} --split 60/60/60",
            "split of nothing": f"{OWN} --split 0/0/0",
            "split without validation": f"{OWN} --split 100/0/0",
            "split without training": f"{OWN} --split 0/50/50",
            "split of none per class": f"{OWN} --split 0-per-class",
            "split of too many per class": f"{OWN} --split 1000-per-class",
            "split of fold 5 of 5": f"{OWN} --split fold-5-of-5",
            "split of 0 folds": f"{OWN} --split fold-0-of-0",
            "split public of tables": f"{OWN} --split public",
            "split that is the label": f"{OWN} --split label",
            "split that is a number": f"{OWN} --split age",
            "public split of a far number": "akgnn train --split public-999999999",
            "device of another kind": f"{OWN} --device mps",
            "device with a negative number": f"{OWN} --device cuda:-1",
            "device meta": f"{OWN} --device meta",
            "dataset and tables": f"{OWN} --dataset cora",
            "no neighbours": f"{TRAIN} --nodes nodes.csv --neighbours 0",
            "neighbours without end": f"{TRAIN} --nodes nodes.csv --neighbours 9999999999999",
            "nothing to be near by": f"{TRAIN} --nodes nodes.csv --columns ''",
            "edges alone": f"{TRAIN} --edges edges.csv",
            "label without tables": f"{TRAIN} --label x",
            "weight that is an end": f"{OWN} --weight source",
            "source that is the target": f"{OWN} --source target --target target",
            "unknown missing": f"{OWN} --missing ignore",
            "unknown features": f"{OWN} --features scaled",
            "unknown direction": f"{OWN} --direction backwards",
            "columns that match nothing": f"{OWN} --columns 'zzz*'",
            "columns that are ids": f"{OWN} --columns id",
            "tracker at an address": f"{OWN} --track mlflow:http://localhost:5000",
            "csbm without a value": f"{TRAIN} --dataset csbm:homophily=",
            "csbm of a wrong name": f"{TRAIN} --dataset csbm:homofily=1",
            "csbm of one class": f"{TRAIN} --dataset csbm:num_classes=1",
            "csbm of too few nodes": f"{TRAIN} --dataset csbm:num_nodes=3",
            "csbm of homophily 2": f"{TRAIN} --dataset csbm:homophily=2",
            "csbm of a negative degree": f"{TRAIN} --dataset csbm:degree=-1",
            "cora with settings": f"{TRAIN} --dataset cora:x=1",
            "large of an odd number": f"{TRAIN} --dataset large:num_nodes=17",
            "dataset named tables": f"{TRAIN} --dataset tables",
            "config and a wrong option": "akgnn train --config settings.toml --label nope",
            "model auto with folds": f"{OWN} --model auto --folds 2",
            "unknown experiment": "akgnn reproduce table9",
            "reproduce without jobs": "akgnn reproduce table1 --jobs 0",
            "report of nowhere": "akgnn report nowhere",
            "report into a folder": "akgnn report run --out .",
            "report of a file": "akgnn report nodes.csv",
            "export with a wrong ending": "akgnn export run --out x.txt",
            "export without an ending": "akgnn export run --out x",
            "inspect a file": "akgnn inspect nodes.csv",
            "inspect the root": "akgnn inspect /",
            "explain an unknown node": "akgnn explain run nobody",
            "explain an empty node": "akgnn explain run ''",
            "explain row -1": "akgnn explain generated -- -1",
            "explain row 100": "akgnn explain generated 100",
            "explain row 1.5": "akgnn explain generated 1.5",
            "explain no neighbours": "akgnn explain run n1 --top 0",
            "explain as a PDF": "akgnn explain run n1 --out why.pdf",
            "explain into a folder": "akgnn explain run n1 --out .",
            "explain into no folder": "akgnn explain run n1 --out nowhere/why.svg",
            "explain into a device": "akgnn explain run n1 --out /dev/null",
            "predict edges alone": f"{PREDICT} --edges edges.csv",
            "predict tables of a data set": "akgnn predict generated --nodes nodes.csv",
            "predict another data set": f"{PREDICT} --dataset cora",
            "predict an unknown data set": f"{PREDICT} --dataset corra",
            "predict unknown ids": f"{PREDICT} --nodes nodes.csv --edges edges.csv --unknown-ids x",
            "predict into a folder": f"{PREDICT} --out .",
            "predict into nowhere": f"{PREDICT} --out no/where.csv",
            "partition of a run": f"akgnn partition --dataset {CSBM} --out run",
            "partition into none": "akgnn partition --parts 0",
            "partition by nothing": "akgnn partition --cut ''",
            "partition of tables and arrays": "akgnn partition --nodes nodes.csv --arrays .",
            "partition of no arrays": "akgnn partition --arrays .",
            "plan of nothing": "akgnn plan",
            "plan of a run": "akgnn plan run",
            "plan of no nodes": f"{PLAN} --num-nodes 0",
            "plan on another mesh": f"{PLAN} --num-nodes 9 --processes 8 --mesh 3x2",
            "plan in no memory": f"{PLAN} --num-nodes 9 --memory -1GB",
            "plan over words": f"{PLAN} --num-nodes 9 --network fast",
            "plan on a run's record": f"{PLAN} --num-nodes 9 --hardware run/run.json",
            "models of nothing": "akgnn models gnc",
            "models on nothing": "akgnn models akgnn --dataset",
            "bench of nothing": "akgnn bench speed",
            "bench of no edges": "akgnn bench layer --edges 0",
            "bench of words": "akgnn bench layer --edges many",
            "bench of an odd degree": "akgnn bench layer --edges 1e3 --mean-degree 3",
            "bench of no channels": "akgnn bench layer --edges 1e3 --channels 0",
            "bench of a wrong type": "akgnn bench layer --edges 1e3 --dtype int3",
            "tune of no trials": "akgnn tune --trials 0",
            "tune in a run": f"akgnn tune --dataset {CSBM} --out run",
            "tune of an unknown model": f"akgnn tune --dataset {CSBM} --model x",
            "init over a file": "akgnn init nodes.csv",
            "init in nowhere": "akgnn init no/where.toml",
            "init of an unknown model": "akgnn init a.toml --model x",
            "init of an unknown data set": "akgnn init a.toml --dataset x",
            "init of a strange label": "akgnn init a.toml --label $'a\\nb'",
            "init of a folder": "akgnn init . --force",
        }.items()
    ),
    # Tables.
    *(
        case(f"table {what}", OWN, make)
        for what, make in {
            "of nothing": data("nodes.csv", b""),
            "of line ends": data("nodes.csv", b"\n\r\n\n"),
            "of a header": nodes(lambda lines: lines[:1]),
            "of one row": nodes(lambda lines: lines[:2]),
            "without a header": nodes(lambda lines: ["1,2,3,4", *lines[1:]]),
            "with a column twice": nodes(lambda lines: ["id,label,age,age", *lines[1:]]),
            "with a column without a name": nodes(lambda lines: ["id,label,,age", *lines[1:]]),
            "with a field too many": cell(5, 3, "1,2"),
            "with a field too few": nodes(lambda lines: [*lines[:5], "n4,a", *lines[6:]]),
            "with an open quote": cell(5, 1, '"a'),
            "with a quote inside": cell(5, 0, 'n"4'),
            "with zero bytes": data("nodes.csv", b"id,label\na\0b,c\n"),
            "in UTF-16": python(
                "open('nodes.csv','w',encoding='utf-16').write('id,label\\na,b\\n')"
            ),
            "in Latin-1": data("nodes.csv", b"id,label\n\xe4,b\n"),
            "that is a zip file": data("nodes.csv", b"PK\x03\x04\x14\x00\x06\x00\x08\x00"),
            "that is a PDF": data("nodes.csv", b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"),
            "that is HTML": text("nodes.csv", "<!DOCTYPE html>\n<html><body>404</body></html>\n"),
            "with semicolons": nodes(lambda lines: [line.replace(",", ";") for line in lines]),
            "with one class": nodes(lambda lines: [line.replace(",b,", ",a,") for line in lines]),
            "without labels": nodes(lambda lines: [lines[0], *(f"n{i},,1,2" for i in range(40))]),
            "with an id twice": cell(5, 0, "n1"),
            "with an id missing": cell(5, 0, ""),
            "with an escape in an id": cell(5, 0, "\x1b[31mn"),
            "with an escape in a label": cell(5, 1, "\x1b[31mn"),
            "with a very long id": cell(5, 0, "x" * 100_000),
            "with a very long label": cell(5, 1, "x" * 100_000),
            "with a label of a surrogate": data("nodes.csv", b"id,label\na,\xed\xa0\x80\nb,c\n"),
            "with an infinite feature": cell(5, 2, "inf"),
            "with a feature of 1e300": cell(5, 2, "1e300"),
            "with labels that measure": nodes(
                lambda lines: [lines[0], *(f"n{i},{i / 7},1,2" for i in range(40))]
            ),
            "with a class for every node": nodes(
                lambda lines: [lines[0], *(f"n{i},c{i},1,2" for i in range(40))]
            ),
            "with a control character in a column": nodes(
                lambda lines: ["id,label,a\x07,b", *lines[1:]]
            ),
            "with an empty edge": edges(lambda lines: [*lines, ",,"]),
            "with edges to nobody": edges(lambda lines: [*lines, "n1,nobody,1"]),
            "with edges to nobody at all": edges(lambda lines: [lines[0], "x,y,1"]),
            "with no edges": edges(lambda lines: lines[:1]),
            "with one column of edges": edges(lambda lines: [line.split(",")[0] for line in lines]),
            "of edges that is a folder": lambda f: (
                (f / "edges.csv").unlink(),
                (f / "edges.csv").mkdir(),
            )[0],
            "of edges that is a broken link": link("edges.csv", "nowhere"),
            "of edges that is a loop": link("edges.csv", "edges.csv"),
            "of edges with a header twice": edges(lambda lines: [lines[0], *lines]),
        }.items()
    ),
    *(
        case(f"weight {what}", f"{OWN} --weight weight", cell(3, 2, value, "edges.csv"))
        for what, value in {
            "negative": "-1",
            "missing": "",
            "infinite": "inf",
            "no number": "heavy",
            "nan": "nan",
            "of 1e39": "1e39",
            "of 5,000 digits": NUMBER,
        }.items()
    ),
    *(
        case(f"jsonl {what}", JSONL, make)
        for what, make in {
            "of nothing": text("nodes.jsonl", ""),
            "of a list": text("nodes.jsonl", "[1, 2]\n"),
            "of a number": text("nodes.jsonl", "1\n"),
            "that breaks off": text("nodes.jsonl", '{"id": "a", "label"'),
            "of one array over lines": text("nodes.jsonl", '[\n{"id": "a"},\n{"id": "b"}\n]\n'),
            "of empty objects": text("nodes.jsonl", "{}\n{}\n"),
            "with a key twice": text("nodes.jsonl", '{"id": "a", "id": "b", "label": "c"}\n'),
            "with an empty key": text("nodes.jsonl", '{"": "a", "label": "b"}\n'),
            "with a key of an escape": text(
                "nodes.jsonl", '{"id": "a", "label": "b", "\\u001b": 1}\n'
            ),
            "with two kinds": _with_jsonl({"id": 7, "label": "a", "age": 1}),
            "with text among numbers": _with_jsonl({"id": "z", "label": "a", "age": "old"}),
            "with a list as a label": _with_jsonl({"id": "z", "label": ["a"], "age": 1}),
            "with NaN": text("nodes.jsonl", '{"id": "a", "label": "b", "age": NaN}\n'),
            "with a line of 20 MB": text("nodes.jsonl", '{"id": "' + "a" * 20_000_000 + '"}\n'),
            "in UTF-16": python("open('nodes.jsonl','w',encoding='utf-16').write('{}')"),
            "of rubbish": data("nodes.jsonl", bytes(range(256)) * 40),
        }.items()
    ),
    *(
        case(f"parquet {what}", f"{TRAIN} --nodes nodes.parquet --edges edges.csv", make)
        for what, make in {
            "of nothing": data("nodes.parquet", b""),
            "of rubbish": data("nodes.parquet", b"PAR1" + bytes(range(256)) * 9 + b"PAR1"),
            "that is a csv": lambda f: (f / "nodes.csv").rename(f / "nodes.parquet") and None,
            "cut in two": python(
                PARQUET
                + "pq.write_table(t,'a');b=open('a','rb').read();open('nodes.parquet','wb').write(b[:len(b)//2])"
            ),
            "with a flipped byte": python(
                PARQUET
                + "pq.write_table(t,'a');b=bytearray(open('a','rb').read());b[len(b)//3]^=255;b[len(b)//2]^=255;open('nodes.parquet','wb').write(b)"
            ),
            "without rows": python(PARQUET + "pq.write_table(t[:0],'nodes.parquet')"),
            "without columns": python(PARQUET + "pq.write_table(t.select([]),'nodes.parquet')"),
            "with binary ids": python(
                PARQUET
                + "pq.write_table(t.set_column(0,'id',pa.array([b'\\xff%d'%i for i in range(40)])),'nodes.parquet')"
            ),
            "with dates as labels": python(
                PARQUET
                + "import datetime as d; pq.write_table(t.set_column(1,'label',pa.array([d.date(2020,1,1+i%2) for i in range(40)])),'nodes.parquet')"
            ),
            "nested 3,000 deep": python(
                PARQUET
                + "import functools; k=functools.reduce(lambda k,_: pa.list_(k),range(300),pa.int8()); pq.write_table(t.append_column('x',pa.nulls(40,k)),'nodes.parquet')"
            ),
            "with null ids": python(
                PARQUET + "pq.write_table(t.set_column(0,'id',pa.nulls(40)),'nodes.parquet')"
            ),
            "with NaN as ids": python(
                PARQUET
                + "pq.write_table(t.set_column(0,'id',pa.array([float('nan')]*40)),'nodes.parquet')"
            ),
            "with fractions as ids": python(
                PARQUET
                + "pq.write_table(t.set_column(0,'id',pa.array([i+0.5 for i in range(40)])),'nodes.parquet')"
            ),
        }.items()
    ),
    # What is no number, text or date is left out, and said to be; as it is, it cannot be taken.
    *(
        case(f"{name}{', plain' * is_plain}", run + " --prepare plain" * is_plain, make, **wanted)
        for name, run, make in (
            (
                "jsonl with a list as a feature",
                JSONL,
                _jsonl(*({**row, "age": [1]} for row in GOOD_ROWS)),
            ),
            (
                "parquet with nested features",
                f"{TRAIN} --nodes nodes.parquet --edges edges.csv",
                python(
                    PARQUET
                    + "pq.write_table(t.append_column('x',pa.array([{'a':[1]}]*40)),'nodes.parquet')"
                ),
            ),
        )
        for is_plain, wanted in (
            (False, {"status": 0, "says": "left out: a column of"}),
            (True, {"status": 2}),
        )
    ),
    *(
        case(f"table path {what}", f"{TRAIN} --nodes {path} --edges edges.csv")
        for what, path in {
            "of no file": "nothing.csv",
            "of a folder": "run",
            "without an ending": "nodes",
            "of an unknown ending": "settings.toml",
            "at an address": "https://example.org/a.csv",
            "of the home folder": "'~/a.csv'",
            "too long": f"{LONG}.csv",
            "below a file": "nodes.csv/a.csv",
            "empty": "''",
            "of a point": ".",
            "of excel": "nodes.xlsx",
        }.items()
    ),
    # Settings files.
    *(
        case(f"config {what}", CONFIG, _toml(content))
        for what, content in {
            "of an unknown table": "[modell]\nname = 1\n",
            "of an unknown setting": "[training]\nepoch = 2\n",
            "of a table as a value": "training = 3\n",
            "of a value as a table": "[training.epochs]\na = 1\n",
            "of a date": "[training]\nepochs = 2020-01-01\n",
            "of a list": "[training]\nepochs = [1, 2]\n",
            "of text for a number": "[training]\nepochs = 'many'\n",
            "of true for a number": "[training]\nepochs = true\n",
            "of nan": "[training]\nlearning_rate = nan\n",
            "of a name twice": "[training]\nepochs = 1\nepochs = 2\n",
            "that breaks off": "[training\n",
            "nested too deeply": "a = " + "[" * 5000,
            "of an escape": "[run]\ndataset = '\x1b[31m'\n",
            "of an escaped escape": '[run]\ndataset = "\\u001b[31m"\n',
            "of an unknown model": "[run]\nmodel = 'gnc'\n",
            "of a model that is a number": "[run]\nmodel = 3\n",
            "of a model that is a list": "[run]\nmodel = ['gcn']\n",
            "of an unknown strategy": "[strategy]\nstrategy = 'x'\n",
            "of tables and a data set": "[run]\ndataset = 'cora'\n[tables]\nnodes = 'nodes.csv'\nedges = 'edges.csv'\n",
            "of edges alone": "[tables]\nedges = 'edges.csv'\n",
            "of nodes that are a number": "[tables]\nnodes = 3\nedges = 4\n",
            "of a folder as nodes": "[tables]\nnodes = 'run'\nedges = 'edges.csv'\n",
            "of an integer of 100 digits": f"[training]\nepochs = {'9' * 100}\n",
            "of a byte-order mark": "\ufeff[training\n",
            "of zero bytes": "[run]\ndataset = 'a\0b'\n",
        }.items()
    ),
    case("config of Latin-1", CONFIG, data("bad.toml", b"[run]\ndataset = '\xe4'\n")),
    case("config that is a folder", "akgnn train --config run"),
    case("config of nothing", CONFIG, _toml(""), status=0),
    *(
        case(
            f"spec {what}",
            "akgnn reproduce spec.toml --out r",
            text("spec.toml", content),
            leaves=("r",),
        )
        for what, content in {
            "of nothing": "",
            "nested too deeply": "a = " + "[" * 5000,
            "of 5,000 digits": f"title = 'x'\ndatasets = ['cora']\nseeds = {NUMBER}\n",
            "of an unknown data set": "title = 'x'\ndatasets = ['corra']\n[[rows]]\nmodel = 'gcn'\n",
            "of no rows": "title = 'x'\ndatasets = ['cora']\n",
            "of numbers for names": "title = 1\ndatasets = 2\n",
            "of an escape": 'title = "\\u001b"\ndatasets = ["cora"]\n[[rows]]\nmodel = "gcn"\n',
        }.items()
    ),
    # Run folders.
    *(
        case(f"run.json {what}", PREDICT, make)
        for what, make in {
            "of nothing": data("run/run.json", b""),
            "of a list": data("run/run.json", b"[]"),
            "of null": data("run/run.json", b"null"),
            "of rubbish": data("run/run.json", bytes(range(256))),
            "of another format": record("format", value="akgnn-run-99"),
            "nested too deeply": data("run/run.json", b"[" * 100_000),
            "that is a folder": lambda f: (
                (f / "run/run.json").unlink(),
                (f / "run/run.json").mkdir(),
            )[0],
            "of an unknown status": record("status", value="asleep"),
            "of a failed run without a reason": record("status", value="failed"),
            "of settings that are a list": record("settings", value=[]),
            "of an unknown model": record("settings", "run", "model", value="transformer"),
            "of a model that is a number": record("settings", "run", "model", value=3),
            "of a negative number of features": record("data", "num_features", value=-1),
            "of features that are text": record("data", "num_features", value="2"),
            "of no classes": record("data", "class_names", value=[]),
            "of a class with an escape": record("data", "class_names", value=["\x1b[31m", "b"]),
            "of a hundred thousand classes": record(
                "data", "class_names", value=[str(i) for i in range(100_000)]
            ),
            "of no recipe": record("data", "recipe", value={}),
            "of a recipe that is a list": record("data", "recipe", value=[1]),
            "of weights elsewhere": record(
                "weights", value={"file": "../../etc/passwd", "bytes": 1, "sha256": "0"}
            ),
            "of weights that are a number": record("weights", value=7),
            "of weights without a name": record(
                "weights", value={"file": "", "bytes": 1, "sha256": ""}
            ),
            "of a history that is a number": record("history", value=1),
            "of a history of text": record("history", "val_loss", value=["a"]),
            "of a result that is a list": record("result", value=[]),
            "of nodes that are gone": record("settings", "tables", "nodes", value="/nowhere.csv"),
            "of nodes that are a device": record("settings", "tables", "nodes", value="/dev/zero"),
            "of nodes that are an empty text": record("settings", "tables", "nodes", value=""),
            "of other columns": record("settings", "tables", "label", value="nope"),
            "of a split of 5,000 digits": record(
                "settings", "run", "split", value=NUMBER + "-per-class"
            ),
        }.items()
    ),
    *(
        case(f"weights {what}", PREDICT, make)
        for what, make in {
            "of nothing": data("run/weights.safetensors", b""),
            "of rubbish": data("run/weights.safetensors", bytes(range(256)) * 10),
            "that are gone": lambda f: (f / "run/weights.safetensors").unlink(),
            "that are a folder": lambda f: (
                (f / "run/weights.safetensors").unlink(),
                (f / "run/weights.safetensors").mkdir(),
            )[0],
            "with one too few": tensors("t.pop(next(iter(t)))"),
            "with one too many": tensors("t['extra'] = torch.zeros(3)"),
            "of other shapes": tensors("t = {k: v.reshape(-1) for k, v in t.items()}"),
            "of integers": tensors("t = {k: v.long() for k, v in t.items()}"),
            "of float64": tensors("t = {k: v.double() for k, v in t.items()}"),
            "of complex numbers": tensors("t = {k: v.to(torch.complex64) for k, v in t.items()}"),
        }.items()
    ),
    *(
        case(f"state {what}", RESUME, make)
        for what, make in {
            "of other parts": tensors("t['strange/x'] = torch.zeros(1)", run="state"),
            "without the optimiser": tensors(
                "t = {k: v for k, v in t.items() if k[0] != 'o'}", run="state"
            ),
            "of an optimiser of integers": tensors(
                "t = {k: v.long() if k[0] == 'o' else v for k, v in t.items()}", run="state"
            ),
            "of another number of epochs": record(
                "settings", "training", "epochs", value=-3, run="state"
            ),
            "of a history without an end": record(
                "history", "val_loss", value=[1.0, 2.0, 3.0], run="state"
            ),
            "of a lost table": record(
                "settings", "tables", "edges", value="/nowhere.csv", run="state"
            ),
        }.items()
    ),
    case("out that holds another run", f"{OWN} --out run"),
    case("out that holds other files", f"{OWN} --out filled", text("filled/notes.txt", "mine")),
    case("out of other settings, resumed", f"{OWN} --out run --resume --set num_layers=3"),
    case("out of several seeds that holds one", f"{OWN} --out run --seeds 2"),
    case(
        "two trainings in one folder",
        f"{OWN} --set epochs=400 --set patience=400 --out twice >/dev/null & sleep 6; {OWN} --out twice; s=$?; wait; exit $s",
        status=2,
        leaves=("twice",),
    ),
    # Python.
    *(
        case(
            f"python {what}",
            _api("import akgnn, pandas as pd, numpy as np, torch; " + code),
            status=status,
        )
        for what, code, status in (
            ("train of a path that is a number", "akgnn.train(nodes=3, edges=4)", 2),
            ("train of an unknown setting", f"akgnn.train('{CSBM}', settings={{'epoch': 3}})", 2),
            (
                "train of a setting of a wrong kind",
                f"akgnn.train('{CSBM}', settings={{'epochs': 'x'}})",
                2,
            ),
            (
                "train of a huge setting",
                f"akgnn.train('{CSBM}', settings={{'epochs': 10**5000}})",
                2,
            ),
            ("train of a seed that is text", f"akgnn.train('{CSBM}', seed='a')", 2),
            ("train of a negative seed", f"akgnn.train('{CSBM}', seed=-1)", 2),
            ("train of edges without nodes", "akgnn.train(edges='edges.csv')", 2),
            (
                "train into a path with a zero byte",
                f"akgnn.train('{CSBM}', settings={{'epochs': 2}}, out='a' + chr(0))",
                2,
            ),
            ("load_run of a path with a zero byte", "akgnn.load_run('a' + chr(0))", 2),
            (
                "load_tables of a path with a zero byte",
                "akgnn.load_tables('a' + chr(0) + '.csv', 'edges.csv')",
                2,
            ),
            ("load_run of nothing", "akgnn.load_run('')", 2),
            ("load_tables of empty frames", "akgnn.load_tables(pd.DataFrame(), pd.DataFrame())", 2),
            (
                "load_tables of a frame of objects",
                "akgnn.load_tables(pd.DataFrame({'id': [1, 'a'], 'label': [object(), 2]}), 'edges.csv')",
                2,
            ),
            ("load_tables of a list", "akgnn.load_tables([1, 2], [3])", 2),
            (
                "load_tables of mixed ids",
                "akgnn.load_tables(pd.DataFrame({'id': [1, 'a', 2.5], 'label': ['x', 'y', 'x']}), 'edges.csv')",
                2,
            ),
            (
                "load_tables of huge ids",
                "akgnn.load_tables(pd.DataFrame({'id': [10**40, 2], 'label': ['x', 'y']}), 'edges.csv')",
                2,
            ),
            ("load_tables of an unknown split", LOAD.format(", split='x'")[14:], 2),
            ("load_tables of a label that is a number", LOAD.format(", label=3")[14:], 2),
            ("load_dataset of a number", "akgnn.load_dataset('csbm:seed=-1')", 2),
            (
                "graph of a negative node",
                "akgnn.Graph.from_edge_index(torch.tensor([[0], [-1]]))",
                2,
            ),
            (
                "graph of a far node",
                "akgnn.Graph.from_edge_index(torch.tensor([[0], [5]]), num_nodes=3)",
                2,
            ),
            ("graph of fractions", "akgnn.Graph.from_edge_index(torch.tensor([[0.5], [1]]))", 2),
            ("graph of text", "akgnn.Graph.from_edge_index('x')", 2),
            ("graph of 2^62 nodes", "akgnn.Graph.from_edge_index(torch.tensor([[0], [2**62]]))", 2),
            (
                "graph of NaN weights",
                "akgnn.Graph.from_edge_index(torch.tensor([[0], [1]]), torch.tensor([float('nan')]))",
                2,
            ),
            ("estimator loaded from a run", "akgnn.AKGNNClassifier.load('run')", 2),
            ("estimator loaded from nothing", "akgnn.AKGNNClassifier.load('nowhere')", 2),
            ("predict of a folder", "akgnn.load_run('run').predict(nodes='run', edges='run')", 2),
            (
                "predict of edges to nobody",
                "akgnn.load_run('run').predict(nodes='nodes.csv', edges=pd.DataFrame({'source': ['x'], 'target': ['y']}))",
                2,
            ),
            (
                "predict of other columns",
                "akgnn.load_run('run').predict(nodes=pd.DataFrame({'id': ['x']}))",
                2,
            ),
        )
    ),
]

# Whatever reads the training tables again, and how they may have changed since.
AGAIN = {
    "predict": "akgnn predict run",
    "predict json": "akgnn predict run --json",
    "predict beside old nodes": "akgnn predict run --nodes new.csv --edges links.csv",
    "explain": "akgnn explain run n3",
    "export": "akgnn export run --out model.pt2",
    "report": "akgnn report run --out page.html",
    "python data": "api \"import akgnn; akgnn.load_run('run').data()\"",
    "python predict": "api \"import akgnn; akgnn.load_run('run').predict()\"",
}
NEW = both(
    text("new.csv", "id,age,height\nx,3,1.5\n"), text("links.csv", "source,target,weight\nx,n1,1\n")
)


def _own_tables(folder: Path) -> None:
    """Have the run refer to the tables of this folder, not of that which it was copied from."""
    for kind in ("nodes", "edges"):
        record("settings", "tables", kind, value=str(folder / f"{kind}.csv"))(folder)


def _folder_of_nodes(folder: Path) -> None:
    (folder / "nodes.csv").unlink()
    (folder / "nodes.csv").mkdir()


EDITS: dict[str, Make] = {
    "a value": cell(3, 2, "6"),
    "a label": nodes(lambda lines: [line.replace(",a,", ",z,") for line in lines]),
    "a label of one": cell(3, 1, "b"),
    "labels swapped": nodes(lambda lines: [line.translate({97: 98, 98: 97}) for line in lines]),
    "rows of a new class": nodes(lambda lines: [*lines, *(f"m{i},c,1,1" for i in range(9))]),
    "rows in another order": nodes(lambda lines: [lines[0], *lines[:0:-1]]),
    "an id in both": both(
        cell(1, 0, "first"),
        edges(lambda lines: [f"{x},".replace("n0,", "first,").rstrip(",") for x in lines]),
    ),
    "a row less": nodes(lambda lines: lines[:-1]),
    "a column less": nodes(lambda lines: [line.rpartition(",")[0] for line in lines]),
    "another type": nodes(lambda lines: [lines[0], *(f"{x}m" for x in lines[1:])]),
    "an edge more": edges(lambda lines: [*lines, "n1,n9,1"]),
    "an edge less": edges(lambda lines: lines[:-1]),
    "no nodes": lambda folder: (folder / "nodes.csv").unlink(),
    "no edges": lambda folder: (folder / "edges.csv").unlink(),
    "a folder": _folder_of_nodes,
}
CHANGED = [
    case(f"changed: {edit}, {name}", run, both(NEW, _own_tables, make))
    for edit, make in EDITS.items()
    for name, run in AGAIN.items()
]
CHANGED += [
    case(
        f"changed: {edit}, predict alone",
        "akgnn predict run --nodes new.csv",
        both(NEW, _own_tables, make),
        0,
    )
    for edit, make in EDITS.items()
]
NOT_FINITE = [
    case(
        f"finite: a weight of {value} in the run, {name}",
        run,
        both(
            NEW,
            tensors(
                f"next(x for x in t.values() if x.is_floating_point()).view(-1)[0] = float('{value}')"
            ),
        ),
        says="not finite",
    )
    for value in ("nan", "inf", "-inf")
    for name, run in [*AGAIN.items(), ("inspect", "akgnn inspect run")]
    if name != "python data"
]
HEAVY = "id,age,height\nn1,3,1.5\nn2,4,1.5\nx,3,1\n"
NOT_FINITE += [
    case(
        f"finite: edges that weigh {value}",
        "akgnn predict run --nodes new.csv --edges links.csv",
        both(
            text("new.csv", HEAVY),
            text("links.csv", f"source,target,weight\nx,n1,{value}\nx,n2,{value}\nn2,x,{value}\n"),
            record("settings", "tables", "weight", value="weight"),
        ),
    )
    for value in ("3.4e38", "2e38", "1e39", "inf", "nan", "-1")
]

# Several processes: what they listen on is tested in tests/cli/test_processes.py.
PARTS = f"{TRAIN} --parts parts --timeout 3"
TWO = "--parts parts --processes 2 --mesh 2x1"
MEETING = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "9"}
# Trains until somebody ends it, and waits until an epoch is kept.
ENDLESS = (
    f"akgnn train {TWO} --set epochs=100000 --set patience=100000 --checkpoint-seconds 0 --out kept"
    " & starter=$!; until [ -s kept/epochs.jsonl ]; do sleep 0.1; done; "
    "workers=$(pgrep -P $starter); "
)
ENDED = "for each in $workers; do while kill -0 $each 2> /dev/null; do sleep 0.1; done; done"
OTHER_TYPE = """python -c "
import json, sys, torch
from pathlib import Path
from akgnn.arrays import describe
from akgnn.codec import to_json
from akgnn.distributed.folder import open_parts
from akgnn.distributed.manifest import manifest_text
from akgnn.distributed.parts import content_of
parts = open_parts('parts')
x = parts.part(1).x.to(getattr(torch, sys.argv[1]))
file = describe(x)
Path('parts/part-00001/x.npy').write_bytes(file.header + x.numpy().tobytes())
manifest = Path('parts/parts.json')
content = json.loads(manifest.read_text())
content['parts'][1]['arrays']['x'] = to_json(file)
digests = [{n: f['sha256'] for n, f in p['arrays'].items()} for p in content['parts']]
content['facts']['content'] = content_of(parts.facts, digests)
for name in ('format', 'version', 'checksum'):
    del content[name]
manifest.write_text(manifest_text(content))
" """


def _environment(name: str, says: str, status: int = 2, run: str = PARTS, **changed: str) -> Case:
    environment = {n: v for n, v in {**MEETING, **changed}.items() if v != "-"}
    return case(f"processes: {name}", run, status=status, says=says, environment=environment)


PROCESSES: list[Case] = [
    _environment("no MASTER_ADDR", "MASTER_ADDR is not set", MASTER_ADDR="-"),
    _environment("no MASTER_PORT", "MASTER_PORT is not set", MASTER_PORT="-"),
    _environment("MASTER_PORT is a name", "MASTER_PORT must be", MASTER_PORT="http"),
    _environment("MASTER_PORT too large", "MASTER_PORT must be", MASTER_PORT="70000"),
    _environment("RANK is a word", "RANK must be a whole number", RANK="one"),
    _environment("RANK below 0", "RANK must be a whole number", RANK="-1"),
    _environment("RANK too large", "RANK must be a whole number", RANK="2"),
    _environment("WORLD_SIZE is 0", "WORLD_SIZE must be a whole number", WORLD_SIZE="0"),
    _environment("WORLD_SIZE is a word", "WORLD_SIZE must be", WORLD_SIZE="two"),
    _environment("WORLD_SIZE has 5000 digits", "WORLD_SIZE must be", WORLD_SIZE=NUMBER),
    _environment("RANK without WORLD_SIZE", "WORLD_SIZE is not", WORLD_SIZE="-"),
    _environment("WORLD_SIZE without RANK", "RANK is not", RANK="-"),
    _environment("LOCAL_RANK is a word", "LOCAL_RANK must be", LOCAL_RANK="x"),
    _environment("LOCAL_WORLD_SIZE is 0", "LOCAL_WORLD_SIZE must be", LOCAL_WORLD_SIZE="0"),
    _environment(
        "restarts are a word", "TORCHELASTIC_MAX_RESTARTS must be",
        TORCHELASTIC_USE_AGENT_STORE="True", TORCHELASTIC_MAX_RESTARTS="x",
    ),
    _environment(
        "restart count is a word", "TORCHELASTIC_RESTART_COUNT must be",
        TORCHELASTIC_RESTART_COUNT="x",
    ),
    _environment("a meeting nowhere", "AKGNN_MEETING or", AKGNN_MEETING="/nowhere"),
    _environment("a meeting of nobody", "AKGNN_MEETING or", AKGNN_MEETING="/tmp"),
    _environment("another number", "says that this is one", run=f"{TRAIN} {TWO}", WORLD_SIZE="1", RANK="0"),
    _environment("nobody at the port", "cannot reach process 0", 1),
    _environment("unknown host", "cannot reach process 0", 1, MASTER_ADDR="nowhere.invalid"),
    _environment("malformed host", "cannot reach process 0", 1, MASTER_ADDR="..nowhere"),
    _environment(
        "first process, unknown host", "cannot reach process 0", 1, RANK="0",
        MASTER_ADDR="nowhere.invalid",
    ),
    _environment("first process, nobody comes", "", 1, RANK="0", MASTER_PORT="29512"),
    _environment(
        "unknown interface", "names no network interface", RANK="0", WORLD_SIZE="1",
        MASTER_PORT="29513", GLOO_SOCKET_IFNAME="nowhere0",
    ),
    _environment(
        "plan measures, no MASTER_ADDR", "MASTER_ADDR is not set", MASTER_ADDR="-",
        run="akgnn plan parts --measure --processes 2",
    ),
    # What does not concern a command changes nothing.
    _environment("one process, no parts", "", 0, run=f"{TRAIN} --dataset {CSBM}", RANK="x"),
    case(
        "processes: variables of other starts", f"{TRAIN} {TWO}", status=0,
        environment={
            "GLOO_SOCKET_IFNAME": "nowhere0", "NCCL_SOCKET_IFNAME": "nowhere0", "LOCAL_RANK": "x",
            "NCCL_COMM_ID": "x", "MASTER_ADDR": "x", "MASTER_PORT": "x", "AKGNN_STARTER": "x",
            "AKGNN_MEETING": "/nowhere", "TORCHELASTIC_RESTART_COUNT": "x", "TMPDIR": "/nowhere",
            "TORCHELASTIC_MAX_RESTARTS": "x", "TORCHELASTIC_USE_AGENT_STORE": "True",
        },
    ),
    *(
        case(f"processes: timeout {seconds}", f"{TRAIN} {TWO} --timeout {seconds}")
        for seconds in ("nan", "inf", "-1", "0", "1e-6", "1e30")
    ),
    case("processes: without parts", f"{TRAIN} --dataset {CSBM} --processes 2"),
    case("processes: more than parts", f"{TRAIN} --parts parts --processes 3"),
    case("processes: 0", f"{TRAIN} --parts parts --processes 0"),
    *(
        case(f"processes: a part of {dtype}", f"{OTHER_TYPE}{dtype} && {TRAIN} {TWO}",
             says="array x of part 1 holds")
        for dtype in ("float64", "float16")
    ),
    case(
        "processes: second Ctrl-C",
        f"{ENDLESS} kill -INT $starter; kill -INT $starter; sleep 0.2; kill -INT $starter; "
        "wait $starter",
        status=1, says="akgnn: Stop", leaves=("kept",),
    ),
    case(
        "processes: SIGHUP", f"{ENDLESS} kill -HUP $starter; wait $starter",
        status=1, says="Stopped after epoch", leaves=("kept",),
    ),
    case(
        "processes: SIGKILL of who started them",
        f"{ENDLESS} kill -9 $starter; wait $starter 2> /dev/null; {ENDED}",
        status=0, says="Stopped after epoch", leaves=("kept",),
    ),
    case(
        "processes: SIGKILL of one",
        f"{ENDLESS} kill -9 ${{workers##*[!0-9]}}; sleep 4; kill $starter; wait $starter",
        status=1, says="was ended by SIGKILL. Starting all", leaves=("kept",), lines=3,
    ),
    case(
        "processes: SIGKILL of all",
        f"{ENDLESS} kill -9 $workers; sleep 4; kill $starter; wait $starter",
        status=1, says="was ended by SIGKILL. Starting all", leaves=("kept",), lines=3,
    ),
    case(
        "processes: a reader that leaves",
        f"{TRAIN} {TWO} --json | head -c 0; exit ${{PIPESTATUS[0]}}", status=1, is_silent=True,
    ),
    case("processes: no standard error", f"{TRAIN} {TWO} 2>&-", status=0),
    case("processes: no standard output", f"{TRAIN} {TWO} >&-", says="Standard output is closed"),
    case(
        "processes: no loopback", f"unshare -n $(command -v akgnn) {TRAIN[6:]} {TWO}",
        status=1, says="none is up",
    ),
]  # fmt: skip

CASES = [*ASKED, *MORE, *CHANGED, *NOT_FINITE, *PROCESSES]


SETTINGS = [
    *(
        case(f"settings: {what}", f"akgnn train --dataset {CSBM} {options}", says=says)
        for what, options, says in (
            ("of another order", "--set order=blocks --set transform_dropout=0.9", "needs order="),
            ("of hops", "--set order=hops --set transform_dropout=0.6", "needs order="),
            ("of a preset", "--preset deep --set transform_dropout=0.9", "Choose from"),
            ("at its default", "--set norm=none", "needs order="),
            ("of blocks", "--model gcn --set norm=batch", "needs form="),
            ("of the published form", "--model gat --preset tuned --set output_heads=2", "form="),
            ("without a bias", "--model gcn --preset tuned --set bias=false", "needs form="),
            ("of an adversary", "--model vbat --set steps=3", "needs adversary="),
            ("of no kernel", "--model gcn --set phi_learning_rate=0.1", "has no kernel"),
            ("of a fixed kernel", "--set learn_lambda=false --set phi_warm_up=3", "no effect"),
            ("of one start", "--set kernel_start=3 --set same_starts=true", "no effect"),
        )
    ),
    case(
        "settings: of a file", CONFIG, _toml("[model]\norder = 'hops'\ntransform_dropout = 0.9\n")
    ),
    case(
        "settings: of a search",
        f"akgnn tune --dataset {CSBM} --trials 1 --set order=blocks --set transform_dropout=0.9 --out t",
        says="needs order=",
    ),
    case(
        "settings: of the API",
        _api(
            f"import akgnn; akgnn.train('{CSBM}', settings={{'order': 'hops', 'transform_dropout': .9}})"
        ),
        says="needs order=",
    ),
    case(
        "settings: that leave presets out",
        f"{OPEN} --set transform_dropout=0.3",
        status=0,
        says="do not fit: mixed-columns-deep",
    ),
]

CASES += SETTINGS


def _labels(*labels: str) -> Make:
    """Labels of the rows, again and again."""

    def change(lines: list[str]) -> list[str]:
        rows = [line.split(",") for line in lines[1:]]
        column = lines[0].split(",").index("label")
        for number, row in enumerate(rows):
            row[column] = labels[number % len(labels)]
        return [lines[0], *(",".join(row) for row in rows)]

    return nodes(change)


LABELS = [
    *(
        case(
            f"labels: {what}",
            f"{OPEN} --preset any-graph",
            _labels(*labels),
            status=0,
            says="look alike",
        )
        for what, labels in {
            "with spaces": ("a", " a", "b", "b "),
            "with no-break spaces": ("new york", "new\u00a0york", "b"),
            "true in three ways": ("true", "True", "false", "FALSE"),
            "numbers in three ways": ("1", "1.0", "01", "2"),
            "composed and decomposed": ("caf\u00e9", "cafe\u0301", "b"),
            "with zero-width spaces": ("a", "a\u200b", "b"),
            "of another width": ("A", "\uff21", "b"),
        }.items()
    ),
    case(
        "labels: of the API",
        _api(
            "import akgnn, pandas as pd; "
            "akgnn.load_tables(pd.DataFrame({'id': range(20), 'label': ['a', ' a'] * 10}), "
            "pd.DataFrame({'source': [0], 'target': [1]}))"
        ),
        status=0,
        says="look alike",
        lines=2,
    ),
    case(
        "labels: an id that looks like a node",
        f"{OPEN} --preset any-graph",
        text("edges.csv", "source,target\n n1,n2\n"),
        says="ids that are not in",
    ),
]

TEXT = [
    *(
        case(
            f"text: a label {what}",
            f"{OPEN} --preset any-graph --out fresh && akgnn predict fresh --out p.csv && akgnn report fresh --out r.html && grep -qF '{label}' p.csv",
            _labels(label, "b"),
            status=0,
            leaves=("fresh", "p.csv", "r.html"),
            lines=5,
        )
        for what, label in {
            "in Persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
            "of joined emoji": "\U0001f469\u200d\U0001f4bb",
            "with a no-break space": "new\u00a0york",
            "with a wide space": "\u6771\u4eac\u3000\u90fd",
            "that is a formula": "=1+1",
        }.items()
    ),
    *(
        case(
            f"text: a label with {what}", f"{OPEN} --preset any-graph", _labels(f"a{letter}b", "c")
        )
        for what, letter in {
            "an override": "\u202e",
            "an isolate": "\u2066",
            "a line separator": "\u2028",
            "a bell": "\x07",
            "a C1 control": "\x9b",
            "no character": "\ufffe",
        }.items()
    ),
    case(
        "text: a weight beyond float32",
        f"{OPEN} --weight weight",
        cell(3, 2, "3.4e38", "edges.csv"),
        says="edges.csv, line 4, column 'weight'",
    ),
    case(
        "text: an infinite weight",
        f"{OPEN} --weight weight",
        cell(3, 2, "inf", "edges.csv"),
        says="edges.csv, line 4, column 'weight'",
    ),
    case("text: a negative id", "akgnn explain run -5", says="explain RUN -- -5"),
    case("text: a negative id after --", "akgnn explain run -- -5", says="-5"),
]

CASES += [*LABELS, *TEXT]


TUNE = f"akgnn tune --dataset {CSBM} --set epochs=2 --out t --trials 1"


def _history(change: str) -> Make:
    """Change the history of a run, in a record that says what it should."""

    def make(folder: Path) -> None:
        file = folder / "run" / "run.json"
        content = json.loads(file.read_text())
        exec(change, {"h": content["history"]})
        from akgnn.runs.folder import sealed

        file.write_bytes(sealed(content))

    return make


KINDS = [
    *(
        case(
            f"kinds: {what}",
            _api(f"import akgnn, pandas as pd, numpy as np, torch; {code}"),
            status=status,
            lines=2,
        )
        for what, code, status in (
            ("train of a number", "akgnn.train(3)", 2),
            ("train of a path", "from pathlib import Path; akgnn.train(Path('cora'))", 2),
            ("train of a folder", "from pathlib import Path; akgnn.train(Path('.'))", 2),
            ("train of a frame", "akgnn.train(pd.DataFrame())", 2),
            ("train of a label alone", "akgnn.train('cora', label='y')", 2),
            (
                "default device meta",
                f"torch.set_default_device('meta'); akgnn.train('{CSBM}', settings={{'epochs': 2}})",
                2,
            ),
            (
                "default device meta, load",
                "torch.set_default_device('meta'); akgnn.load_run('run').model",
                2,
            ),
            (
                "default device meta, estimator",
                "torch.set_default_device('meta'); akgnn.AKGNNClassifier(epochs=2).fit(np.eye(20), [0, 1] * 10)",
                2,
            ),
            (
                "default dtype float64",
                f"torch.set_default_dtype(torch.float64); akgnn.train('{CSBM}', settings={{'epochs': 2}})",
                2,
            ),
            (
                "intervals",
                "akgnn.load_tables(pd.DataFrame({'id': range(20), 'label': ['a', 'b'] * 10, 'bin': pd.cut(np.arange(20), 3)}), pd.DataFrame({'s': [0], 't': [1]}))",
                0,
            ),
            (
                "big-endian edges",
                "np.save('e.npy', np.array([[0, 1], [1, 2]], '>i8')); akgnn.load_tables(pd.DataFrame({'id': range(20), 'label': ['a', 'b'] * 10, 'x': range(20)}), 'e.npy')",
                0,
            ),
        )
    ),
    *(
        case(f"kinds: history {what}", "akgnn report run --out r.html", _history(change))
        for what, change in {
            "of a short column": "h['val_loss'].pop()",
            "of a short row": "h['neighbour_share'][0].pop()",
            "of one epoch less": "[column.pop() for column in h.values() if column]",
            "of strange restarts": "h['start'] = [10**9] * len(h['val_loss'])",
        }.items()
    ),
    *(
        case(
            f"kinds: study {what}",
            f"{TUNE} && python -c \"import sqlite3; c = sqlite3.connect('t/study.db'); c.executescript('{sql}')\" && {TUNE} --trials 2",
            leaves=("t",),
            says="study.db",
        )
        for what, sql in {
            "of another release": "update alembic_version set version_num=9",
            "without results": "delete from trial_user_attributes",
            "without its search": "delete from study_user_attributes",
            "without values": "delete from trial_params",
            "without a direction": "delete from study_directions",
            "without trials": "drop table trials",
        }.items()
    ),
]


SIZE = [
    case("size: weights of 60 GB", "truncate -s 60G run/weights.safetensors && akgnn predict run"),
    case(
        "size: weights of 60 GB, no size recorded",
        "truncate -s 60G run/weights.safetensors && akgnn predict run",
        record("weights", value={"file": "weights.safetensors", "sha256": "0" * 64}),
    ),
    case(
        "size: weights of a size below 0",
        "akgnn predict run",
        record("weights", "bytes", value=-1),
    ),
    case(
        "size: weights of nothing but zeros",
        "rm run/weights.safetensors && truncate -s 60G run/weights.safetensors && akgnn report run",
    ),
    case("size: run.json of 60 GB", "truncate -s 60G run/run.json && akgnn inspect run"),
    case("size: run.json of 200 MB", "truncate -s 200M run/run.json && akgnn inspect run"),
    case(
        "size: state of 60 GB",
        "truncate -s 60G state/state-*.safetensors && akgnn train --out state --resume",
    ),
    case(
        "size: settings of 60 GB",
        "truncate -s 60G settings.toml && akgnn train --config settings.toml",
    ),
]

SIGTERM = [
    case(
        f"sigterm: {what} after {seconds} s",
        f"timeout -s {name} {seconds} akgnn {words}; s=$?; test $s = 124 && s=1; ls -A | grep -q '^.tmp-' && s=3; exit $s",
        status={0, 1},
        # At the very end, what was asked for is there and Python is about to leave.
        leaves=("t", "cut", "p.csv", "e.pt2", "r.html", "run/map.json"),
        is_silent=True,
    )
    for what, words in {
        "predict": "predict run --out p.csv",
        "export": "export run --out e.pt2",
        "report": "report run --out r.html",
        "partition": f"partition --dataset {CSBM} --parts 2 --out cut",
        "tune": f"tune --dataset {CSBM} --trials 9 --out t",
        "train": "train --nodes nodes.csv --edges edges.csv --set epochs=5000 --set patience=5000",
    }.items()
    for name, seconds in (("TERM", 3), ("HUP", 5))
]

CASES += [*KINDS, *SIZE, *SIGTERM]
