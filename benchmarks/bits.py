"""Whether processes, parts at once and threads change a bit of a training on parts.

    python benchmarks/bits.py [CASE …] [--processes 1 2 3 4] [--at-once 1] [--threads 1 2]
                              [--set NAME=VALUE …]

Each case is cut and trained with early stopping, by every number of processes, then by one process
with fewer parts at once, then with other numbers of threads. A line each has the epochs, the
seconds, and the first digits of the SHA-256 of the final weights and of the history. The status is
1 where they differ within a case.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from akgnn.bench.graphs import power_law_graph

AKGNN = [sys.executable, "-m", "akgnn"]


@dataclass(frozen=True)
class Case:
    """Data, how they are cut, and how they are trained."""

    data: tuple[str, ...]
    parts: int
    cut: str
    train: tuple[str, ...] = ()


CASES = {
    "cora": Case(("--dataset", "cora"), 12, "hash"),
    "pubmed": Case(("--dataset", "pubmed"), 24, "order", ("--set", "hidden_channels=16")),
    "power-law": Case(
        ("--arrays", "{arrays}"),
        24,
        "hash",
        ("--set", "hidden_channels=8", "--set", "patience=10"),
    ),
    # Above 131,072 nodes several processes gather a few channels at a time.
    "large": Case(
        ("--dataset", "large:num_nodes=2e5,degree=10"), 24, "order", ("--set", "epochs=10")
    ),
    "any-graph": Case(("--dataset", "cora"), 12, "hash", ("--preset", "any-graph")),
    # With batch normalisation, and few features: all of them are propagated.
    "consistency": Case(
        ("--dataset", "csbm:num_nodes=1000"),
        12,
        "hash",
        ("--preset", "akgnn-consistency", "--set", "batch_norm=true"),
    ),
}


def main() -> int:
    """Train every case in every way."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", nargs="*", default=list(CASES), metavar="CASE")
    parser.add_argument("--processes", type=int, nargs="*", default=[1, 2, 3, 4])
    parser.add_argument("--at-once", type=int, nargs="*", default=[1])
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--set", action="append", default=[], dest="changes")
    asked = parser.parse_args()
    if unknown := set(asked.cases) - set(CASES):
        parser.error(f"unknown case {min(unknown)}; choose from {', '.join(CASES)}")
    changes = [word for change in asked.changes for word in ("--set", change)]
    first = asked.threads[0]
    ways = [(("--processes", str(n), "--mesh", f"{n}x1"), first) for n in asked.processes]
    ways += [(("--parts-at-once", str(n)), first) for n in asked.at_once]
    ways += [((), number) for number in asked.threads[1:]]
    is_same = True
    for name in asked.cases:
        with TemporaryDirectory() as folder:
            is_same &= _is_same(name, CASES[name], changes, ways, Path(folder))
    print("Equal bits." if is_same else "BITS DIFFER.")
    return 0 if is_same else 1


def _is_same(
    name: str,
    case: Case,
    changes: Sequence[str],
    ways: Sequence[tuple[tuple[str, ...], int]],
    place: Path,
) -> bool:
    arrays = place / "arrays"
    if "{arrays}" in case.data:
        _write_power_law(arrays)
    data = [word.format(arrays=arrays) for word in case.data]
    parts = place / "parts"
    cut = ["--parts", str(case.parts), "--cut", case.cut, "--out", str(parts)]
    _run(["partition", *data, *cut], 1)
    bits = set()
    for number, (words, threads) in enumerate(ways):
        out = place / f"run-{number}"
        start = time.monotonic()
        _run(
            ["train", "--parts", str(parts), "--out", str(out), *case.train, *changes, *words],
            threads,
        )
        seconds = time.monotonic() - start
        digests = [
            hashlib.sha256((out / file).read_bytes()).hexdigest()[:12]
            for file in ("weights.safetensors", "epochs.jsonl")
        ]
        bits.add(tuple(digests))
        epochs = (out / "epochs.jsonl").read_bytes().count(b"\n")
        way = " ".join(words) or f"{threads} threads"
        print(
            f"{name:12} {way:26} {epochs:5} epochs {seconds:7.1f} s  {'  '.join(digests)}",
            flush=True,
        )
    return len(bits) == 1


def _run(words: Sequence[str], threads: int) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    ended = subprocess.run([*AKGNN, *words], env=environment, capture_output=True, text=True)
    if ended.returncode:
        raise SystemExit(ended.stderr)


def _write_power_law(folder: Path) -> None:
    """A power-law graph of a million edges, whose classes are those of neighbours' features."""
    generator = torch.Generator().manual_seed(0)
    graph = power_law_graph(100_000, 10, generator)
    x = torch.randn(graph.num_nodes, 16, generator=generator)
    y = (x[:, :4] + 0.5 * torch.randn(graph.num_nodes, 4, generator=generator)).argmax(1)
    folder.mkdir()
    for name, values in (("x", x), ("y", y), ("edges", graph.edge_index)):
        np.save(folder / f"{name}.npy", values.numpy())


if __name__ == "__main__":
    sys.exit(main())
