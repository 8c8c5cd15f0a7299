"""Bytes that two machines send each other in an epoch, by the kernel's counters.

    sudo python benchmarks/wire_bytes.py [--graphs pubmed large] [--cut order] [--epochs 12]
        [--meshes 2x1 1x2]

The machines are the network namespaces of `slow_wire.py`, with a link that nothing limits. After
each epoch of a training with evaluation every process reads two of the kernel's counters: how much
its end of the link has sent, and how much of that was data of TCP connections (`ss`). Shown are the
medians of the differences beside what the plan says: rows of the halo, gradients and scores of
slices. What Gloo and the roll call add is not in the plan; nor are headers of packets and
acknowledgements, which the link counts and the connections do not: how much they are depends on how
the kernel divides data into packets.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from slow_wire import GRAPHS, namespaces, on_both, what_is_missing

from akgnn.cli.options import decide_plan
from akgnn.distributed.folder import open_parts
from akgnn.distributed.forecast import forecast
from akgnn.distributed.hardware import CPU_CORE
from akgnn.distributed.launch import joined
from akgnn.distributed.mesh import MeshShape
from akgnn.distributed.workload import cut_already
from akgnn.machine.provenance import run_versions
from akgnn.runs.parted import train_parts
from akgnn.runs.plan import PARTS
from akgnn.training.callbacks import Callback, Epoch


def main() -> None:
    """Cut, train and count."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=["pubmed", "large"])
    parser.add_argument("--cut", default="order")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--meshes", nargs="+", default=["2x1", "1x2"])
    asked = parser.parse_args()
    problem = what_is_missing()
    if problem:
        print(f"Skipped: {problem}")
        return
    with TemporaryDirectory() as folder, namespaces():
        for name in asked.graphs:
            place = Path(folder) / name
            cut = [*GRAPHS[name], "--parts", "8", "--cut", asked.cut, "--out", str(place)]
            words = [sys.executable, "-m", "akgnn", "partition", *cut]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            for mesh in asked.meshes:
                said = on_both(["--worker", str(place), mesh, str(asked.epochs)], __file__)
                print("\n".join(x for x in said.splitlines() if x.startswith("{")), flush=True)


def worker(folder: str, mesh: str, epochs: str) -> None:
    """Train as one of the processes, and print what was sent."""
    cpu, parts, counter = torch.device("cpu"), open_parts(folder, check=False), Counter()
    plan = decide_plan(
        {"dataset": f"{PARTS}{folder}"}, {}, None, {"epochs": epochs, "patience": epochs}
    )
    with joined(cpu, 60.0) as group:
        shape = MeshShape.parse(mesh)
        train_parts(plan, parts, None, group, cpu, callbacks=[counter], mesh=shape)
        rank = group.rank
    told = forecast(cut_already(parts), shape, CPU_CORE).received
    link, data = np.median(np.diff(counter.sent[1:], axis=0), axis=0).tolist()
    line = {
        "graph": Path(folder).name,
        "mesh": mesh,
        "rank": rank,
        "sent": link,
        "data": data,
        "halo of the process with most": told.halo,
        "gradients": told.gradients,
        "scores": told.scores,
        "commit": run_versions().get("commit"),
    }
    print(json.dumps(line), flush=True)


class Counter(Callback):
    """Reads after every epoch what this machine has sent: over the link, and as data of TCP."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, int]] = []

    def after_epoch(self, epochs: Sequence[Epoch]) -> None:
        """Read it."""
        files = Path("/sys/class/net").glob("ak*/statistics/tx_bytes")
        link = sum(int(file.read_text()) for file in files)
        # Connections to other machines, not those to this one.
        words = ["ss", "-tinH", "dst", "10.77.0.0/24"]
        said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        count = {
            name: sum(map(int, re.findall(rf"{name}:(\d+)", said)))
            for name in ("bytes_sent", "bytes_retrans")
        }
        self.sent.append((link, count["bytes_sent"] - count["bytes_retrans"]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(*sys.argv[2:])
    else:
        main()
