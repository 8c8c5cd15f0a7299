"""Kill and stop processes of a training at random, and see whether it ends in the same bits.

    python benchmarks/faults.py [--parts FOLDER] [--processes 4] [--kills 20] [--stops 5]

A graph in parts is trained without faults in one process, and then by torchrun in several, of which
one at a time gets SIGKILL or SIGSTOP after a random time, rank 0 as often as the others. Shown are,
for each fault, the seconds until torchrun noticed and until the next epoch was trained, and at the
end whether weights and history have the bits of the undisturbed run. Its status is 1 where they do
not.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from akgnn.distributed.launch import NO_SHARED_STORE

T = TypeVar("T")
AKGNN = [sys.executable, "-m", "akgnn"]
# How long a fault may go unanswered.
PATIENCE = 90.0


def main() -> int:
    """Train with and without faults, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--parts", type=Path)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--stops", type=int, default=5)
    parser.add_argument("--timeout", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    chance = random.Random(asked.seed)
    faults = [signal.SIGKILL] * asked.kills + [signal.SIGSTOP] * asked.stops
    chance.shuffle(faults)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        parts = asked.parts or place / "parts"
        if asked.parts is None:
            cut = ["--dataset", "cora", "--parts", "12", "--cut", "hash", "--out", str(parts)]
            subprocess.run([*AKGNN, "partition", *cut], check=True, stdout=subprocess.DEVNULL)
        # Enough for all faults: an epoch of several processes takes some hundredths of a second.
        epochs = 100 + 60 * len(faults)
        train = ["train", "--parts", str(parts), "--set", f"epochs={epochs}"]
        train += ["--set", f"patience={epochs}", "--set", "hidden_channels=8"]
        alone = place / "alone"
        subprocess.run([*AKGNN, *train, "--out", str(alone)], check=True, stdout=subprocess.DEVNULL)
        disturbed = place / "disturbed"
        rows = _disturbed([*train, "--out", str(disturbed)], disturbed, faults, chance, asked)
        same = _bits(alone) == _bits(disturbed)
    for name in ("SIGKILL", "SIGSTOP"):
        of_kind = [row for row in rows if row["fault"] == name]
        if of_kind:
            noticed, went_on = (sorted(row[key] for row in of_kind) for key in ("noticed", "on"))
            print(
                f"{len(of_kind)} × {name}: noticed after {noticed[len(noticed) // 2]:.1f} s "
                f"(at most {noticed[-1]:.1f}), went on after {went_on[len(went_on) // 2]:.1f} s "
                f"(at most {went_on[-1]:.1f})"
            )
    print("Weights and history have the bits of the undisturbed run." if same else "BITS DIFFER.")
    return 0 if same and len(rows) == len(faults) else 1


def _disturbed(
    train: Sequence[str],
    out: Path,
    faults: Sequence[signal.Signals],
    chance: random.Random,
    asked: argparse.Namespace,
) -> list[dict[str, object]]:
    """Train while faults come; when each was noticed, and when the training went on."""
    options = {
        "nproc-per-node": asked.processes,
        "max-restarts": len(faults) + 1,
        "shutdown-timeout": 2,
        "monitor-interval": 0.2,
        "rdzv-backend": "c10d",
        "rdzv-endpoint": "localhost:0",
    }
    environment = {**os.environ, "OMP_NUM_THREADS": "1", NO_SHARED_STORE: "1"}
    torchrun = [sys.executable, "-m", "torch.distributed.run"]
    torchrun += [f"--{name}={value}" for name, value in options.items()]
    words = [*train, "--timeout", str(asked.timeout), "--checkpoint-seconds", "0.2"]
    rows: list[dict[str, object]] = []
    with subprocess.Popen(
        [*torchrun, "-m", "akgnn", *words],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as agent:
        for fault in faults:
            ranks = _wait(partial(_ranks, agent.pid, asked.processes), agent)
            _wait(partial(_is_past, out, _epochs(out) + 2), agent)
            time.sleep(chance.uniform(0.0, 1.5))
            if agent.poll() is not None:
                break
            rank = chance.randrange(asked.processes)
            start = time.monotonic()
            os.kill(ranks[rank], fault)
            _wait(partial(_are_gone, agent.pid, set(ranks.values())), agent)
            noticed = time.monotonic() - start
            _wait(partial(_has_changed, out, _epochs(out)), agent)
            went_on = time.monotonic() - start
            rows.append({"fault": fault.name, "rank": rank, "noticed": noticed, "on": went_on})
            print(json.dumps(rows[-1]), flush=True)
        agent.wait()
    return rows


def _ranks(agent: int, wanted: int) -> dict[int, int]:
    """The processes that torchrun has, by rank; empty until there are as many as wanted."""
    found: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int(entry.joinpath("stat").read_text().rpartition(")")[2].split()[1])
            words = entry.joinpath("environ").read_bytes().split(b"\0")
        except (OSError, ValueError, IndexError):
            continue
        rank = next((word for word in words if word.startswith(b"RANK=")), None)
        if parent == agent and rank is not None:
            found[int(rank[5:])] = int(entry.name)
    return found if len(found) >= wanted else {}


def _epochs(out: Path) -> int:
    """How many epochs the folder of the run has lines of; -1 where it has none yet."""
    try:
        return (out / "epochs.jsonl").read_bytes().count(b"\n")
    except OSError:
        return -1


def _is_past(out: Path, epochs: int) -> bool:
    return _epochs(out) > epochs


def _has_changed(out: Path, epochs: int) -> bool:
    return _epochs(out) != epochs


def _are_gone(agent: int, processes: set[int]) -> bool:
    return not set(_ranks(agent, 0).values()) & processes


def _wait(done: Callable[[], T], agent: subprocess.Popen[bytes]) -> T:
    """Wait until something is so, or the training has ended."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = done()
        if value or agent.poll() is not None:
            return value
        time.sleep(0.05)
    agent.kill()
    raise SystemExit(f"Nothing happened for {PATIENCE:.0f} s.")


def _bits(run: Path) -> str:
    """A digest of the weights and the history."""
    digest = hashlib.sha256((run / "weights.safetensors").read_bytes())
    digest.update((run / "epochs.jsonl").read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
