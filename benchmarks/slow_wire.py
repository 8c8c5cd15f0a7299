"""Predict the time of a step over a slow wire, then run it.

    sudo python benchmarks/slow_wire.py [--rates 200 1000] [--meshes 2x1 1x2] [--graphs cora pubmed]
        [--repeats 5] [--record results/slow-wire.jsonl]

Two network namespaces stand for two machines, with one process each, and a link between them that
`tc` limits to some Mbit/s. For each rate and graph both processes measure as `akgnn plan --measure`
does, the forecast says how long a step will take on each mesh, and only then the training is run on
each of them; what it takes is the median of its epochs. All of that is repeated. Shown are medians
over the repetitions: both times, and by how much the forecast is off, with the least and the most;
and how often the plan chose the faster mesh. Its status is 1 where a median is off by more than a
fifth, or a choice wrong.

It needs root, `ip` and `tc`, and leaves nothing behind.
"""

import argparse
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import torch

from akgnn.cli.options import decide_plan
from akgnn.distributed.calibrate import measure
from akgnn.distributed.folder import open_parts
from akgnn.distributed.forecast import forecast
from akgnn.distributed.group import Group
from akgnn.distributed.launch import NO_SHARED_STORE, joined
from akgnn.distributed.mesh import MeshShape
from akgnn.distributed.workload import cut_already
from akgnn.machine.device import keep_freed_memory
from akgnn.machine.provenance import run_versions
from akgnn.runs.parted import train_parts
from akgnn.runs.plan import PARTS
from akgnn.training.callbacks import Callback, Epoch

HOSTS = {"A": "10.77.0.1", "B": "10.77.0.2"}
GRAPHS = {
    "cora": ["--dataset", "cora"],
    "pubmed": ["--dataset", "pubmed"],
    # 20,000 nodes, 200,000 directed edges.
    "large": ["--dataset", "large:num_nodes=2e4,degree=10"],
}
# What is off by more than this share counts as missed.
BAR = 0.2
# How long a training takes at least, as predicted, and how long one command may.
SECONDS = 5
PATIENCE = 400


def main() -> int:
    """Predict, run, compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rates", type=int, nargs="+", default=[200, 1000])
    parser.add_argument("--meshes", nargs="+", default=["2x1", "1x2"])
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=list(GRAPHS))
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cut", default="order")
    parser.add_argument("--record", type=Path)
    asked = parser.parse_args()
    problem = what_is_missing()
    if problem:
        print(f"Skipped: {problem}")
        return 0
    # So that what is ended from outside cleans up too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    rows = []
    commit = run_versions().get("commit")
    with TemporaryDirectory() as folder, namespaces():
        place = Path(folder)
        for name in asked.graphs:
            cut = [*GRAPHS[name], "--parts", "8", "--cut", asked.cut, "--out", str(place / name)]
            subprocess.run(
                [sys.executable, "-m", "akgnn", "partition", *cut],
                check=True, stdout=subprocess.DEVNULL,
            )  # fmt: skip
        folders = [str(place / name) for name in asked.graphs]
        for rate in asked.rates:
            limit(rate)
            words = ["--worker", str(rate), str(asked.epochs), str(asked.repeats)]
            words += [",".join(asked.meshes), *folders]
            for line in on_both(words, patience=PATIENCE * asked.repeats).splitlines():
                if line.startswith("{"):
                    rows.append({"rate": rate, **json.loads(line), "commit": commit})
    if asked.record is not None:
        with asked.record.open("a") as file:
            file.writelines(f"{json.dumps(row)}\n" for row in rows)
    cases: dict[tuple[int, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        cases.setdefault((row["rate"], row["graph"], row["mesh"]), []).append(row)
    print("| link, Mbit/s | graph | mesh | predicted, ms | taken, ms | off | least, most | right |")
    print("| --: | --- | --- | --: | --: | --: | --: | --: |")
    for (rate, graph, mesh), found in cases.items():
        told, taken = (1e3 * median(row[key] for row in found) for key in ("told", "taken"))
        off = [100 * row["off"] for row in found]
        right = sum(row["chosen"] == row["fastest"] for row in found)
        print(
            f"| {rate} | {graph} | {mesh} | {told:.0f} | {taken:.0f} | {median(off):+.0f} % | "
            f"{min(off):+.0f} %, {max(off):+.0f} % | {right} of {len(found)} |"
        )
    is_near = all(abs(median(row["off"] for row in found)) <= BAR for found in cases.values())
    return 0 if is_near and all(row["chosen"] == row["fastest"] for row in rows) else 1


def what_is_missing() -> str | None:
    """Why there can be no namespaces; None where there can."""
    if os.geteuid() != 0:
        return "network namespaces need root."
    missing = [name for name in ("ip", "tc") if shutil.which(name) is None]
    if missing:
        return f"{' and '.join(missing)} not found."
    probe = subprocess.run(["ip", "netns", "add", "akgnn-probe"], capture_output=True, text=True)
    if probe.returncode:
        return f"no namespace can be made here: {probe.stderr.strip()}."
    subprocess.run(["ip", "netns", "del", "akgnn-probe"], check=True)
    return None


@contextmanager
def namespaces() -> Iterator[None]:
    """Two machines with a link, gone afterwards."""
    down()
    try:
        for host in HOSTS:
            run("ip", "netns", "add", f"akgnn{host}")
        run("ip", "link", "add", "akA", "type", "veth", "peer", "name", "akB")
        for host, address in HOSTS.items():
            run("ip", "link", "set", f"ak{host}", "netns", f"akgnn{host}")
            inside = ("ip", "-n", f"akgnn{host}")
            run(*inside, "addr", "add", f"{address}/24", "dev", f"ak{host}")
            run(*inside, "link", "set", f"ak{host}", "up")
            run(*inside, "link", "set", "lo", "up")
        yield
    finally:
        down()


def down() -> None:
    """Remove what is there of the machines."""
    for host in HOSTS:
        subprocess.run(["ip", "netns", "del", f"akgnn{host}"], capture_output=True, check=False)


def run(*words: str) -> None:
    """Run a short command."""
    subprocess.run(words, check=True)


def limit(rate: int) -> None:
    """Limit both ends of the link to so many Mbit/s."""
    for host in HOSTS:
        shaped = ["dev", f"ak{host}", "root", "tbf", "rate", f"{rate}mbit"]
        shaped += ["burst", "256kbit", "latency", "400ms"]
        run("ip", "netns", "exec", f"akgnn{host}", "tc", "qdisc", "replace", *shaped)


def on_both(words: Sequence[str], script: str = __file__, patience: float = PATIENCE) -> str:
    """Run this file, or another, as one process on each machine; what they print."""
    started = [subprocess.Popen(**process(host, [script, *words])) for host in HOSTS]
    try:
        outputs = [each.communicate(timeout=patience) for each in started]
    finally:
        for each in started:
            each.kill()
    for each, (_, errors) in zip(started, outputs, strict=True):
        if each.returncode:
            raise SystemExit(f"{' '.join(words)} failed: {errors[-2000:]}")
    return "".join(out for out, _ in outputs)


def process(host: str, words: Sequence[str]) -> dict[str, object]:
    """How torchrun is started on one machine."""
    # Both have one host name, so who hosts the meeting must be told.
    conf = f"join_timeout=60,is_host={'true' if host == 'A' else 'false'}"
    torchrun = [
        sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1",
        "--rdzv-backend", "c10d", "--rdzv-id", "job", "--rdzv-endpoint", f"{HOSTS['A']}:29400",
        "--local-addr", HOSTS[host], "--rdzv-conf", conf,
    ]  # fmt: skip
    own = {"GLOO_SOCKET_IFNAME": f"ak{host}", "OMP_NUM_THREADS": "1", NO_SHARED_STORE: "1"}
    return {
        "args": ["ip", "netns", "exec", f"akgnn{host}", *torchrun, *words],
        "env": {**os.environ, **own},
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
    }


def worker(rate: str, epochs: str, repeats: str, meshes: str, *folders: str) -> None:
    """Measure, predict and train as one of the processes; the first prints what came of it."""
    cpu = torch.device("cpu")
    keep_freed_memory()
    with joined(cpu, 60.0) as group:
        for repeat, folder in itertools.product(range(int(repeats)), folders):
            work = cut_already(open_parts(folder, check=False))
            link = float(rate) * 1e6 / 8
            halo = work.share(group.size).halo
            hardware = measure(group, cpu, nodes=work.num_nodes // 2, halo=halo, link=link)
            hardware = replace(hardware, memory=None, per_machine=1)
            shapes = {name: MeshShape.parse(name) for name in meshes.split(",")}
            told = {n: forecast(work, mesh, hardware).seconds for n, mesh in shapes.items()}
            taken = {
                name: typical(folder, mesh, _enough(epochs, told[name].total), group)
                for name, mesh in shapes.items()
            }
            if group.rank:
                continue
            for name, seconds in told.items():
                row = {
                    "graph": Path(folder).name,
                    "mesh": name,
                    "repeat": repeat,
                    "efficiency": hardware.efficiency,
                    "latency": hardware.latency,
                    "computing": seconds.computing,
                    "wire": seconds.wire,
                    "told": seconds.total,
                    "taken": taken[name],
                    "off": seconds.total / taken[name] - 1,
                    "chosen": min(told, key=lambda each: told[each].total) == name,
                    "fastest": min(taken, key=lambda each: taken[each]) == name,
                }
                print(json.dumps(row), flush=True)


def _enough(epochs: str, seconds: float) -> str:
    """At least so many epochs, and more where they are short: a moment may be disturbed."""
    return str(max(int(epochs), round(SECONDS / seconds)))


def typical(folder: str, mesh: MeshShape, epochs: str, group: Group) -> float:
    """The median of the seconds of a training's epochs."""
    changes = {"epochs": epochs, "patience": epochs}
    plan, clock = decide_plan({"dataset": f"{PARTS}{folder}"}, {}, None, changes), Clock()
    # Nodes alone need not be said.
    more = {} if mesh.channels == 1 else {"mesh": mesh}
    cpu, parts = torch.device("cpu"), open_parts(folder, check=False)
    train_parts(plan, parts, None, group, cpu, callbacks=[clock], **more)
    # The first epochs are slower.
    return median(last - first for first, last in itertools.pairwise(clock.times[2:]))


class Clock(Callback):
    """Notes when epochs ended."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def after_epoch(self, epochs: Sequence[Epoch]) -> None:
        """Note it."""
        self.times.append(time.perf_counter())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        sys.exit(worker(*sys.argv[2:]))
    sys.exit(main())
